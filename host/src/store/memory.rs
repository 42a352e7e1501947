//! A store inside one process, which answers at once.
//!
//! Nothing outlives the process, and no other process sees it: the default for one host, and what
//! tests run on.
//!
//! An entry whose lifetime is over is absent from that moment on. Its memory is given back later,
//! a little with each write, so that no operation ever walks through all entries: see
//! `Entries::sweep`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::{AMOUNT_MAX, Lane, Reply, Store, StoreError, Tally, Window, adds};

/// How many entries each write looks at for one that is gone. Two is the least with which the
/// sweep outruns writes that each make a new entry: what is gone never outweighs what lives.
const SWEPT_BY_A_WRITE: usize = 2;

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

    /// How many entries are held, those included whose lifetime is over but whose memory was not
    /// given back yet.
    #[must_use]
    pub fn held(&self) -> usize {
        self.lock().map.len()
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
        let entries = self.lock();
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

/// What is under a key.
enum Held {
    Value(Vec<u8>),
    Counter(Counter),
}

struct Entry {
    held: Held,
    /// The moment from which it is absent; none: it stays.
    expires: Option<u64>,
    /// Tells this entry from an earlier one under the same key in the queue of the sweep.
    serial: u64,
}

#[derive(Default)]
struct Entries {
    map: HashMap<Arc<str>, Entry>,
    /// Every entry once, in the order in which the sweep looks at them; and some that are gone.
    queue: VecDeque<(Arc<str>, u64)>,
    serial: u64,
}

impl Entries {
    /// The entry under this key that is alive, if any.
    fn alive(&self, key: &str, now: u64) -> Option<&Entry> {
        self.map.get(key).filter(|entry| !entry.is_over(now))
    }

    fn value(&self, key: &str, now: u64) -> Result<Option<Vec<u8>>, StoreError> {
        match self.alive(key, now).map(|entry| &entry.held) {
            None => Ok(None),
            Some(Held::Value(value)) => Ok(Some(value.clone())),
            Some(Held::Counter(_)) => Err(holds(key, "a counter, not a value")),
        }
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<Vec<u8>>,
        expires: Option<u64>,
        now: u64,
    ) -> Result<bool, StoreError> {
        let held = match self.alive(key, now).map(|entry| &entry.held) {
            None => None,
            Some(Held::Value(value)) => Some(value.as_slice()),
            Some(Held::Counter(_)) => return Err(holds(key, "a counter, not a value")),
        };
        if held != expected {
            return Ok(false);
        }
        match replacement {
            Some(value) => self.put(key, Held::Value(value), expires),
            None => drop(self.map.remove(key)),
        }
        self.sweep(now);
        Ok(true)
    }

    fn count(&mut self, window: &Window, now: u64) -> Result<Tally, StoreError> {
        let adds = adds(window);
        if adds && window.ttl_ms == 0 {
            let why = format!("to add to {:?} needs a ttl-ms above zero", window.key);
            return Err(StoreError::Refused(why));
        }
        let mine = match self.alive(&window.key, now).map(|entry| &entry.held) {
            Some(Held::Value(_)) => return Err(holds(&window.key, "a value, not a counter")),
            Some(Held::Counter(counter)) if counter.epoch > window.epoch => {
                let epoch = counter.epoch;
                let lanes = Vec::new();
                return Ok(Tally { epoch, lanes });
            }
            Some(Held::Counter(counter)) => counter.epoch == window.epoch,
            None => false,
        };
        let expires = Some(now.saturating_add(window.ttl_ms));
        let tally = match self.map.get_mut(window.key.as_str()) {
            Some(Entry {
                held: Held::Counter(counter),
                expires: until,
                ..
            }) if mine => {
                if !adds {
                    return Ok(counter.tally(window.since));
                }
                counter.add(window);
                *until = expires;
                counter.tally(window.since)
            }
            _ if !adds => return Ok(Tally::default()),
            _ => {
                let mut counter = Counter::of(window.epoch);
                counter.add(window);
                let tally = counter.tally(window.since);
                self.put(&window.key, Held::Counter(counter), expires);
                tally
            }
        };
        self.sweep(now);
        Ok(tally)
    }

    fn put(&mut self, key: &str, held: Held, expires: Option<u64>) {
        if let Some(entry) = self.map.get_mut(key) {
            entry.held = held;
            entry.expires = expires;
        } else {
            let key: Arc<str> = key.into();
            self.serial = self.serial.wrapping_add(1);
            self.queue.push_back((Arc::clone(&key), self.serial));
            let serial = self.serial;
            self.map.insert(
                key,
                Entry {
                    held,
                    expires,
                    serial,
                },
            );
        }
    }

    /// Looks at the next few entries, and gives back the memory of those that are gone. As every
    /// write does so, each entry's turn comes, and no write takes longer for there being many.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEPT_BY_A_WRITE {
            let Some((key, serial)) = self.queue.pop_front() else {
                return;
            };
            match self.map.get(&key) {
                Some(entry) if entry.serial != serial => {}
                Some(entry) if entry.is_over(now) => drop(self.map.remove(&key)),
                Some(_) => self.queue.push_back((key, serial)),
                None => {}
            }
        }
    }
}

