//! What happened in a run, in numbers.

use std::collections::BTreeMap;

use fusewire_core::{EventKind, IgnoredReason};

use super::super::journal::{Answer, Effect};
use super::super::provider::Mood;
use super::change::{Change, Link};
use super::facts::Facts;

/// What happened to one domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that were let through.
    pub admitted: usize,
    /// Those of them that were probes.
    pub probes: usize,
    /// Calls that were refused, by reason.
    pub refused: BTreeMap<&'static str, usize>,
    /// Calls that an instance decided about by itself, since the store was out of reach, and those of
    /// them that its own breaker refused.
    pub decided_alone: usize,
    /// See [`Self::decided_alone`].
    pub refused_alone: usize,
    /// Questions that were given up before they were answered.
    pub given_up: usize,
    /// Calls that were dropped.
    pub dropped: usize,
    /// Calls that reached the provider, and those of them while it failed, hung or flapped.
    pub reached: usize,
    /// See [`Self::reached`].
    pub reached_in_outages: usize,
    /// Openings by a rule, and by a probe that failed.
    pub tripped: usize,
    /// See [`Self::tripped`].
    pub reopened: usize,
    /// Closes.
    pub closed: usize,
    /// Leases that were taken from a holder who did not come back.
    pub taken_over: usize,
    /// Records that were lost and put back with their epoch.
    pub put_back: usize,
    /// Probes whose outcome came after their lease was over by the holder's clock.
    pub outlived: usize,
    /// Outcomes that changed nothing, by reason.
    pub ignored: BTreeMap<&'static str, usize>,
    /// Swaps without an answer, and those of them that had taken effect.
    pub unanswered: usize,
    /// See [`Self::unanswered`].
    pub unanswered_done: usize,
    /// Changes of instances' own breakers.
    pub alone: usize,
    /// The longest that two leases were in force at once by the machine's clock, in us.
    pub overlap_us: u64,
}

pub(super) fn of(facts: &Facts<'_>, domain: &str, links: &[Link], overlap_us: u64) -> Tally {
    let mut tally = Tally {
        overlap_us,
        ..Tally::default()
    };
    for call in facts.calls.values().filter(|call| call.domain == domain) {
        if let Some(admitted) = call.admitted {
            tally.admitted += 1;
            tally.probes += usize::from(admitted.probe);
        }
        if let Some((_, reason, _)) = call.refused {
            *tally.refused.entry(reason.name()).or_default() += 1;
        }
        tally.given_up += usize::from(call.given_up);
        if call.is_own() {
            tally.decided_alone += 1;
            tally.refused_alone += usize::from(call.refused.is_some());
        }
        if let Some((_, fleet_ms, effect)) = call.outcome {
            tally.dropped += usize::from(effect == Effect::Dropped);
            let mut writes = call.writes.iter().map(|at| &facts.writes[*at]);
            let lease = writes.find_map(|write| {
                write.grants()?;
                write.after.as_ref()?.lease.as_ref()
            });
            tally.outlived += usize::from(lease.is_some_and(|lease| fleet_ms > lease.expires_ms));
        }
        for (_, event) in &call.events {
            if let EventKind::Ignored(reason) = &event.kind {
                *tally.ignored.entry(name(*reason)).or_default() += 1;
            }
            tally.alone += usize::from(super::own_breaker(&event.kind).is_some());
        }
    }
    let visits = facts.story.visits.iter().filter(|v| v.domain == domain);
    for visit in visits {
        tally.reached += 1;
        tally.reached_in_outages += usize::from(visit.mood != Mood::Healthy);
    }
    for link in links {
        match link.change {
            Change::Trip => tally.tripped += 1,
            Change::Reopened => tally.reopened += 1,
            Change::Close => tally.closed += 1,
            Change::PutBack => tally.put_back += 1,
            Change::Grant { from_lease, .. } => tally.taken_over += usize::from(from_lease),
            Change::Freed | Change::Passed | Change::Other | Change::Unlawful => {}
        }
        let unknown = facts.writes[link.write].answer == Answer::Unknown;
        tally.unanswered_done += usize::from(unknown);
    }
    let writes = facts.writes.iter().filter(|write| write.domain == domain);
    tally.unanswered = writes
        .filter(|write| write.answer == Answer::Unknown)
        .count();
    tally
}

fn name(reason: IgnoredReason) -> &'static str {
    reason.name()
}

/// The moments at which a domain closed, on the machine's monotonic clock, in us.
pub(super) fn closes(facts: &Facts<'_>, links: &[Link]) -> Vec<u64> {
    let closes = links.iter().filter(|link| link.change == Change::Close);
    closes
        .map(|link| facts.writes[link.write].sent_us)
        .collect()
}

/// The moments at which a domain opened, likewise.
pub(super) fn opens(facts: &Facts<'_>, links: &[Link]) -> Vec<u64> {
    let opens = links
        .iter()
        .filter(|link| matches!(link.change, Change::Trip | Change::Reopened));
    opens.map(|link| facts.writes[link.write].sent_us).collect()
}
