//! The store with records translated.

use std::cell::RefCell;

use fusewire_core::store::{KeyValue, StoreError, Tally, Window};
use fusewire_policy_bindings::HostStore;

use crate::schema;

thread_local! {
    /// What was read in the call under way: each record as the core saw it, and as it is stored.
    static READ: RefCell<Vec<(Vec<u8>, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// The store of one call.
pub(crate) struct Translated;

impl Default for Translated {
    fn default() -> Self {
        READ.take();
        Self
    }
}

/// The stored bytes behind a record that the core has seen or written.
pub(crate) fn stored(record: &[u8]) -> Vec<u8> {
    let read = READ.with_borrow(|read| {
        let found = read.iter().rev().find(|(seen, _)| seen == record);
        found.map(|(_, stored)| stored.clone())
    });
    read.unwrap_or_else(|| schema::to_stored(record))
}

impl KeyValue for Translated {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let values = HostStore.get(keys)?;
        let seen = |stored: Vec<u8>| {
            let seen = schema::from_stored(&stored);
            READ.with_borrow_mut(|read| read.push((seen.clone(), stored)));
            seen
        };
        Ok(values.into_iter().map(|value| value.map(seen)).collect())
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let expected = expected.map(stored);
        let replacement = replacement.map(schema::to_stored);
        HostStore.swap(key, expected.as_deref(), replacement.as_deref(), ttl_ms)
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        HostStore.count(windows)
    }
}
