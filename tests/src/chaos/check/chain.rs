//! The records of a domain, put in order: each was written in the place of the one before it.
//!
//! A swap takes the bytes that it expects for those that it puts, so the swaps that took effect
//! form one chain from an absent record on, whatever the order in which their answers came. A swap
//! without an answer took effect exactly if somebody has seen what it put. Where the record is
//! absent again, which is so when its time was over or the store has lost everything, another life
//! begins.

use std::collections::{HashMap, HashSet};

use super::super::journal::Answer;
use super::facts::{Facts, Write};
use super::problem::{Broken, Problems};

/// The writes of one domain that took effect.
pub(super) struct Chain {
    /// Each from an absent record on, as places in [`Facts::writes`].
    pub(super) lives: Vec<Vec<usize>>,
}

impl Chain {
    /// All that took effect, each with the one before it in its life.
    pub(super) fn links(&self) -> impl Iterator<Item = (Option<usize>, usize)> + '_ {
        self.lives.iter().flat_map(|life| {
            let before = std::iter::once(None).chain(life.iter().copied().map(Some));
            before.zip(life.iter().copied())
        })
    }

    pub(super) fn of(facts: &Facts<'_>, domain: &str, problems: &mut Problems) -> Self {
        let writes = &facts.writes;
        let places = || (0..writes.len()).filter(|at| writes[*at].domain == domain);
        let mut by_put: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in places() {
            if let Some(put) = writes[at].put {
                by_put.entry(put).or_default().push(at);
            }
        }
        let mut done: HashSet<usize> = places()
            .filter(|at| writes[*at].answer == Answer::Done)
            .collect();
        let mut open: Vec<usize> = done.iter().copied().collect();
        // Sorted, so that two runs over the same journals say the same.
        open.sort_unstable();
        while let Some(at) = open.pop() {
            let write = &writes[at];
            let Some(expected) = write.expected else {
                continue;
            };
            let candidates = by_put.get(expected).map_or(&[][..], Vec::as_slice);
            if candidates.iter().any(|place| done.contains(place)) {
                continue;
            }
            let unknown = candidates
                .iter()
                .find(|place| writes[**place].answer == Answer::Unknown);
            if let Some(place) = unknown {
                done.insert(*place);
                open.push(*place);
            } else if let Some(place) = candidates.first() {
                let says = format!(
                    "{} was told that its swap was not done, and {} found what it had put: {expected}",
                    facts.name(writes[*place].by),
                    facts.name(write.by),
                );
                problems.add(Broken::Resurrected, write.sent_us, says);
            } else {
                let says = format!(
                    "{} replaced a record of {domain} that nobody has written: {expected}",
                    facts.name(write.by)
                );
                problems.add(Broken::ChainBroken, write.sent_us, says);
            }
        }
        Self::order(facts, domain, &done, problems)
    }

    /// Puts the writes that took effect in order.
    fn order(
        facts: &Facts<'_>,
        domain: &str,
        done: &HashSet<usize>,
        problems: &mut Problems,
    ) -> Self {
        let writes = &facts.writes;
        let mut in_order: Vec<usize> = done.iter().copied().collect();
        in_order.sort_by_key(|at| writes[*at].sent_us);
        let mut next: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut written: HashMap<&str, usize> = HashMap::new();
        for at in &in_order {
            if let Some(expected) = writes[*at].expected {
                next.entry(expected).or_default().push(*at);
            }
            if let Some(put) = writes[*at].put {
                *written.entry(put).or_default() += 1;
            }
        }
        for (expected, heirs) in &next {
            if heirs.len() > written.get(expected).copied().unwrap_or(1).max(1) {
                let names: Vec<String> = heirs
                    .iter()
                    .map(|at| facts.name(writes[*at].by).to_string())
                    .collect();
                let says = format!(
                    "{} each replaced the same record of {domain}: {expected}",
                    names.join(" and ")
                );
                problems.add(Broken::ChainForked, writes[heirs[0]].sent_us, says);
            }
        }
        let roots = in_order.iter().filter(|at| writes[**at].expected.is_none());
        let mut lives: Vec<Vec<usize>> = Vec::new();
        for root in roots {
            let mut life = vec![*root];
            let mut seen: HashSet<usize> = life.iter().copied().collect();
            while let Some(heir) = life.last().and_then(|at| {
                next.get(writes[*at].put?)?
                    .iter()
                    .find(|at| !seen.contains(at))
            }) {
                let (before, after) = (&writes[life[life.len() - 1]], &writes[*heir]);
                if after.answered_us.is_some_and(|at| at < before.sent_us) {
                    let says = format!(
                        "{} was told that it had replaced a record of {domain} before {} wrote it",
                        facts.name(after.by),
                        facts.name(before.by),
                    );
                    problems.add(Broken::ChainBroken, after.sent_us, says);
                }
                seen.insert(*heir);
                life.push(*heir);
            }
            if let Some(before) = lives.last().and_then(|life| life.last()) {
                check_gap(facts, domain, &writes[*before], &writes[*root], problems);
            }
            lives.push(life);
        }
        Self { lives }
    }
}

/// Whether a record may be gone: its time was over, or the store has lost it.
fn check_gap(
    facts: &Facts<'_>,
    domain: &str,
    last: &Write<'_>,
    root: &Write<'_>,
    problems: &mut Problems,
) {
    let until_us = root.answered_us.unwrap_or(u64::MAX);
    if facts.story.lost_between(last.sent_us, until_us) {
        return;
    }
    let expires = last.after.as_ref().map_or(0, |record| record.expires);
    let apart = facts.story.apart_ms(domain);
    if expires != 0 && root.fleet_ms.saturating_add(apart) >= expires {
        return;
    }
    let says = format!(
        "{} found no record of {domain}, where {} had left one that was to live for {} ms more",
        facts.name(root.by),
        facts.name(last.by),
        expires.saturating_sub(root.fleet_ms),
    );
    problems.add(Broken::Forgotten, root.sent_us, says);
}
