//! Whether the fleet agrees on the time, and what that means for leases.
//!
//! That no two leases overlap is checked by the policy's own numbers, exactly, where records are
//! read (`change`). Those are times of the clock that each host takes for the fleet's. Here the
//! machine's monotonic clock is the judge, which all processes share: by it the hosts' clocks agree
//! within a bound, and leases overlap by no more than that.

use std::collections::HashMap;

use super::super::journal::{Answer, Saw, What};
use super::super::orders::process_of;
use super::CLOCKS_AGREE_MS;
use super::change::{Change, Link};
use super::facts::Facts;
use super::problem::{Broken, Problems};
use super::story::Story;

/// How the clock of each process goes: what to add to the machine's monotonic time to have what it
/// takes for the fleet's, in us.
pub(super) type Offsets<'s> = HashMap<&'s str, i64>;

/// The clocks of the processes that had an answer of the store, and how far they are apart, in us.
/// Domains that are decided by other clocks are left out.
pub(super) fn check<'s>(story: &'s Story, problems: &mut Problems) -> (Offsets<'s>, u64) {
    let mut samples: HashMap<&str, Vec<i64>> = HashMap::new();
    for journalled in &story.journals {
        let mut swaps = HashMap::new();
        let samples = samples.entry(process_of(&journalled.instance)).or_default();
        for line in &journalled.lines {
            let answered = match &line.what {
                What::Admitted { domain, saw, .. } | What::Refused { domain, saw, .. } => {
                    !matches!(saw, Saw::Away | Saw::Unasked) && !story.apart.contains_key(domain)
                }
                What::Swap { swap, domain, .. } => {
                    swaps.insert(*swap, domain);
                    false
                }
                What::Swapped { swap, answer } => {
                    let domain = swaps.get(swap);
                    *answer == Answer::Done
                        && domain.is_some_and(|domain| !story.apart.contains_key(*domain))
                }
                _ => false,
            };
            if answered {
                let fleet_us = i64::try_from(line.fleet_ms * 1_000).unwrap_or(i64::MAX);
                let machine_us = i64::try_from(line.at_us).unwrap_or(i64::MAX);
                samples.push(fleet_us.saturating_sub(machine_us));
            }
        }
    }
    let mut offsets = Offsets::new();
    for (process, mut samples) in samples {
        samples.sort_unstable();
        // The middle one: a process that was paused between reading the two clocks is an outlier.
        if let Some(middle) = samples.get(samples.len() / 2) {
            offsets.insert(process, *middle);
        }
    }
    let least = offsets.values().min().copied().unwrap_or(0);
    let most = offsets.values().max().copied().unwrap_or(0);
    let apart_us = most.abs_diff(least);
    if apart_us > CLOCKS_AGREE_MS * 1_000 {
        let says = format!(
            "the processes follow the store's clock, and theirs are {} ms apart",
            apart_us / 1_000
        );
        problems.add(Broken::ClocksDisagree, 0, says);
    }
    (offsets, apart_us)
}

/// The longest that two leases of a domain were in force at once by the machine's clock, in us. A
/// lease is in force from when it is taken until it is given back, or its time is over by the clock
/// of the process that holds it.
pub(super) fn check_leases(
    facts: &Facts<'_>,
    domain: &str,
    links: &[Link],
    offsets: &Offsets<'_>,
    problems: &mut Problems,
) -> u64 {
    let allowed_us = facts.story.apart_ms(domain) * 1_000;
    let mut longest_us = 0;
    // Whose lease is in force, and until when by the machine's clock.
    let mut held: Option<(usize, u64)> = None;
    for link in links {
        let write = &facts.writes[link.write];
        let Change::Grant { from_lease, .. } = link.change else {
            held = None;
            continue;
        };
        if from_lease && let Some((holder, until_us)) = held {
            let overlap_us = until_us.saturating_sub(write.sent_us);
            longest_us = longest_us.max(overlap_us);
            if overlap_us > allowed_us {
                let says = format!(
                    "{} took the lease of {domain} {} ms before that of {} was over",
                    facts.name(write.by),
                    overlap_us / 1_000,
                    facts.name(facts.writes[holder].by),
                );
                problems.add(Broken::TwoProbes, write.sent_us, says);
            }
        }
        let expires_ms = link
            .after
            .lease
            .as_ref()
            .map_or(0, |lease| lease.expires_ms);
        let holder = &facts.story.journals[write.by.0].instance;
        held = offsets.get(process_of(holder)).map(|offset| {
            let expires_us = i64::try_from(expires_ms * 1_000).unwrap_or(i64::MAX);
            let until_us = u64::try_from(expires_us.saturating_sub(*offset)).unwrap_or(0);
            (link.write, until_us)
        });
    }
    longest_us
}
