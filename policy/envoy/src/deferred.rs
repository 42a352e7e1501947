//! Good answers, which are judged a few at a time.
//!
//! Nobody waits for a success to be known, and most outcomes are successes. Judging one costs
//! several times as much when Envoy has done something else meanwhile as right after another, so
//! good answers wait for each other, for 20 ms at most. What is no good answer is judged at once,
//! after those that wait.

use std::cell::RefCell;

use fusewire_core::Permit;

use crate::facts::Good;
use crate::store::company::WAIT_MS;

/// How many wait at most.
const BATCH: usize = 32;

/// Good answers that wait, in one worker.
#[derive(Debug, Default)]
pub struct Deferred {
    waiting: RefCell<Vec<(Permit, Good)>>,
}

impl Deferred {
    /// Has a good answer wait. Answers whether they are to be judged now.
    pub fn push(&self, permit: Permit, good: Good) -> bool {
        let Ok(mut waiting) = self.waiting.try_borrow_mut() else {
            return false;
        };
        let came_ns = good.came_ns;
        waiting.push((permit, good));
        let first_ns = waiting.first().map_or(came_ns, |(_, first)| first.came_ns);
        waiting.len() >= BATCH || came_ns.abs_diff(first_ns) >= WAIT_MS.saturating_mul(1_000_000)
    }

    /// Takes all that wait.
    pub fn take(&self) -> Vec<(Permit, Good)> {
        self.waiting
            .try_borrow_mut()
            .map_or_else(|_| Vec::new(), |mut waiting| std::mem::take(&mut *waiting))
    }
}
