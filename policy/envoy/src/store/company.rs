//! Group commit for counts: outcomes that may wait for company leave together.
//!
//! Most outcomes are successes, and each would read, change and write the same counter. Those that
//! may wait join what this worker knows of the counter, and leave with the next that may not, or
//! when they have waited for [`WAIT_MS`]. The first one of a pause leaves at once.
//!
//! Each is answered with a tally that has at least its own amount in it (`wit/keyvalue.wit`, on
//! merging), and is as old as the wait at most. What waits in a worker that dies is lost.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fusewire_core::{Tally, Window};

use super::counter::Counter;
use super::slices::{Name, Slices};

/// How long a count waits for company at most while there is traffic, in ms; where there is none
/// it leaves at the worker's next turn.
pub const WAIT_MS: u64 = 20;

/// The most counters that are known. One more is written at once.
const KEYS_MAX: usize = 256;

/// What waits in one worker.
#[derive(Debug, Default)]
pub struct Company {
    keys: RefCell<BTreeMap<String, Known>>,
}

/// A counter as this worker last wrote it.
#[derive(Debug)]
struct Known {
    counter: Counter,
    at_ms: u64,
    waiting: Option<Waiting>,
}

/// What waits for one counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The latest of the windows, without what it adds.
    pub window: Window,
    /// What all of them add.
    pub amounts: Slices,
}

impl Company {
    /// Has a count wait, and answers it; `None`: it must not.
    pub fn join(&self, window: &Window, lanes: &[(Name, u64)], now_ms: u64) -> Option<Tally> {
        let mut keys = self.keys.try_borrow_mut().ok()?;
        let known = keys.get_mut(&window.key)?;
        let is_fresh = now_ms.saturating_sub(known.at_ms) < WAIT_MS;
        if !is_fresh || known.counter.epoch != window.epoch {
            return None;
        }
        let waiting = known.waiting.get_or_insert_with(|| Waiting {
            window: Window {
                add: Vec::new(),
                ..window.clone()
            },
            amounts: Slices::default(),
        });
        waiting.window.bucket = window.bucket;
        waiting.window.since = window.since;
        waiting.window.ttl_ms = window.ttl_ms;
        for (name, amount) in lanes {
            waiting.amounts.add(window.bucket, *name, *amount);
        }
        let mut sums = known.counter.sums(window.since);
        waiting.amounts.sum_since(window.since, &mut sums);
        Some(Tally {
            epoch: window.epoch,
            lanes: sums.into_lanes(),
        })
    }

    /// Takes what waits for a counter.
    pub fn take(&self, key: &str) -> Option<Waiting> {
        self.keys
            .try_borrow_mut()
            .ok()?
            .get_mut(key)?
            .waiting
            .take()
    }

    /// Knows a counter as it was just written.
    pub fn know(&self, key: &str, counter: Counter, now_ms: u64) {
        let Ok(mut keys) = self.keys.try_borrow_mut() else {
            return;
        };
        if let Some(known) = keys.get_mut(key) {
            known.counter = counter;
            known.at_ms = now_ms;
        } else if keys.len() < KEYS_MAX {
            let known = Known {
                counter,
                at_ms: now_ms,
                waiting: None,
            };
            keys.insert(key.to_owned(), known);
        }
    }

    /// Takes all that waits.
    pub fn all(&self) -> Vec<Waiting> {
        let keys = self
            .keys
            .try_borrow_mut()
            .map(|mut keys| std::mem::take(&mut *keys));
        let known = keys.unwrap_or_default().into_values();
        known.filter_map(|known| known.waiting).collect()
    }

    /// Takes all that has waited long enough, and forgets counters that nothing waits for.
    pub fn due(&self, now_ms: u64) -> Vec<Waiting> {
        let Ok(mut keys) = self.keys.try_borrow_mut() else {
            return Vec::new();
        };
        let mut due = Vec::new();
        keys.retain(|_, known| {
            // A clock that was set back must not keep anything waiting.
            let waits = known.at_ms <= now_ms && now_ms.saturating_sub(known.at_ms) < WAIT_MS;
            if !waits {
                due.extend(known.waiting.take());
            }
            waits
        });
        due
    }
}
