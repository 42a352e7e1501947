//! What a policy asks of its store, and how a call waits for an answer without waiting.

use serde::{Deserialize, Serialize};

/// Why the store gave no answer. `wit/keyvalue.wit` has the promises of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Started, not yet answered: return [`Suspended`] at once and be called again.
    Pending,
    /// Out of reach, or not within the host's time limit. Whether it took effect is not known.
    Unavailable,
    /// Will not be done, and nothing was changed. For the operator.
    Refused(String),
}

/// The store has not answered yet: call again, with the same arguments, when it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspended {
    /// How many operations were answered before the one that is awaited.
    pub answered: u32,
}

/// An amount in one lane of a windowed counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The lane's name.
    pub name: String,
    /// How much.
    pub amount: u64,
}

/// One operation on one windowed counter: a map from (bucket, lane) to an amount, owned by an
/// epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Window {
    /// Where the counter is.
    pub key: String,
    /// Whose counts these are. A counter of an older epoch is emptied first; one of a newer epoch
    /// stays as it is.
    pub epoch: u64,
    /// The time at which the bucket that is added to begins, in ms.
    pub bucket: u64,
    /// What to add; nothing: only read.
    pub add: Vec<Lane>,
    /// Only buckets that begin at this time (ms) or later are in the tally.
    pub since: u64,
    /// How long the counter lives after an operation that adds, in ms.
    pub ttl_ms: u64,
}

/// What a windowed counter held after an operation on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The epoch that owns the counter. Newer than the window's: nothing was added.
    pub epoch: u64,
    /// The sum of each lane since `since`, in order of the names.
    pub lanes: Vec<Lane>,
}

impl Tally {
    /// The amount in the lane of this name; zero where there is none.
    #[must_use]
    pub fn amount(&self, lane: &str) -> u64 {
        self.lanes
            .iter()
            .find(|l| l.name == lane)
            .map_or(0, |l| l.amount)
    }
}

/// A store that keeps a few small values for the fleet: the import `keyvalue` of `wit/`.
///
/// Implementations either answer at once, or answer [`StoreError::Pending`] and replay: see
/// "Suspension" in `wit/package.wit`.
pub trait KeyValue {
    /// Reads values in one round trip: one answer a key, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Replaces the value of `key` only where it still is `expected`; answers whether it was.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError>;

    /// Adds to windowed counters and reads them, in one round trip.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError>;
}

/// Why an operation inside the breaker ended early. [`StoreError`] with the one case that must
/// leave the call at once kept apart from those that the breaker decides about.
#[derive(Debug)]
pub(crate) enum Stop {
    Suspended(Suspended),
    Store(String),
}

/// A store seen through one call: it counts the operations that were answered.
pub(crate) struct Session<'a> {
    store: &'a mut dyn KeyValue,
    answered: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(store: &'a mut dyn KeyValue) -> Self {
        Self { store, answered: 0 }
    }

    fn note<T>(&mut self, answer: Result<T, StoreError>) -> Result<T, Stop> {
        match answer {
            Ok(value) => {
                self.answered = self.answered.saturating_add(1);
                Ok(value)
            }
            Err(StoreError::Pending) => Err(Stop::Suspended(Suspended {
                answered: self.answered,
            })),
            Err(StoreError::Unavailable) => Err(Stop::Store("the store is out of reach".into())),
            Err(StoreError::Refused(why)) => Err(Stop::Store(format!("the store refused: {why}"))),
        }
    }

    /// One value a key. A store that answers with another number of values broke its contract.
    pub(crate) fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, Stop> {
        let answer = self.store.get(keys);
        let values = self.note(answer)?;
        if values.len() == keys.len() {
            Ok(values)
        } else {
            Err(Stop::Store(format!(
                "the store answered {} values for {} keys",
                values.len(),
                keys.len()
            )))
        }
    }

    pub(crate) fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: &[u8],
        ttl_ms: u64,
    ) -> Result<bool, Stop> {
        let answer = self.store.swap(key, expected, Some(replacement), ttl_ms);
        self.note(answer)
    }

    pub(crate) fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, Stop> {
        let asked = windows.len();
        let answer = self.store.count(windows);
        let tallies = self.note(answer)?;
        if tallies.len() == asked {
            Ok(tallies)
        } else {
            Err(Stop::Store(format!(
                "the store answered {} tallies for {asked} windows",
                tallies.len()
            )))
        }
    }
}
