//! The store during a scenario: it can go away, forget, and is counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::runtime::LIFETIME_MS;
use crate::store::{Mode, Reply, Store, StoreError, Tally, Window};

pub(super) struct Stage {
    inner: Arc<dyn Store>,
    down: AtomicBool,
    operations: AtomicU64,
    /// How often each counter was lost. The contract has no way to remove a counter, so its
    /// successor lives under another name.
    lost: Mutex<HashMap<String, u32>>,
}

impl Stage {
    pub(super) fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            down: AtomicBool::new(false),
            operations: AtomicU64::new(0),
            lost: Mutex::default(),
        }
    }

    pub(super) fn set_up(&self, up: bool) {
        self.down.store(!up, Ordering::Relaxed);
    }

    /// How many operations the policy has asked for since this was last asked.
    pub(super) fn take_operations(&self) -> u64 {
        self.operations.swap(0, Ordering::Relaxed)
    }

    pub(super) fn lose_counter(&self, key: &str) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        *lost.entry(key.to_owned()).or_default() += 1;
    }

    /// The store itself, whether it is "down" or not.
    pub(super) fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    /// What is an instance's own is not taken away with the store: hosts keep it themselves.
    fn enter<T>(&self, own_alone: bool) -> Result<(), Reply<T>> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) && !own_alone {
            let why = "the scenario says so".to_owned();
            return Err(Reply::Ready(Err(StoreError::Unavailable(why))));
        }
        Ok(())
    }
}

/// Whether a key is one instance's own, under whichever prefix: that has no colon in a scenario.
fn is_own(key: &str) -> bool {
    key.split_once(':')
        .is_some_and(|(_, rest)| rest.starts_with("local:"))
}

impl Store for Stage {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        match self.enter(keys.iter().all(|key| is_own(key))) {
            Ok(()) => self.inner.get(keys),
            Err(reply) => reply,
        }
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        _ttl_ms: u64,
    ) -> Reply<bool> {
        match self.enter(is_own(&key)) {
            Ok(()) => self.inner.swap(key, expected, replacement, LIFETIME_MS),
            Err(reply) => reply,
        }
    }

    fn count(&self, mut windows: Vec<Window>) -> Reply<Vec<Tally>> {
        if let Err(reply) = self.enter(windows.iter().all(|window| is_own(&window.key))) {
            return reply;
        }
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        for window in &mut windows {
            if let Some(times) = lost.get(&window.key) {
                window.key = format!("{}~{times}", window.key);
            }
            window.ttl_ms = LIFETIME_MS;
        }
        self.inner.count(windows)
    }

    fn ping(&self) -> Reply<()> {
        match self.enter(false) {
            Ok(()) => self.inner.ping(),
            Err(reply) => reply,
        }
    }

    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }

    fn mode(&self) -> Mode {
        self.inner.mode()
    }
}
