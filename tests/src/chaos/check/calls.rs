//! What each call may do, and what must have been told of it.

use std::collections::{BTreeMap, HashMap};

use fusewire_core::{EventKind, IgnoredReason, Phase, ProbeOutcome, RefusalReason};

use super::super::journal::{Answer, Effect, Saw};
use super::change::{Change, Link};
use super::facts::{Call, CallId, Facts};
use super::problem::{Broken, Problems};
use super::record::Record;

/// What took effect in each call: places in the domain's links.
pub(super) type ByCall<'l> = BTreeMap<CallId, Vec<&'l Link>>;

pub(super) fn by_call<'l>(facts: &Facts<'_>, links: &'l [Link]) -> ByCall<'l> {
    let mut by_call = ByCall::new();
    for link in links {
        let call = facts.writes[link.write].by;
        by_call.entry(call).or_default().push(link);
    }
    by_call
}

/// Every call to one domain.
pub(super) fn check(facts: &Facts<'_>, domain: &str, links: &[Link], problems: &mut Problems) {
    let by_call = by_call(facts, links);
    let alone = alone(facts, domain);
    let calls = facts.calls.iter().filter(|(_, call)| call.domain == domain);
    for (id, call) in calls {
        let did = by_call.get(id).map_or(&[][..], Vec::as_slice);
        let check = Check {
            facts,
            id: *id,
            call,
            did,
        };
        check.admission(&alone, problems);
        check.told(problems);
        check.events(problems);
    }
    let failures: Vec<(CallId, &Call<'_>)> = facts
        .calls
        .iter()
        .filter(|(_, call)| call.domain == domain)
        .filter(|(_, call)| matches!(call.outcome, Some((_, _, Effect::Failure))))
        .map(|(id, call)| (*id, call))
        .collect();
    for link in links.iter().filter(|link| link.change == Change::Trip) {
        check_trip(facts, link, &failures, problems);
    }
}

/// Every call that reached a provider was let through.
pub(super) fn check_visits(facts: &Facts<'_>, problems: &mut Problems) {
    let journals: HashMap<&str, usize> = facts
        .story
        .journals
        .iter()
        .enumerate()
        .map(|(at, journal)| (journal.instance.as_str(), at))
        .collect();
    for visit in &facts.story.visits {
        let journal = journals.get(visit.instance.as_str());
        let call = journal.and_then(|at| facts.calls.get(&CallId(*at, visit.call)));
        let admitted = call.and_then(|call| call.admitted);
        let lawful = admitted
            .is_some_and(|admitted| admitted.at_us <= visit.at_us && admitted.probe == visit.probe);
        if !lawful {
            let says = format!(
                "call {} of {} reached {}, and had not been let through",
                visit.call, visit.instance, visit.domain
            );
            problems.add(Broken::Unadmitted, visit.at_us, says);
        }
    }
}

/// When each instance opened for itself alone, or closed again: its own breaker, in order.
fn alone(facts: &Facts<'_>, domain: &str) -> HashMap<usize, Vec<(u64, Phase)>> {
    let mut alone: HashMap<usize, Vec<(u64, Phase)>> = HashMap::new();
    for (id, call) in &facts.calls {
        for (at_us, event) in &call.events {
            if let Some(phase) = super::own_breaker(&event.kind)
                && event.domain == domain
            {
                alone.entry(id.0).or_default().push((*at_us, phase));
            }
        }
    }
    for changes in alone.values_mut() {
        changes.sort_unstable_by_key(|(at_us, _)| *at_us);
    }
    alone
}

struct Check<'f> {
    facts: &'f Facts<'f>,
    id: CallId,
    call: &'f Call<'f>,
    did: &'f [&'f Link],
}

