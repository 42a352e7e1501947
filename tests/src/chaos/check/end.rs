//! Whether every breaker closes once the disturbances are over.

use std::collections::BTreeMap;

use super::super::journal::Saw;
use super::super::orders::process_of;
use super::facts::Facts;
use super::problem::{Broken, Problems};
use super::story::Calm;

/// After the bound every instance of the processes that are there lets ordinary calls through to the
/// provider that it calls, and has not refused any since.
pub(super) fn check(facts: &Facts<'_>, calm: &Calm, problems: &mut Problems) {
    for domain in facts.domains() {
        // Of each instance that calls it: its journal, and what has become of its calls.
        let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
        for (id, call) in facts.calls.iter().filter(|(_, call)| call.domain == domain) {
            let seen = seen.entry(id.0).or_default();
            if let Some(admitted) = call.admitted
                && admitted.at_us >= calm.from_us
                && !admitted.probe
                && matches!(admitted.saw, Saw::Closed(_) | Saw::Absent | Saw::Unasked)
            {
                seen.passes = true;
            }
            if let Some((at_us, ..)) = call.refused
                && at_us > calm.until_us
            {
                seen.refused_us = Some(at_us);
            }
        }
        for process in &calm.instances {
            let own: Vec<(&usize, &Seen)> = seen
                .iter()
                .filter(|(journal, _)| {
                    process_of(&facts.story.journals[**journal].instance) == process
                })
                .collect();
            if own.is_empty() {
                let says = format!("{process} has made no call to {domain} at all");
                problems.add(Broken::NeverClosed, calm.until_us, says);
            }
            for (journal, seen) in own {
                if seen.passes && seen.refused_us.is_none() {
                    continue;
                }
                let until_us = seen.refused_us.unwrap_or(calm.until_us);
                let says = format!(
                    "{} does not get through to {domain}, whose provider has been healthy for {} ms",
                    facts.story.journals[*journal].instance,
                    until_us.saturating_sub(calm.from_us) / 1_000
                );
                problems.add(Broken::NeverClosed, calm.until_us, says);
            }
        }
    }
}

/// What an instance has seen of a breaker.
#[derive(Default)]
struct Seen {
    /// Whether an ordinary call was let through once all was well.
    passes: bool,
    /// When a call was refused after the bound.
    refused_us: Option<u64>,
}
