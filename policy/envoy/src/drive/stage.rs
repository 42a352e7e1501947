//! The store during a scenario.

use std::collections::BTreeMap;

use fusewire_core::{KeyValue, StoreError, Tally, Window};

/// What the policy writes lives so long, in ms, whatever lifetime it asks for: time in a scenario is
/// not real.
const LIFETIME_MS: u64 = 600_000;

/// What a scenario has done to the store.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) down: bool,
    /// How many operations the policy has asked for.
    pub(super) operations: u64,
    /// How often each counter was lost.
    pub(super) lost: BTreeMap<String, u32>,
}

/// The store as the policy sees it.
pub(super) struct Staged<'a, S> {
    pub(super) stage: &'a mut Stage,
    pub(super) store: S,
}

impl<S> Staged<'_, S> {
    /// What is an instance's own is not taken away with the store.
    fn enter(&mut self, own_alone: bool) -> Result<(), StoreError> {
        self.stage.operations = self.stage.operations.saturating_add(1);
        if self.stage.down && !own_alone {
            Err(StoreError::Unavailable)
        } else {
            Ok(())
        }
    }
}

/// Whether a key is one instance's own, under whichever prefix.
fn is_own(key: &str) -> bool {
    key.split_once(':')
        .is_some_and(|(_, rest)| rest.starts_with("local:"))
}

impl<S: KeyValue> KeyValue for Staged<'_, S> {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.enter(keys.iter().all(|key| is_own(key)))?;
        self.store.get(keys)
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        self.enter(is_own(key))?;
        let ttl_ms = if ttl_ms == 0 { 0 } else { LIFETIME_MS };
        self.store.swap(key, expected, replacement, ttl_ms)
    }

    fn count(&mut self, mut windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        self.enter(windows.iter().all(|window| is_own(&window.key)))?;
        for window in &mut windows {
            if let Some(times) = self.stage.lost.get(&window.key) {
                window.key = format!("{}~{times}", window.key);
            }
            if window.ttl_ms > 0 {
                window.ttl_ms = LIFETIME_MS;
            }
        }
        self.store.count(windows)
    }
}