impl Check<'_> {
    fn name(&self) -> String {
        format!("{} to {}", self.facts.name(self.id), self.call.domain)
    }

    /// Whether it was let through, or refused, for a good reason.
    fn admission(&self, alone: &HashMap<usize, Vec<(u64, Phase)>>, problems: &mut Problems) {
        let name = self.name();
        if let Some(admitted) = self.call.admitted
            && !self.call.faulted
            && !self.call.is_own()
        {
            let mut granted = self.writes().filter(|write| write.grants().is_some());
            let has_lease = granted.any(|write| write.answer == Answer::Done);
            if admitted.probe && !has_lease {
                let says = format!("{name} is a probe and has taken no lease");
                problems.add(Broken::ProbeWithoutLease, admitted.at_us, says);
            }
            if !admitted.probe && admitted.saw == Saw::Tripped {
                let says = format!("{name} is no probe, and the breaker was not closed");
                problems.add(Broken::AdmittedWhileTripped, admitted.at_us, says);
            }
        }
        if let Some((at_us, reason, _)) = self.call.refused {
            let own = alone.get(&self.id.0).and_then(|changes| {
                let before = changes.iter().take_while(|(at, _)| *at <= at_us);
                before.last().map(|(_, phase)| *phase)
            });
            // After it has closed it lets a share of the calls through, as the fleet's does.
            let by_itself = match own {
                None => false,
                Some(Phase::Closed) => reason == RefusalReason::Ramp,
                Some(Phase::Open | Phase::HalfOpen) => true,
            };
            if reason == RefusalReason::Store || (self.call.is_own() && !by_itself) {
                let says = format!(
                    "{name} was refused ({reason}), the store was out of reach, and its own \
                     breaker was closed"
                );
                problems.add(Broken::RefusedByTheStore, at_us, says);
            }
        }
    }

    fn writes(&self) -> impl Iterator<Item = &super::facts::Write<'_>> {
        let writes = self.call.writes.iter();
        writes.filter_map(|at| self.facts.writes.get(*at))
    }

    /// Each change is told once, by whoever made it and lived to tell.
    fn told(&self, problems: &mut Problems) {
        // To whoever has given the store up, an answer that comes all the same is none.
        if self.call.faulted || self.call.was_alone() {
            return;
        }
        for link in self.did {
            let write = &self.facts.writes[link.write];
            let in_admission = matches!(link.change, Change::Grant { .. });
            let lived = match in_admission {
                true => self.call.is_answered(),
                false => self.call.told_us.is_some(),
            };
            // Without an answer the policy did not know what it had done.
            if write.answer != Answer::Done || !lived {
                continue;
            }
            let (changes, probes) = match link.change {
                Change::Trip
                | Change::Grant {
                    from_open: true, ..
                } => (1, 0),
                Change::Reopened | Change::Close => (1, 1),
                Change::Freed | Change::Passed => (0, 1),
                Change::Grant { .. } | Change::PutBack | Change::Other | Change::Unlawful => {
                    continue;
                }
            };
            let transitions = self.count(|kind| match kind {
                EventKind::Transition(told) => {
                    told.before == link.before.phase
                        && told.after == link.after.phase
                        && told.openings == link.after.openings
                }
                _ => false,
            });
            let outcomes = self.count(|kind| {
                matches!(kind, EventKind::Probe(outcome) if *outcome != ProbeOutcome::Expired)
            });
            if transitions != changes || (!in_admission && outcomes != probes) {
                let says = format!(
                    "{} took it from {} to {}, and told of {transitions} changes and \
                     {outcomes} probes",
                    self.name(),
                    link.before.phase,
                    link.after.phase,
                );
                problems.add(Broken::EventUntold, write.sent_us, says);
            }
        }
        self.probe_told(problems);
    }

    /// A probe's outcome was judged, or it had lost its lease.
    fn probe_told(&self, problems: &mut Problems) {
        let is_probe = self.call.admitted.is_some_and(|admitted| admitted.probe);
        let (Some(told_us), true) = (self.call.told_us, is_probe) else {
            return;
        };
        let said = self.count(|kind| match kind {
            EventKind::Probe(outcome) => *outcome != ProbeOutcome::Expired,
            EventKind::Ignored(IgnoredReason::LeaseLost) => true,
            _ => false,
        });
        if said != 1 {
            let says = format!(
                "{} was a probe, and {said} things were told of its outcome",
                self.name()
            );
            problems.add(Broken::EventUntold, told_us, says);
        }
    }

    fn count(&self, is_it: impl Fn(&EventKind) -> bool) -> usize {
        let events = self.call.events.iter();
        events.filter(|(_, event)| is_it(&event.kind)).count()
    }

    /// Something stands behind each event.
    fn events(&self, problems: &mut Problems) {
        // What its own breaker made of it is in no record that others see.
        let own = self.call.is_own() || self.call.was_alone();
        for (at_us, event) in &self.call.events {
            let founded = match &event.kind {
                EventKind::Transition(told) => self.did.iter().any(|link| {
                    told.before == link.before.phase
                        && told.after == link.after.phase
                        && told.openings == link.after.openings
                        && (told.after != Phase::Open || told.until_ms == link.after.until)
                }),
                EventKind::Probe(_)
                | EventKind::Ignored(
                    IgnoredReason::LeaseLost | IgnoredReason::Stale | IgnoredReason::Late,
                ) if own => true,
                EventKind::Probe(outcome) => self.did.iter().any(|link| {
                    matches!(
                        (outcome, link.change),
                        (ProbeOutcome::Passed, Change::Passed | Change::Close)
                            | (ProbeOutcome::Failed, Change::Reopened)
                            | (ProbeOutcome::Neutral, Change::Freed)
                            | (_, Change::Unlawful)
                            | (
                                ProbeOutcome::Expired,
                                Change::Grant {
                                    from_lease: true,
                                    ..
                                }
                            )
                    )
                }),
                EventKind::Ignored(IgnoredReason::LeaseLost) => self.lease_is_lost(*at_us),
                EventKind::Ignored(IgnoredReason::Stale) => self.is_stale(*at_us),
                EventKind::Ignored(IgnoredReason::Late) => self
                    .others(*at_us)
                    .any(|(_, after)| after.phase != Phase::Closed),
                EventKind::Ignored(IgnoredReason::Unshared) => {
                    let saw = self.call.admitted.map(|admitted| admitted.saw);
                    // A lease that it asked for without an answer leaves it alone as well.
                    saw != Some(Saw::Absent) && !matches!(saw, Some(Saw::Closed(_)))
                }
                EventKind::Ignored(IgnoredReason::InvalidPermit) => false,
                _ => true,
            };
            if !founded {
                let says = format!(
                    "{} told of {:?} ({}), and nothing in the journals is behind it",
                    self.name(),
                    event.kind,
                    event.detail
                );
                problems.add(Broken::EventUnfounded, *at_us, says);
            }
        }
    }

    /// What may have been written to the domain by then.
    fn others(&self, until_us: u64) -> impl Iterator<Item = (CallId, &Record)> {
        let writes = self.facts.writes.iter().filter(move |write| {
            write.domain == self.call.domain
                && write.answer != Answer::NotDone
                && write.sent_us <= until_us
        });
        writes.filter_map(|write| Some((write.by, write.after.as_ref()?)))
    }

    /// Whether another has taken the lease that this call was given, or the store has lost it.
    fn lease_is_lost(&self, at_us: u64) -> bool {
        let Some(granted) = self.writes().find(|write| write.grants().is_some()) else {
            return false;
        };
        let token = granted.grants();
        let taken = self.facts.writes.iter().any(|write| {
            let from = write.before.as_ref();
            write.answer != Answer::NotDone
                && write.by != self.id
                && write.sent_us <= at_us
                && from.is_some_and(|from| from.token() == token)
        });
        taken || self.facts.story.lost_between(granted.sent_us, at_us)
    }

    /// Whether the breaker has closed since this call was let through.
    fn is_stale(&self, at_us: u64) -> bool {
        let epoch = self.call.epoch();
        epoch.is_none_or(|epoch| {
            self.others(at_us)
                .any(|(by, after)| by != self.id && after.epoch > epoch)
        })
    }
}

