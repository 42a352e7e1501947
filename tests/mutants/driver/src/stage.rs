//! The store as a scenario's policy has it: it can go away, forget, is confined to one prefix, and
//! is counted.

use std::collections::HashMap;

use fusewire_core::store::{StoreError, Tally, Window};

use crate::store::Store;

/// How long every key lives that a policy writes in a scenario, in ms, whatever it asks for: time
/// there is not real.
const LIFETIME_MS: u64 = 600_000;

/// The store, and what has befallen it.
#[derive(Default)]
pub(crate) struct Stage {
    /// The store itself, past all of this.
    pub(crate) behind: Store,
    pub(crate) prefix: String,
    down: bool,
    /// How often each counter was lost. The contract has no way to remove one, so its successor
    /// lives under another name.
    lost: HashMap<String, u32>,
    operations: u64,
}

impl Stage {
    /// As at the beginning of a scenario, with the store as it is.
    pub(crate) fn begin(&mut self) {
        self.down = false;
        self.lost.clear();
        self.operations = 0;
    }

    pub(crate) fn set_up(&mut self, up: bool) {
        self.down = !up;
    }

    pub(crate) fn lose_counter(&mut self, key: &str) {
        *self.lost.entry(key.to_owned()).or_default() += 1;
    }

    /// How many operations the policy has asked for since this was last asked.
    pub(crate) fn take_operations(&mut self) -> u64 {
        std::mem::take(&mut self.operations)
    }

    pub(crate) fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.enter(keys.iter())?;
        self.behind.get(keys)
    }

    pub(crate) fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
    ) -> Result<bool, StoreError> {
        self.enter([key])?;
        self.behind.swap(key, expected, replacement, LIFETIME_MS)
    }

    pub(crate) fn count(&mut self, windows: &[Window]) -> Result<Vec<Tally>, StoreError> {
        self.enter(windows.iter().map(|window| &window.key))?;
        let mut windows = windows.to_vec();
        for window in &mut windows {
            if let Some(times) = self.lost.get(&window.key) {
                window.key = format!("{}~{times}", window.key);
            }
            window.ttl_ms = LIFETIME_MS;
        }
        self.behind.count(&windows)
    }

    /// Counts an operation on these keys, and answers whether it may be performed. What is one
    /// instance's own is not taken away with the store: hosts keep it themselves.
    fn enter(&mut self, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Result<(), StoreError> {
        self.operations = self.operations.saturating_add(1);
        let mut all_own = true;
        for key in keys {
            let key = key.as_ref();
            let rest = key.strip_prefix(&self.prefix);
            let Some(rest) = rest.and_then(|rest| rest.strip_prefix(':')) else {
                let why = format!("the key {key:?} does not begin with \"{}:\"", self.prefix);
                return Err(StoreError::Refused(why));
            };
            all_own &= rest.starts_with("local:");
        }
        match self.down && !all_own {
            true => Err(StoreError::Unavailable),
            false => Ok(()),
        }
    }
}
