//! What the journals of a whole fleet must say, whatever was done to it.
//!
//! | module | subject |
//! |---|---|
//! | [`story`] | what the checks are given |
//! | [`problem`] | what may be found wrong |
//! | [`record`] | a domain's record |
//! | `facts` | the journals, sorted |
//! | `chain` | the records of a domain in order, each in the place of the one before |
//! | `change` | what may follow what |
//! | `calls` | what each call may do, and what must have been told of it |
//! | `clocks` | whether the fleet agrees on the time |
//! | `end` | whether every breaker closes in the end |
//! | [`tally`] | what happened, in numbers |
//!
//! # What is promised, and to whom
//!
//! To everybody, whatever his clock says: a record is replaced only by who has seen it; a lease that
//! is in force by the clock of whoever wants it is left to its holder; an outcome counts for the
//! lease and in the epoch of its own call, or not at all; an opening grows the cool-down once; who is
//! refused changes nothing; no call is refused because the store is away, but by what the process
//! itself has seen fail; once the provider is well and there is traffic, the breaker closes.
//!
//! To those who follow the store's clock, besides, however wrong their own is: their clocks agree, so
//! that at no moment two leases of a domain are in force. This is checked twice: by the numbers in
//! the records, exactly, and by the machine's monotonic clock, within [`CLOCKS_AGREE_MS`].
//!
//! A lease says what counts, and not what a process does that is stopped while it holds one. When it
//! goes on it may send the call that it was about to send, at a time when another probes. Its lease
//! is over by then, and what it has to tell counts only where nobody has taken the lease since: then
//! it was the only one after all.
//!
//! A process that goes by a clock of its own takes a lease too early, or holds one that the others
//! take for over, by as much as that clock is wrong. Two leases may then be in force at once, for so
//! long; all the rest is kept, since it rests on what is in the store and on no clock.

mod calls;
mod chain;
mod change;
mod clocks;
mod end;
mod facts;
pub mod problem;
pub mod record;
pub mod story;
pub mod tally;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fusewire_core::{EventKind, Phase};

use self::chain::Chain;
use self::facts::Facts;
use self::problem::Problems;
pub use self::problem::{Broken, Problem};
pub use self::record::Record;
pub use self::story::{Calm, Journalled, Rules, Story};
pub use self::tally::Tally;

/// How far apart the clocks may be of processes that follow the store's, in ms. They differ by half
/// the round trip of a measurement, which is under a millisecond; a machine that is busy beyond
/// measure makes it some more. Half a lease.
pub const CLOCKS_AGREE_MS: u64 = 200;

/// What was found.
#[derive(Debug)]
pub struct Findings {
    /// What is wrong, in order of time.
    pub problems: Vec<Problem>,
    /// What happened to each domain.
    pub tallies: BTreeMap<String, Tally>,
    /// When each domain opened, and when it closed, on the machine's monotonic clock, in us.
    pub turns: BTreeMap<String, (Vec<u64>, Vec<u64>)>,
    /// How far apart the clocks were that follow the store's, in us.
    pub clocks_apart_us: u64,
}

/// Reads all journals together.
#[must_use]
pub fn check(story: &Story) -> Findings {
    let facts = Facts::gather(story);
    let mut problems = Problems::default();
    let (offsets, clocks_apart_us) = clocks::check(story, &mut problems);
    let (mut tallies, mut turns) = (BTreeMap::new(), BTreeMap::new());
    for domain in facts.domains() {
        let chain = Chain::of(&facts, domain, &mut problems);
        let links = change::read(&facts, &chain, &mut problems);
        calls::check(&facts, domain, &links, &mut problems);
        let overlap_us = clocks::check_leases(&facts, domain, &links, &offsets, &mut problems);
        tallies.insert(
            domain.to_owned(),
            tally::of(&facts, domain, &links, overlap_us),
        );
        turns.insert(
            domain.to_owned(),
            (tally::opens(&facts, &links), tally::closes(&facts, &links)),
        );
    }
    calls::check_visits(&facts, &mut problems);
    for call in facts.calls.iter().filter(|(_, call)| call.faulted) {
        let says = format!("in {}", facts.name(*call.0));
        problems.add(Broken::PolicyFailed, 0, says);
    }
    if let Some(calm) = &story.calm {
        end::check(&facts, calm, &mut problems);
    }
    let mut problems = problems.0;
    problems.sort_by_key(|problem| problem.at_us);
    Findings {
        problems,
        tallies,
        turns,
        clocks_apart_us,
    }
}

/// What a instance's own breaker came to, where the event is one of that.
fn own_breaker(kind: &EventKind) -> Option<Phase> {
    match kind {
        EventKind::Alone(change) => Some(change.after),
        _ => None,
    }
}