/// It opened on enough failures of its own epoch, the last of which was told by the call that
/// opened it.
fn check_trip(
    facts: &Facts<'_>,
    link: &Link,
    failures: &[(CallId, &Call<'_>)],
    problems: &mut Problems,
) {
    let write = &facts.writes[link.write];
    let epoch = link.after.epoch;
    let Some(call) = facts.calls.get(&write.by) else {
        return;
    };
    let name = facts.name(write.by);
    if !counts_in(facts, call, epoch) {
        let says = format!(
            "{name} was let through in epoch {:?}, and opened {} in epoch {epoch}",
            call.epoch(),
            call.domain
        );
        problems.add(Broken::StaleOutcome, write.sent_us, says);
    }
    let rules = &facts.story.rules;
    let is_apart = facts.story.apart.contains_key(call.domain);
    let ago_us = (rules.window_ms + rules.bucket_ms + super::CLOCKS_AGREE_MS) * 1_000;
    let counted = failures.iter().filter(|(_, other)| {
        // It was counted at some time between these two: a process may have been paused in
        // between.
        let from_us = other.outcome.map_or(u64::MAX, |(at_us, ..)| at_us);
        let by_us = other.told_us.unwrap_or(u64::MAX);
        from_us <= write.sent_us
            && (is_apart || by_us.saturating_add(ago_us) >= write.sent_us)
            && counts_in(facts, other, epoch)
    });
    let counted = counted.count();
    if counted < rules.failures {
        let says = format!(
            "{name} opened {} on {counted} failures of epoch {epoch}, and it takes {}",
            call.domain, rules.failures
        );
        problems.add(Broken::TooFewFailures, write.sent_us, says);
    }
}

/// Whether the outcome of this call counts in this epoch.
fn counts_in(facts: &Facts<'_>, call: &Call<'_>, epoch: u64) -> bool {
    let saw = call.admitted.map(|admitted| admitted.saw);
    // A record that was lost while its counter lived on was put back first, in the same call.
    let put_back = || {
        call.writes.iter().any(|at| {
            let after = facts.writes[*at].after.as_ref();
            after.is_some_and(|after| after.phase == Phase::Closed && after.epoch == epoch)
        })
    };
    saw == Some(Saw::Unasked) || call.epoch() == Some(epoch) || put_back()
}
