//! The contract of `wit/keyvalue.wit`, on values that can be compared and swapped.

use fusewire_core::store::{Lane, StoreError, Tally, Window};

use crate::bucket::Failure;
use crate::counter::Counter;
use crate::entry::Entry;
use crate::register::Register;

/// The longest key, in bytes.
const KEY_MAX_BYTES: usize = 512;
/// The longest value, in bytes.
const VALUE_MAX_BYTES: usize = 64 * 1024;
/// The longest name of a lane, in bytes.
const LANE_MAX_BYTES: usize = 16;
/// How often an operation begins again because another client was first. Each time that one has
/// succeeded, so this is a limit on bad luck, and on a bucket that misbehaves.
const TRIES: u32 = 1_000;

/// A store on a register, and a clock in ms since the Unix epoch.
pub struct KeyValue<R, C> {
    register: R,
    now_ms: C,
}

impl<R: Register, C: Fn() -> u64> KeyValue<R, C> {
    /// A store on this register and this clock.
    pub fn new(register: R, now_ms: C) -> Self {
        Self { register, now_ms }
    }

    /// Reads values: one answer a key, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn get(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        keys.iter()
            .map(|key| match self.read(key)?.0 {
                Entry::Nothing => Ok(None),
                Entry::Value(value) => Ok(Some(value)),
                Entry::Counter(_) => Err(holds(key, "a counter, not a value")),
            })
            .collect()
    }

    /// Replaces a value where it still is `expected`, and answers whether it did.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn swap(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        if let Some(value) = replacement.filter(|value| value.len() > VALUE_MAX_BYTES) {
            return Err(StoreError::Refused(format!(
                "a value of {} bytes for {key:?}, and at most {VALUE_MAX_BYTES} are kept",
                value.len()
            )));
        }
        for _ in 0..TRIES {
            let (entry, seen, now) = self.read(key)?;
            let held = match &entry {
                Entry::Nothing => None,
                Entry::Value(value) => Some(value.as_slice()),
                Entry::Counter(_) => return Err(holds(key, "a counter, not a value")),
            };
            if held != expected {
                return Ok(false);
            }
            let new = match replacement {
                Some(value) => Entry::Value(value.to_vec()).to_bytes(end(now, ttl_ms)),
                None if held.is_none() => return Ok(true),
                None => Entry::Nothing.to_bytes(0),
            };
            if self.register.replace(key, seen, &new).map_err(error)? {
                return Ok(true);
            }
        }
        Err(StoreError::Unavailable)
    }

    /// Adds to windowed counters and reads them, one after the other.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn count(&self, windows: &[Window]) -> Result<Vec<Tally>, StoreError> {
        windows
            .iter()
            .map(|window| self.count_one(window))
            .collect()
    }

    fn count_one(&self, window: &Window) -> Result<Tally, StoreError> {
        let adds = window.add.iter().any(|lane| lane.amount > 0);
        if let Some(lane) = window.add.iter().find(|lane| !is_lane(lane)) {
            return Err(StoreError::Refused(format!(
                "the lane {:?}: a name is 1 to {LANE_MAX_BYTES} bytes of a-z, - and digits",
                lane.name
            )));
        }
        if adds && window.ttl_ms == 0 {
            let why = format!("to add to {:?} needs a ttl-ms above zero", window.key);
            return Err(StoreError::Refused(why));
        }
        for _ in 0..TRIES {
            let (entry, seen, now) = self.read(&window.key)?;
            let mut counter = match entry {
                Entry::Value(_) => return Err(holds(&window.key, "a value, not a counter")),
                Entry::Counter(held) if held.epoch > window.epoch => {
                    let (epoch, lanes) = (held.epoch, Vec::new());
                    return Ok(Tally { epoch, lanes });
                }
                Entry::Counter(held) if held.epoch == window.epoch => held,
                _ if !adds => return Ok(Tally::default()),
                _ => Counter::of(window.epoch),
            };
            if !adds {
                return Ok(counter.tally(window.since));
            }
            counter.add(window);
            let tally = counter.tally(window.since);
            let new = Entry::Counter(counter).to_bytes(end(now, window.ttl_ms));
            if self
                .register
                .replace(&window.key, seen, &new)
                .map_err(error)?
            {
                return Ok(tally);
            }
        }
        Err(StoreError::Unavailable)
    }

    /// What is under a key now, what a replacement needs to know, and when now is.
    fn read(&self, key: &str) -> Result<(Entry, R::Seen, u64), StoreError> {
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            return Err(StoreError::Refused(format!(
                "a key of {} bytes; it may have 1 to {KEY_MAX_BYTES}",
                key.len()
            )));
        }
        let (held, seen) = self.register.read(key).map_err(error)?;
        let now = (self.now_ms)();
        let entry = match held {
            None => Entry::Nothing,
            Some(bytes) => Entry::read(&bytes, now)
                .ok_or_else(|| holds(key, "what this adapter did not write"))?,
        };
        Ok((entry, seen, now))
    }
}

/// The moment at which what begins now ends; zero: never.
fn end(now_ms: u64, ttl_ms: u64) -> u64 {
    match ttl_ms {
        0 => 0,
        span => now_ms.saturating_add(span),
    }
}

fn is_lane(lane: &Lane) -> bool {
    let name = lane.name.as_bytes();
    let fits = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=LANE_MAX_BYTES).contains(&name.len()) && name.iter().all(fits)
}

fn holds(key: &str, what: &str) -> StoreError {
    StoreError::Refused(format!("{key:?} holds {what}"))
}

fn error(failure: Failure) -> StoreError {
    match failure {
        Failure::Unavailable => StoreError::Unavailable,
        Failure::Refused(why) => StoreError::Refused(why),
    }
}