impl Entry {
    fn is_over(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

fn holds(key: &str, what: &str) -> StoreError {
    StoreError::Refused(format!("{key:?} holds {what}"))
}

/// A windowed counter: amounts by bucket and lane.
struct Counter {
    epoch: u64,
    /// Buckets in order of time; few lanes each, so a list.
    buckets: BTreeMap<u64, Vec<Lane>>,
}

impl Counter {
    fn of(epoch: u64) -> Self {
        Self {
            epoch,
            buckets: BTreeMap::new(),
        }
    }

    fn add(&mut self, window: &Window) {
        let bucket = self.buckets.entry(window.bucket).or_default();
        for lane in window.add.iter().filter(|lane| lane.amount > 0) {
            raise(bucket, &lane.name, lane.amount);
        }
        while let Some(oldest) = self.buckets.first_entry() {
            if *oldest.key() >= window.since {
                break;
            }
            oldest.remove();
        }
    }

    fn tally(&self, since: u64) -> Tally {
        let mut lanes = Vec::new();
        for lane in self.buckets.range(since..).flat_map(|(_, lanes)| lanes) {
            raise(&mut lanes, &lane.name, lane.amount);
        }
        lanes.sort_unstable_by(|a: &Lane, b: &Lane| a.name.cmp(&b.name));
        Tally {
            epoch: self.epoch,
            lanes,
        }
    }
}

/// Adds to the lane of this name, at most up to [`AMOUNT_MAX`].
fn raise(lanes: &mut Vec<Lane>, name: &str, amount: u64) {
    match lanes.iter_mut().find(|lane| lane.name == name) {
        Some(lane) => lane.amount = lane.amount.saturating_add(amount).min(AMOUNT_MAX),
        None => lanes.push(Lane {
            name: name.to_owned(),
            amount: amount.min(AMOUNT_MAX),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn answer<T>(reply: Reply<T>) -> T {
        match reply {
            Reply::Ready(Ok(answer)) => answer,
            Reply::Ready(Err(error)) => panic!("{error}"),
            Reply::Later(_) => panic!("memory answers at once"),
        }
    }

    /// A store, and the hand of its clock.
    fn at(now: u64) -> (MemoryStore, Arc<AtomicU64>) {
        let hand = Arc::new(AtomicU64::new(now));
        let clock = Arc::clone(&hand);
        let store = MemoryStore::with_clock(Arc::new(move || clock.load(Ordering::Relaxed)));
        (store, hand)
    }

    fn put(store: &MemoryStore, key: &str, ttl_ms: u64) {
        assert!(answer(store.swap(
            key.to_owned(),
            None,
            Some(b"x".to_vec()),
            ttl_ms
        )));
    }

    #[test]
    fn a_value_is_absent_from_the_very_moment_its_lifetime_ends() {
        let (store, hand) = at(1_000);
        put(&store, "k", 500);
        hand.store(1_499, Ordering::Relaxed);
        assert_eq!(
            answer(store.get(vec!["k".into()])),
            vec![Some(b"x".to_vec())]
        );
        hand.store(1_500, Ordering::Relaxed);
        assert_eq!(answer(store.get(vec!["k".into()])), vec![None]);
    }

    #[test]
    fn memory_does_not_grow_with_keys_long_gone() {
        let (store, hand) = at(0);
        // A new key each ms that lives 1 s: about a thousand are alive at any time.
        for ms in 0..100_000 {
            hand.store(ms, Ordering::Relaxed);
            put(&store, &format!("k{ms}"), 1_000);
            assert!(
                store.held() <= 2_100,
                "{} entries are held at {ms} ms",
                store.held()
            );
        }
        assert!(store.lock().queue.len() <= 2_100);
    }

    #[test]
    fn a_key_that_comes_and_goes_is_queued_for_the_sweep_once() {
        let (store, _hand) = at(0);
        for _ in 0..10_000 {
            put(&store, "k", 0);
            assert!(answer(store.swap("k".into(), Some(b"x".to_vec()), None, 0)));
        }
        assert!(store.lock().queue.len() <= 2);
        assert_eq!(store.held(), 0);
    }

    #[test]
    fn a_lifetime_past_the_end_of_time_is_one_without_end() {
        let (store, hand) = at(u64::MAX - 1);
        put(&store, "k", u64::MAX);
        hand.store(u64::MAX - 1, Ordering::Relaxed);
        assert_eq!(
            answer(store.get(vec!["k".into()])),
            vec![Some(b"x".to_vec())]
        );
    }

    #[test]
    fn a_thread_that_panicked_under_the_lock_takes_nobody_with_it() {
        let store = Arc::new(MemoryStore::new());
        put(&store, "k", 0);
        let other = Arc::clone(&store);
        let panicked = std::thread::spawn(move || {
            let _held = other.lock();
            panic!("on purpose");
        })
        .join();
        assert!(panicked.is_err());
        assert_eq!(
            answer(store.get(vec!["k".into()])),
            vec![Some(b"x".to_vec())]
        );
    }
}
