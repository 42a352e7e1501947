//! The imported store as the core's.

use fusewire_core::store::{KeyValue, Lane, StoreError, Tally, Window};

use crate::bindings::fusewire::policy::keyvalue as host;

/// The store that the host imports into this component.
pub(crate) struct HostStore;

fn error(error: host::Error) -> StoreError {
    match error {
        host::Error::Pending => StoreError::Pending,
        host::Error::Unavailable => StoreError::Unavailable,
        host::Error::Refused(why) => StoreError::Refused(why),
    }
}

impl KeyValue for HostStore {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        host::get(keys).map_err(error)
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        host::swap(key, expected, replacement, ttl_ms).map_err(error)
    }

    fn count(&mut self, windows: &[Window]) -> Result<Vec<Tally>, StoreError> {
        let lanes = |window: &Window| -> Vec<host::Lane> {
            let lane = |l: &Lane| host::Lane { name: l.name.clone(), amount: l.amount };
            window.add.iter().map(lane).collect()
        };
        let windows: Vec<host::Window> = windows
            .iter()
            .map(|window| host::Window {
                key: window.key.clone(),
                epoch: window.epoch,
                bucket: window.bucket,
                add: lanes(window),
                since: window.since,
                ttl_ms: window.ttl_ms,
            })
            .collect();
        let tally = |tally: host::Tally| Tally {
            epoch: tally.epoch,
            lanes: tally.lanes.into_iter().map(|l| Lane { name: l.name, amount: l.amount }).collect(),
        };
        host::count(&windows).map(|tallies| tallies.into_iter().map(tally).collect()).map_err(error)
    }
}
