//! The journals, sorted: what belongs to each call, and what was written to each record.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use fusewire_core::{Event, EventKind, RefusalReason};

use super::super::journal::{Answer, Effect, Saw, What};
use super::record::Record;
use super::story::Story;

/// A call: the place of its process's journal, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallId(pub(super) usize, pub(super) u64);

/// Everything about one call.
#[derive(Debug, Default)]
pub(super) struct Call<'s> {
    pub(super) domain: &'s str,
    pub(super) admitted: Option<Admitted>,
    /// When, why, and what the store had said.
    pub(super) refused: Option<(u64, RefusalReason, Saw)>,
    pub(super) given_up: bool,
    /// When it was about to be told, the time that the caller took for the fleet's, and what.
    pub(super) outcome: Option<(u64, u64, Effect)>,
    /// When everything about it had been told.
    pub(super) told_us: Option<u64>,
    pub(super) faulted: bool,
    pub(super) events: Vec<(u64, &'s Event)>,
    /// Places in [`Facts::writes`].
    pub(super) writes: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Admitted {
    pub(super) at_us: u64,
    pub(super) probe: bool,
    pub(super) saw: Saw,
}

impl Call<'_> {
    /// The epoch that it counts in, as far as its journal tells.
    pub(super) fn epoch(&self) -> Option<u64> {
        match self.admitted.as_ref()?.saw {
            Saw::Closed(epoch) => Some(epoch),
            Saw::Absent => Some(0),
            Saw::Unasked | Saw::Away | Saw::Tripped => None,
        }
    }

    /// Whether the process decided about it by itself, since the store was out of reach: also where
    /// the store has answered, and the process was paused for so long that it had given it up.
    pub(super) fn is_own(&self) -> bool {
        let by_us = match (&self.admitted, &self.refused) {
            (Some(admitted), _) if admitted.saw == Saw::Away => return true,
            (_, Some((_, _, Saw::Away))) => return true,
            (Some(admitted), _) => admitted.at_us,
            (_, Some((at_us, ..))) => *at_us,
            _ => return self.was_alone(),
        };
        let mut events = self.events.iter();
        events.any(|(at_us, event)| *at_us <= by_us && matches!(event.kind, EventKind::Store(_)))
    }

    /// Whether the store was out of reach when it was asked for, or when it was told of.
    pub(super) fn was_alone(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|(_, event)| matches!(event.kind, EventKind::Store(_)))
    }

    /// Whether its journal has everything about whether it may be made.
    pub(super) fn is_answered(&self) -> bool {
        self.admitted.is_some() || self.refused.is_some() || self.told_us.is_some()
    }
}

/// One swap of a record.
#[derive(Debug)]
pub(super) struct Write<'s> {
    pub(super) by: CallId,
    pub(super) domain: &'s str,
    /// The time that the policy was told, in ms.
    pub(super) now_ms: u64,
    /// What its writer took for the fleet's time when it was sent, in ms.
    pub(super) fleet_ms: u64,
    pub(super) sent_us: u64,
    pub(super) answered_us: Option<u64>,
    pub(super) answer: Answer,
    pub(super) expected: Option<&'s str>,
    pub(super) put: Option<&'s str>,
    /// What those two say.
    pub(super) before: Option<Record>,
    pub(super) after: Option<Record>,
}

impl Write<'_> {
    /// Whether it gives the lease of this token to its call.
    pub(super) fn grants(&self) -> Option<&str> {
        let token = self.after.as_ref()?.token()?;
        let before = self.before.as_ref();
        let is_new = before.is_none_or(|before| before.token() != Some(token));
        is_new.then_some(token)
    }
}

/// The journals, sorted.
pub(super) struct Facts<'s> {
    pub(super) story: &'s Story,
    pub(super) calls: BTreeMap<CallId, Call<'s>>,
    pub(super) writes: Vec<Write<'s>>,
}

impl<'s> Facts<'s> {
    pub(super) fn gather(story: &'s Story) -> Self {
        let mut facts = Self {
            story,
            calls: BTreeMap::new(),
            writes: Vec::new(),
        };
        for (journal, journalled) in story.journals.iter().enumerate() {
            let mut swaps = HashMap::new();
            for line in &journalled.lines {
                facts.take(journal, line, &mut swaps);
            }
        }
        facts
    }

    fn take(
        &mut self,
        journal: usize,
        line: &'s super::super::journal::Line,
        swaps: &mut HashMap<u64, usize>,
    ) {
        let at_us = line.at_us;
        match &line.what {
            What::Start { .. } | What::Mode { .. } | What::End => {}
            What::Admitted {
                call,
                domain,
                probe,
                saw,
            } => {
                let call = self.call(journal, *call);
                call.domain = domain;
                call.admitted = Some(Admitted {
                    at_us,
                    probe: *probe,
                    saw: *saw,
                });
            }
            What::Refused {
                call,
                domain,
                reason,
                saw,
            } => {
                let call = self.call(journal, *call);
                call.domain = domain;
                call.refused = Some((at_us, *reason, *saw));
            }
            What::GivenUp { call, domain } => {
                let call = self.call(journal, *call);
                call.domain = domain;
                call.given_up = true;
            }
            What::Outcome { call, effect, .. } => {
                self.call(journal, *call).outcome = Some((at_us, line.fleet_ms, *effect));
            }
            What::Told { call } => self.call(journal, *call).told_us = Some(at_us),
            What::Event { call, event } => {
                self.call(journal, *call).events.push((at_us, event));
            }
            What::Fault { call, .. } => self.call(journal, *call).faulted = true,
            What::Swap {
                call,
                swap,
                domain,
                now_ms,
                expected,
                put,
            } => {
                let place = self.writes.len();
                swaps.insert(*swap, place);
                let by = CallId(journal, *call);
                self.writes.push(Write {
                    by,
                    domain,
                    now_ms: *now_ms,
                    fleet_ms: line.fleet_ms,
                    sent_us: at_us,
                    answered_us: None,
                    answer: Answer::Unknown,
                    expected: expected.as_deref(),
                    put: put.as_deref(),
                    before: expected.as_deref().and_then(Record::read),
                    after: put.as_deref().and_then(Record::read),
                });
                let call = self.call(journal, by.1);
                call.domain = domain;
                call.writes.push(place);
            }
            What::Swapped { swap, answer } => {
                let write = swaps.get(swap).and_then(|at| self.writes.get_mut(*at));
                if let Some(write) = write {
                    write.answered_us = Some(at_us);
                    write.answer = *answer;
                }
            }
        }
    }

    fn call(&mut self, journal: usize, call: u64) -> &mut Call<'s> {
        self.calls.entry(CallId(journal, call)).or_default()
    }

    /// The domains that anybody called, in order.
    pub(super) fn domains(&self) -> Vec<&'s str> {
        let mut domains: Vec<&str> = self.calls.values().map(|call| call.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        domains.retain(|domain| !domain.is_empty());
        domains
    }

    /// A call's name, for people.
    pub(super) fn name(&self, call: CallId) -> impl fmt::Display + use<> {
        let journal = self.story.journals.get(call.0);
        let instance = journal.map_or("nobody", |journal| journal.instance.as_str());
        format!("call {} of {instance}", call.1)
    }
}
