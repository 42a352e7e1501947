//! The imported store as the core's.

use fusewire_core::store::{KeyValue, Lane, StoreError, Tally, Window};

use crate::contract::fusewire::policy::keyvalue as host;

/// The store that the host imports into this component.
#[derive(Debug, Default)]
pub struct HostStore;

fn error(error: host::Error) -> StoreError {
    match error {
        host::Error::Pending => StoreError::Pending,
        host::Error::Unavailable => StoreError::Unavailable,
        host::Error::Refused(why) => StoreError::Refused(why),
    }
}

impl KeyValue for HostStore {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        host::get(&keys).map_err(error)
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

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        // The contract's lists are borrowed from these.
        let lanes: Vec<Vec<host::LaneParam<'_>>> = windows
            .iter()
            .map(|window| {
                window
                    .add
                    .iter()
                    .map(|l| host::LaneParam {
                        name: &l.name,
                        amount: l.amount,
                    })
                    .collect()
            })
            .collect();
        let asked: Vec<host::Window<'_>> = windows
            .iter()
            .zip(&lanes)
            .map(|(window, add)| host::Window {
                key: &window.key,
                epoch: window.epoch,
                bucket: window.bucket,
                add,
                since: window.since,
                ttl_ms: window.ttl_ms,
            })
            .collect();
        let tally = |tally: host::Tally| Tally {
            epoch: tally.epoch,
            lanes: tally
                .lanes
                .into_iter()
                .map(|l| Lane {
                    name: l.name,
                    amount: l.amount,
                })
                .collect(),
        };
        host::count(&asked)
            .map(|tallies| tallies.into_iter().map(tally).collect())
            .map_err(error)
    }
}
