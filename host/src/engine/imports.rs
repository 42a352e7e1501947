//! What a component's imports see: the store of the call under way.

use fusewire_core::{KeyValue, StoreError, Window};

use super::budget::Budget;
use super::instance::bindings::fusewire::policy::keyvalue;
use super::{Tape, convert};

/// What an instance's imports see.
pub(super) struct HostState {
    pub(super) budget: Budget,
    /// The store of the call under way; a blank one outside a call that may touch it.
    pub(super) tape: Tape,
}

impl keyvalue::Host for HostState {
    fn get(&mut self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, keyvalue::Error> {
        self.on_store(|tape| tape.get(&keys))
    }

    fn swap(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Result<bool, keyvalue::Error> {
        self.on_store(|tape| tape.swap(&key, expected.as_deref(), replacement.as_deref(), ttl_ms))
    }

    fn count(
        &mut self,
        windows: Vec<keyvalue::Window>,
    ) -> Result<Vec<keyvalue::Tally>, keyvalue::Error> {
        let windows: Vec<Window> = windows.into_iter().map(convert::window).collect();
        let tallies = self.on_store(|tape| tape.count(windows))?;
        Ok(tallies.into_iter().map(convert::tally).collect())
    }
}

impl HostState {
    fn on_store<T>(
        &mut self,
        operation: impl FnOnce(&mut Tape) -> Result<T, StoreError>,
    ) -> Result<T, keyvalue::Error> {
        operation(&mut self.tape).map_err(|error| match error {
            StoreError::Pending => keyvalue::Error::Pending,
            StoreError::Unavailable => keyvalue::Error::Unavailable,
            StoreError::Refused(why) => keyvalue::Error::Refused(why),
        })
    }
}
