//! Windowed counters: amounts by bucket and lane, owned by an epoch.

use std::collections::BTreeMap;

use fusewire_core::store::{Lane, Tally, Window};

/// The largest amount: what a double holds exactly.
const AMOUNT_MAX: u64 = (1 << 53) - 1;

/// A windowed counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// Whose counts these are.
    pub epoch: u64,
    buckets: BTreeMap<u64, BTreeMap<String, u64>>,
}

impl Counter {
    /// An empty counter of this epoch.
    #[must_use]
    pub fn of(epoch: u64) -> Self {
        Self {
            epoch,
            buckets: BTreeMap::new(),
        }
    }

    /// Adds what a window adds, and removes the buckets that it leaves behind.
    pub fn add(&mut self, window: &Window) {
        let bucket = self.buckets.entry(window.bucket).or_default();
        for lane in window.add.iter().filter(|lane| lane.amount > 0) {
            raise(bucket, &lane.name, lane.amount);
        }
        self.buckets = self.buckets.split_off(&window.since);
    }

    /// The sums since this time, for the counter's own epoch.
    #[must_use]
    pub fn tally(&self, since: u64) -> Tally {
        let mut sums = BTreeMap::new();
        for (name, amount) in self.buckets.range(since..).flat_map(|(_, lanes)| lanes) {
            raise(&mut sums, name, *amount);
        }
        Tally {
            epoch: self.epoch,
            lanes: sums
                .into_iter()
                .map(|(name, amount)| Lane { name, amount })
                .collect(),
        }
    }

    /// The epoch; then, for each amount, its bucket, its size, the length of its lane's name, and
    /// the name.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.epoch.to_be_bytes().to_vec();
        for (bucket, lanes) in &self.buckets {
            for (name, amount) in lanes {
                bytes.extend(bucket.to_be_bytes());
                bytes.extend(amount.to_be_bytes());
                bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
                bytes.extend(name.as_bytes());
            }
        }
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (epoch, mut rest) = bytes.split_first_chunk()?;
        let mut counter = Self::of(u64::from_be_bytes(*epoch));
        while !rest.is_empty() {
            let (bucket, after) = rest.split_first_chunk()?;
            let (amount, after) = after.split_first_chunk()?;
            let (length, after) = after.split_first()?;
            let (name, after) = after.split_at_checked(usize::from(*length))?;
            let name = String::from_utf8(name.to_vec()).ok()?;
            let lanes = counter.buckets.entry(u64::from_be_bytes(*bucket));
            lanes.or_default().insert(name, u64::from_be_bytes(*amount));
            rest = after;
        }
        Some(counter)
    }
}

/// Adds to the lane of this name, at most up to [`AMOUNT_MAX`].
fn raise(lanes: &mut BTreeMap<String, u64>, name: &str, amount: u64) {
    match lanes.get_mut(name) {
        Some(held) => *held = held.saturating_add(amount).min(AMOUNT_MAX),
        None => drop(lanes.insert(name.to_owned(), amount.min(AMOUNT_MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_read_back_as_it_was() {
        let mut counter = Counter::of(u64::MAX);
        for (bucket, name) in [(7, "a"), (7, "sixteen-letters-"), (u64::MAX, "a")] {
            counter.add(&Window {
                key: "k".into(),
                epoch: u64::MAX,
                bucket,
                add: vec![Lane {
                    name: name.into(),
                    amount: bucket,
                }],
                since: 7,
                ttl_ms: 1,
            });
        }
        assert_eq!(Counter::read(&counter.to_bytes()), Some(counter));
    }
}
