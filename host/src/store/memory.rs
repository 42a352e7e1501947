//! A store inside one process, which answers at once.
//!
//! Nothing outlives the process, and no other process sees it: the default for one host, and what
//! tests run on.
//!
//! | module | subject |
//! |---|---|
//! | `entries` | what is under each key, for how long, and what goes when |
//! | `counter` | a windowed counter |
//! | `domains` | whose keys may go when there are too many |
//!
//! An entry whose lifetime is over is absent from that moment on. Its memory is given back later,
//! a little with each write, so that no operation ever walks through all entries.
//!
//! # The limit
//!
//! Keys that belong to a domain go before their time where there are more than
//! [`live_domains`](MemoryStore::live_domains): those of the domain that was used least recently,
//! all of them at once. Only a domain goes of which no more is known than that it is closed: all its
//! values are records (JSON objects with a `phase`) that say so, with no hold and no order in force,
//! and it did not close within the last minute. Its counts go with it, so failures that lie further
//! apart than it takes so many others to come do not add up. Values that cannot be read as records
//! keep their domain to the end of their lifetime. Where nearly all have to stay, a tenth of the
//! limit is left to the others on top.

mod counter;
mod domains;
mod entries;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use self::entries::Entries;
use super::{Reply, Store, Tally, Window};

/// A store inside one process. See the [module](self).
pub struct MemoryStore {
    entries: Mutex<Entries>,
    now_ms: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl MemoryStore {
    /// An empty store on this host's clock: the wall clock as it is now, and monotonic time from
    /// there on, so that setting the wall clock neither ends nor prolongs a lifetime.
    #[must_use]
    pub fn new() -> Self {
        let started = Instant::now();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self::with_clock(Arc::new(move || {
            let now = wall.saturating_add(started.elapsed());
            u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
        }))
    }

    /// An empty store on a given clock, in ms since the Unix epoch.
    #[must_use]
    pub fn with_clock(now_ms: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self {
            entries: Mutex::default(),
            now_ms,
        }
    }

    /// How many domains may have keys here, unless more of them have to stay; see the
    /// [module](self). By default [`LIVE_DOMAINS`](crate::live::LIVE_DOMAINS).
    #[must_use]
    pub fn live_domains(self, limit: usize) -> Self {
        {
            let mut entries = self.lock();
            entries.domains.set_limit(limit);
            entries.make_room();
        }
        self
    }

    /// How many entries are held, those included whose lifetime is over but whose memory was not
    /// given back yet.
    #[must_use]
    pub fn held(&self) -> usize {
        self.lock().len()
    }

    /// How many domains have keys here.
    #[must_use]
    pub fn domains(&self) -> usize {
        self.lock().domains.len()
    }

    /// How many domains had to go for others to come.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.lock().evicted
    }

    /// Each operation leaves the entries whole before it can panic, so that those of a thread
    /// that did are as good as any.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        let now = (self.now_ms)();
        let mut entries = self.lock();
        Reply::Ready(keys.iter().map(|key| entries.value(key, now)).collect())
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        let now = (self.now_ms)();
        let expires = (ttl_ms > 0).then(|| now.saturating_add(ttl_ms));
        Reply::Ready(
            self.lock()
                .swap(&key, expected.as_deref(), replacement, expires, now),
        )
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        let now = (self.now_ms)();
        let mut entries = self.lock();
        Reply::Ready(
            windows
                .iter()
                .map(|window| entries.count(window, now))
                .collect(),
        )
    }

    fn ping(&self) -> Reply<()> {
        Reply::Ready(Ok(()))
    }

    fn now_ms(&self) -> u64 {
        (self.now_ms)()
    }
}

#[cfg(test)]
mod tests;
