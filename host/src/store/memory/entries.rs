//! What is under each key, for how long, and what goes when.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::counter::Counter;
use super::domains::Domains;
use crate::live::{LIVE_DOMAINS, kept_until};
use crate::store::{StoreError, Tally, Window, adds};

/// How many entries each write looks at for one that is gone. Two is the least with which the
/// sweep outruns writes that each make a new entry: what is gone never outweighs what lives.
const SWEPT_BY_A_WRITE: usize = 2;

/// What is under a key.
enum Held {
    Value(Vec<u8>),
    Counter(Counter),
}

struct Entry {
    held: Held,
    /// The moment from which it is absent; none: it stays.
    expires: Option<u64>,
    /// Until when it must not be forgotten for want of room; zero: it may be.
    wanted_until: u64,
    /// Tells this entry from an earlier one under the same key in the queue of the sweep.
    serial: u64,
}

pub(super) struct Entries {
    /// Boxed, since a table has as many empty places as full ones.
    map: HashMap<Arc<str>, Box<Entry>>,
    /// Every entry once, in the order in which the sweep looks at them; and some that are gone.
    queue: VecDeque<(Arc<str>, u64)>,
    serial: u64,
    pub(super) domains: Domains,
    /// How many domains had to go.
    pub(super) evicted: u64,
}

impl Default for Entries {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            queue: VecDeque::new(),
            serial: 0,
            domains: Domains::new(LIVE_DOMAINS),
            evicted: 0,
        }
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// How long the queue of the sweep is.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The entry under this key that is alive, if any.
    fn alive(&self, key: &str, now: u64) -> Option<&Entry> {
        let entry = self.map.get(key).map(|entry| &**entry);
        entry.filter(|entry| !entry.is_over(now))
    }

    pub(super) fn value(&mut self, key: &str, now: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.domains.used(key);
        match self.alive(key, now).map(|entry| &entry.held) {
            None => Ok(None),
            Some(Held::Value(value)) => Ok(Some(value.clone())),
            Some(Held::Counter(_)) => Err(holds(key, "a counter, not a value")),
        }
    }

    pub(super) fn swap(
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
            Some(value) => self.put(key, Held::Value(value), expires, now),
            None => self.remove(key),
        }
        self.sweep(now);
        Ok(true)
    }

    pub(super) fn count(&mut self, window: &Window, now: u64) -> Result<Tally, StoreError> {
        let adds = adds(window);
        if adds && window.ttl_ms == 0 {
            let why = format!("to add to {:?} needs a ttl-ms above zero", window.key);
            return Err(StoreError::Refused(why));
        }
        self.domains.used(&window.key);
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
        let entry = self.map.get_mut(window.key.as_str());
        let tally = match entry.map(|entry| &mut **entry) {
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
                self.put(&window.key, Held::Counter(counter), expires, now);
                tally
            }
        };
        self.sweep(now);
        Ok(tally)
    }

    fn put(&mut self, key: &str, held: Held, expires: Option<u64>, now: u64) {
        let wanted_until = match &held {
            Held::Value(value) => kept_until(value, now),
            Held::Counter(_) => 0,
        };
        let is_wanted = wanted_until > 0;
        if let Some(entry) = self.map.get_mut(key) {
            let was_wanted = entry.wanted_until > 0;
            entry.held = held;
            entry.expires = expires;
            entry.wanted_until = wanted_until;
            self.domains.turned(key, was_wanted, is_wanted);
            return;
        }
        let key: Arc<str> = key.into();
        self.serial = self.serial.wrapping_add(1);
        self.queue.push_back((Arc::clone(&key), self.serial));
        self.domains.joined(&key, is_wanted);
        let entry = Entry {
            held,
            expires,
            wanted_until,
            serial: self.serial,
        };
        self.map.insert(key, Box::new(entry));
        self.make_room();
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.map.remove(key) {
            self.domains.left(key, entry.wanted_until > 0);
        }
    }

    /// Lets domains go that there are too many of.
    pub(super) fn make_room(&mut self) {
        while let Some(keys) = self.domains.evict() {
            self.evicted = self.evicted.saturating_add(1);
            for key in keys {
                self.map.remove(&key);
            }
        }
    }

    /// Looks at the next few entries, and gives back the memory of those that are gone. As every
    /// write does so, each entry's turn comes, and no write takes longer for there being many.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEPT_BY_A_WRITE {
            let Some((key, serial)) = self.queue.pop_front() else {
                return;
            };
            match self.map.get_mut(&key) {
                Some(entry) if entry.serial != serial => {}
                Some(entry) if entry.is_over(now) => self.remove(&key),
                Some(entry) => {
                    if entry.wanted_until > 0 && entry.wanted_until <= now {
                        entry.wanted_until = 0;
                        self.domains.turned(&key, true, false);
                    }
                    self.queue.push_back((key, serial));
                }
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
