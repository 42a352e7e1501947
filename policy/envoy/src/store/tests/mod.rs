//! The store under test.
//!
//! | module | subject |
//! |---|---|
//! | `model` | against a simple model of the contract |
//! | `promises` | what it promises beyond the contract |

mod model;
mod promises;

use fusewire_core::{KeyValue, Lane, StoreError, Tally, Window};

use super::fake::Fake;
use super::{Company, Notes, Scope, SharedStore};

pub(super) const NOW: u64 = 1_767_225_600_000;

pub(super) struct Bench {
    pub(super) data: Fake,
    pub(super) notes: Notes,
    pub(super) scope: Scope,
    company: Company,
}

impl Bench {
    pub(super) fn new(keys: usize, fleet: bool) -> Self {
        Self {
            data: Fake::default(),
            notes: Notes::default(),
            scope: Scope::new("fusewire", keys, fleet),
            company: Company::default(),
        }
    }

    pub(super) fn at(&self, now_ms: u64) -> SharedStore<'_, Fake> {
        SharedStore::new(&self.data, &self.notes, &self.scope, now_ms)
    }

    pub(super) fn worker(&self, now_ms: u64, patient: bool) -> SharedStore<'_, Fake> {
        self.at(now_ms).with_company(&self.company, patient)
    }
}

pub(super) fn adding(key: &str, epoch: u64, bucket: u64, lane: &str, amount: u64) -> Window {
    Window {
        key: key.into(),
        epoch,
        bucket,
        add: vec![Lane {
            name: lane.into(),
            amount,
        }],
        since: bucket.saturating_sub(1_000),
        ttl_ms: 60_000,
    }
}

pub(super) fn reading(key: &str, epoch: u64) -> Window {
    Window {
        add: Vec::new(),
        since: 0,
        ..adding(key, epoch, 0, "a", 0)
    }
}

pub(super) fn count(
    store: &mut SharedStore<'_, Fake>,
    window: Window,
) -> Result<Tally, StoreError> {
    Ok(store.count(vec![window])?.remove(0))
}
