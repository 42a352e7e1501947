//! Journals made by hand: a fleet of a few processes that call `geo`, told step by step.

use std::collections::BTreeMap;

use fusewire_core::{
    Event, EventKind, IgnoredReason, Lease, Phase, ProbeOutcome, RefusalReason, Transition,
};

use super::super::super::journal::{Answer, Effect, Line, Saw, What};
use super::super::super::orders::RULES;
use super::super::super::provider::{Mood, Visit};
use super::super::record::Record;
use super::super::{Broken, Journalled, Story, check};

pub(super) const DOMAIN: &str = "geo";
/// What the fleet's clock is ahead of the machine's, in ms.
pub(super) const AHEAD_MS: u64 = 1_000_000;

/// A call: its process and its number.
pub(super) type By = (&'static str, u64);

/// A story in the making. Times are ms on the machine's clock.
pub(super) struct Tale {
    pub(super) story: Story,
    swaps: u64,
    /// What a process's clock is ahead by, besides, in ms.
    pub(super) ahead_ms: BTreeMap<&'static str, u64>,
}

/// A record with its text.
#[derive(Clone)]
pub(super) struct Written(pub(super) Record);

impl Written {
    pub(super) fn text(&self) -> String {
        let record = &self.0;
        serde_json::json!({
            "schema": 1, "phase": record.phase.name(), "epoch": record.epoch,
            "until": record.until, "openings": record.openings, "passed": record.passed,
            "lease": record.lease.as_ref().map(|lease| serde_json::json!({
                "token": lease.token, "owner": lease.owner, "expires": lease.expires_ms,
            })),
            "expires": record.expires,
        })
        .to_string()
    }

    pub(super) fn with(&self, change: impl FnOnce(&mut Record)) -> Self {
        let mut record = self.0.clone();
        change(&mut record);
        Self(record)
    }
}

/// The fleet's time at this time of the machine, in ms.
pub(super) fn fleet(at: u64) -> u64 {
    AHEAD_MS + at
}

impl Tale {
    pub(super) fn new() -> Self {
        Self {
            story: Story {
                rules: RULES,
                journals: Vec::new(),
                visits: Vec::new(),
                losses: Vec::new(),
                apart: BTreeMap::new(),
                calm: None,
            },
            swaps: 0,
            ahead_ms: BTreeMap::new(),
        }
    }

    /// What is wrong with it, each kind once.
    pub(super) fn broken(&self) -> Vec<Broken> {
        let findings = check(&self.story);
        let mut broken: Vec<Broken> = findings.problems.iter().map(|p| p.broken).collect();
        broken.sort_unstable();
        broken.dedup();
        broken
    }

    pub(super) fn line(&mut self, instance: &str, at: u64, what: What) {
        let ahead = self.ahead_ms.get(instance).copied().unwrap_or(0);
        let line = Line {
            at_us: at * 1_000,
            fleet_ms: fleet(at) + ahead,
            what,
        };
        let journals = &mut self.story.journals;
        match journals.iter_mut().find(|j| j.instance == instance) {
            Some(journal) => journal.lines.push(line),
            None => journals.push(Journalled {
                instance: instance.to_owned(),
                lines: vec![line],
            }),
        }
    }

    pub(super) fn admitted(&mut self, by: By, at: u64, probe: bool, saw: Saw) {
        let (call, domain) = (by.1, DOMAIN.to_owned());
        self.line(
            by.0,
            at,
            What::Admitted {
                call,
                domain,
                probe,
                saw,
            },
        );
        self.story.visits.push(Visit {
            at_us: at * 1_000 + 1,
            domain: DOMAIN.to_owned(),
            instance: by.0.to_owned(),
            call,
            probe,
            mood: Mood::Healthy,
        });
    }

    pub(super) fn refused(&mut self, by: By, at: u64, reason: RefusalReason, saw: Saw) {
        let (call, domain) = (by.1, DOMAIN.to_owned());
        self.line(
            by.0,
            at,
            What::Refused {
                call,
                domain,
                reason,
                saw,
            },
        );
    }

    pub(super) fn outcome(&mut self, by: By, at: u64, effect: Effect) {
        let (call, domain, seen) = (by.1, DOMAIN.to_owned(), String::new());
        self.line(
            by.0,
            at,
            What::Outcome {
                call,
                domain,
                effect,
                seen,
            },
        );
    }

    pub(super) fn told(&mut self, by: By, at: u64) {
        self.line(by.0, at, What::Told { call: by.1 });
    }

    pub(super) fn event(&mut self, by: By, at: u64, kind: EventKind) {
        let event = Event {
            domain: DOMAIN.to_owned(),
            at_ms: fleet(at),
            kind,
            detail: String::new(),
        };
        self.line(by.0, at, What::Event { call: by.1, event });
    }

    pub(super) fn swap(
        &mut self,
        by: By,
        at: u64,
        expected: Option<&Written>,
        put: &Written,
        answer: Answer,
    ) {
        self.swaps += 1;
        let swap = self.swaps;
        let ahead = self.ahead_ms.get(by.0).copied().unwrap_or(0);
        let what = What::Swap {
            call: by.1,
            swap,
            domain: DOMAIN.to_owned(),
            now_ms: fleet(at) + ahead,
            expected: expected.map(Written::text),
            put: Some(put.text()),
        };
        self.line(by.0, at, what);
        if answer != Answer::Unknown {
            self.line(by.0, at, What::Swapped { swap, answer });
        }
    }

    /// A change that is told of.
    pub(super) fn changed(&mut self, by: By, at: u64, before: Phase, after: &Written) {
        let record = &after.0;
        self.event(
            by,
            at,
            EventKind::Transition(Transition {
                before,
                after: record.phase,
                rule: String::new(),
                until_ms: record.until,
                openings: record.openings,
            }),
        );
    }

    /// Two calls that fail, and a third that opens it.
    pub(super) fn trip(&mut self, by: By, at: u64, saw: Saw, before: Option<&Written>) -> Written {
        let instance = by.0;
        for n in 0..2 {
            let by = (instance, by.1 + 1_000 * (n + 1));
            self.admitted(by, at, false, saw);
            self.outcome(by, at, Effect::Failure);
            self.told(by, at);
        }
        self.admitted(by, at, false, saw);
        self.outcome(by, at, Effect::Failure);
        let none = Written(Record::none());
        let openings = before.unwrap_or(&none).0.openings + 1;
        let open = before.unwrap_or(&none).with(|record| {
            record.phase = Phase::Open;
            record.epoch = match saw {
                Saw::Closed(epoch) => epoch,
                _ => 0,
            };
            record.openings = openings;
            record.until = fleet(at) + RULES.cool_down_ms(openings);
            record.expires = record.until + 30_000;
        });
        self.swap(by, at, before, &open, Answer::Done);
        self.changed(by, at, Phase::Closed, &open);
        self.told(by, at);
        open
    }

    /// A call takes the lease and is let through.
    pub(super) fn take(&mut self, by: By, at: u64, before: &Written) -> Written {
        let half_open = leased(by, at, before);
        self.swap(by, at, Some(before), &half_open, Answer::Done);
        match (before.0.phase, &before.0.lease) {
            (Phase::Open, _) => self.changed(by, at, Phase::Open, &half_open),
            (_, Some(_)) => self.event(by, at, EventKind::Probe(ProbeOutcome::Expired)),
            _ => {}
        }
        self.admitted(by, at, true, Saw::Tripped);
        half_open
    }

    /// A probe that passes; where it is the last that is needed, the breaker closes.
    pub(super) fn pass(&mut self, by: By, at: u64, before: &Written) -> Written {
        let after = before.with(|record| {
            record.lease = None;
            record.passed += 1;
            record.expires = fleet(at) + 30_000;
            if record.passed == RULES.probes {
                record.phase = Phase::Closed;
                record.epoch = fleet(at);
                record.passed = 0;
                record.until = 0;
                record.expires = fleet(at) + 2_000;
            }
        });
        self.outcome(by, at, Effect::Success);
        self.swap(by, at, Some(before), &after, Answer::Done);
        self.event(by, at, EventKind::Probe(ProbeOutcome::Passed));
        if after.0.phase == Phase::Closed {
            self.changed(by, at, Phase::HalfOpen, &after);
        }
        self.told(by, at);
        after
    }

    /// A probe that fails.
    pub(super) fn fail(&mut self, by: By, at: u64, before: &Written) -> Written {
        let open = reopened(at, before);
        self.outcome(by, at, Effect::Failure);
        self.swap(by, at, Some(before), &open, Answer::Done);
        self.event(by, at, EventKind::Probe(ProbeOutcome::Failed));
        self.changed(by, at, Phase::HalfOpen, &open);
        self.told(by, at);
        open
    }

    /// The outcome of a probe that has lost its lease.
    pub(super) fn lose(&mut self, by: By, at: u64) {
        self.outcome(by, at, Effect::Success);
        self.event(by, at, EventKind::Ignored(IgnoredReason::LeaseLost));
        self.told(by, at);
    }

    /// From the beginning to a close at 1.1 s, in order: what it comes to.
    pub(super) fn until_a_close(&mut self) -> Written {
        let open = self.trip(("a", 1), 100, Saw::Absent, None);
        let first = self.take(("b", 1), 500, &open);
        let passed = self.pass(("b", 1), 600, &first);
        let second = self.take(("a", 2), 1_000, &passed);
        self.pass(("a", 2), 1_100, &second)
    }
}

/// The record in which this call has the lease.
pub(super) fn leased(by: By, at: u64, before: &Written) -> Written {
    before.with(|record| {
        record.phase = Phase::HalfOpen;
        record.lease = Some(Lease {
            token: format!("{}-{}", by.0, by.1),
            owner: by.0.to_owned(),
            expires_ms: fleet(at) + RULES.lease_ms,
        });
        record.expires = fleet(at) + RULES.lease_ms + 30_000;
    })
}

/// The record after a probe that failed.
pub(super) fn reopened(at: u64, before: &Written) -> Written {
    before.with(|record| {
        record.phase = Phase::Open;
        record.lease = None;
        record.passed = 0;
        record.openings += 1;
        record.until = fleet(at) + RULES.cool_down_ms(record.openings);
        record.expires = record.until + 30_000;
    })
}
