//! The store: `wit/keyvalue.wit`, in memory.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use fusewire_core::store::{Lane, StoreError, Tally, Window};

/// The longest key, in bytes.
const KEY_MAX_BYTES: usize = 512;
/// The longest value, in bytes.
const VALUE_MAX_BYTES: usize = 64 * 1024;
/// The longest name of a lane, in bytes.
const LANE_MAX_BYTES: usize = 16;
/// The largest amount: what a double holds exactly.
const AMOUNT_MAX: u64 = (1 << 53) - 1;

/// Values and windowed counters, until this process ends.
#[derive(Default)]
pub(crate) struct Store {
    entries: HashMap<String, Entry>,
}

struct Entry {
    held: Held,
    /// From when on it is absent; none: it stays.
    ends: Option<Instant>,
}

enum Held {
    Value(Vec<u8>),
    Counter(Counter),
}

/// Amounts by bucket and lane, owned by an epoch.
struct Counter {
    epoch: u64,
    buckets: BTreeMap<u64, BTreeMap<String, u64>>,
}

impl Store {
    pub(crate) fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        keys.iter()
            .map(|key| Ok(self.value(key)?.map(<[u8]>::to_vec)))
            .collect()
    }

    pub(crate) fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        if let Some(value) = replacement.filter(|value| value.len() > VALUE_MAX_BYTES) {
            return Err(StoreError::Refused(format!(
                "the value has {} bytes, and may have {VALUE_MAX_BYTES}",
                value.len()
            )));
        }
        if self.value(key)? != expected {
            return Ok(false);
        }
        match replacement {
            Some(value) => self.put(key, Held::Value(value.to_vec()), ttl_ms),
            None => drop(self.entries.remove(key)),
        }
        Ok(true)
    }

    pub(crate) fn count(&mut self, windows: &[Window]) -> Result<Vec<Tally>, StoreError> {
        windows
            .iter()
            .map(|window| self.count_one(window))
            .collect()
    }

    fn count_one(&mut self, window: &Window) -> Result<Tally, StoreError> {
        let adds = window.add.iter().any(|lane| lane.amount > 0);
        if let Some(lane) = window.add.iter().find(|lane| !is_lane(&lane.name)) {
            let why = format!("{:?} is no name of a lane", lane.name);
            return Err(StoreError::Refused(why));
        }
        if adds && window.ttl_ms == 0 {
            let why = format!("to add to {:?} needs a ttl-ms above zero", window.key);
            return Err(StoreError::Refused(why));
        }
        let held = self.alive(&window.key)?;
        let mut counter = match held {
            Some(Held::Value(_)) => return Err(holds(&window.key, "a value, not a counter")),
            Some(Held::Counter(counter)) if counter.epoch > window.epoch => {
                return Ok(Tally {
                    epoch: counter.epoch,
                    lanes: Vec::new(),
                });
            }
            Some(Held::Counter(counter)) if counter.epoch == window.epoch && !adds => {
                return Ok(counter.tally(window.since));
            }
            _ if !adds => return Ok(Tally::default()),
            Some(Held::Counter(counter)) if counter.epoch == window.epoch => Counter {
                epoch: counter.epoch,
                buckets: std::mem::take(&mut counter.buckets),
            },
            _ => Counter {
                epoch: window.epoch,
                buckets: BTreeMap::new(),
            },
        };
        counter.add(window);
        let tally = counter.tally(window.since);
        self.put(&window.key, Held::Counter(counter), window.ttl_ms);
        Ok(tally)
    }

    fn value(&mut self, key: &str) -> Result<Option<&[u8]>, StoreError> {
        match self.alive(key)? {
            None => Ok(None),
            Some(Held::Value(value)) => Ok(Some(value)),
            Some(Held::Counter(_)) => Err(holds(key, "a counter, not a value")),
        }
    }

    /// What is under a key; what has ended is removed.
    fn alive(&mut self, key: &str) -> Result<Option<&mut Held>, StoreError> {
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            return Err(StoreError::Refused(format!(
                "the key has {} bytes, and may have 1 to {KEY_MAX_BYTES}",
                key.len()
            )));
        }
        let now = Instant::now();
        let is_over = |entry: &Entry| entry.ends.is_some_and(|ends| ends <= now);
        if self.entries.get(key).is_some_and(is_over) {
            self.entries.remove(key);
        }
        Ok(self.entries.get_mut(key).map(|entry| &mut entry.held))
    }

    /// Puts it under a key for so many ms; zero: for ever.
    fn put(&mut self, key: &str, held: Held, ttl_ms: u64) {
        // A span that no clock can add lasts longer than any process.
        let after = |ms| Instant::now().checked_add(Duration::from_millis(ms));
        let ends = Some(ttl_ms).filter(|ms| *ms > 0).and_then(after);
        self.entries.insert(key.to_owned(), Entry { held, ends });
    }
}

impl Counter {
    /// Adds what a window adds, and removes the buckets that it leaves behind.
    fn add(&mut self, window: &Window) {
        let bucket = self.buckets.entry(window.bucket).or_default();
        for lane in window.add.iter().filter(|lane| lane.amount > 0) {
            raise(bucket, &lane.name, lane.amount);
        }
        self.buckets = self.buckets.split_off(&window.since);
    }

    fn tally(&self, since: u64) -> Tally {
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
}

fn raise(lanes: &mut BTreeMap<String, u64>, name: &str, amount: u64) {
    let held = lanes.entry(name.to_owned()).or_default();
    *held = held.saturating_add(amount).min(AMOUNT_MAX);
}

fn is_lane(name: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=LANE_MAX_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

fn holds(key: &str, what: &str) -> StoreError {
    StoreError::Refused(format!("{key:?} holds {what}"))
}
