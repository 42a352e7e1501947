//! Random bits for contexts.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter, hashed with keys that differ in each process. Not for
/// secrets.
pub(super) struct Entropy {
    keys: RandomState,
    used: AtomicU64,
}

impl Default for Entropy {
    fn default() -> Self {
        Self {
            keys: RandomState::new(),
            used: AtomicU64::new(0),
        }
    }
}

impl Entropy {
    pub(super) fn next(&self) -> u64 {
        self.keys
            .hash_one(self.used.fetch_add(1, Ordering::Relaxed))
    }
}
