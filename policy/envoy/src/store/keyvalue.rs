//! The policy's import `keyvalue` on groups.

use fusewire_core::{KeyValue, StoreError, Tally, Window};

use super::change::{Change, Groups, New, Notes, Scope, expiry, group_of};
use super::company::{Company, Waiting};
use super::counter::Counter;
use super::group::{Entry, KEY_MAX_BYTES, Kind};
use super::shared::SharedData;
use super::slices::Name;
use super::value::Value;

/// The longest value, in bytes (`wit/keyvalue.wit`).
const VALUE_MAX_BYTES: usize = 64 * 1024;

/// How long the fleet is asked for a key after it was last read, in ms.
pub const WATCHED_MS: u64 = 60_000;

/// How long after a key was last read that is noted again, in ms: each note is a write.
const NOTE_EVERY_MS: u64 = 10_000;

/// The policy's store, for one call.
#[derive(Debug)]
pub struct SharedStore<'a, D: ?Sized> {
    data: &'a D,
    groups: Groups<'a, D>,
    scope: &'a Scope,
    company: Option<&'a Company>,
    /// Whether counts of this call may wait for company.
    patient: bool,
    /// Whether a counter was asked.
    counted: bool,
}

impl<'a, D: SharedData + ?Sized> SharedStore<'a, D> {
    /// The store as it is at this moment on this host's own clock.
    #[must_use]
    pub fn new(data: &'a D, notes: &'a Notes, scope: &'a Scope, now_ms: u64) -> Self {
        Self {
            data,
            groups: Groups::new(data, notes, scope, now_ms),
            scope,
            company: None,
            patient: false,
            counted: false,
        }
    }

    /// The same with counts that wait for company, where they may.
    #[must_use]
    pub fn with_company(self, company: &'a Company, patient: bool) -> Self {
        Self {
            company: Some(company),
            patient,
            ..self
        }
    }

    /// Whether what was read were values alone, which the turn tells the changes of.
    #[must_use]
    pub fn read_values_alone(&self) -> bool {
        !self.counted
    }

    /// Writes what has waited for company long enough.
    pub fn flush(&self) {
        self.write_waiting(self.company.map(|company| company.due(self.groups.now_ms)));
    }

    /// Writes whatever waits for company.
    pub fn flush_all(&self) {
        self.write_waiting(self.company.map(Company::all));
    }

    fn write_waiting(&self, waiting: Option<Vec<Waiting>>) {
        for waiting in waiting.into_iter().flatten() {
            // What cannot be written is noted as an error of the host's.
            let _ = self.write(&waiting.window, &[], Some(&waiting));
        }
    }

    fn permit(&self, key: &str) -> Result<(), StoreError> {
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            let len = key.len();
            return Err(StoreError::Refused(format!(
                "a key has {len} bytes, and may have 1 to {KEY_MAX_BYTES}"
            )));
        }
        if self.scope.covers(key) {
            Ok(())
        } else {
            let prefix = &self.scope.prefix;
            Err(StoreError::Refused(format!(
                "`{key}` does not begin with `{prefix}` and a colon"
            )))
        }
    }

    fn get_one(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.permit(key)?;
        let now = self.groups.now_ms;
        let (value, noted) = self.groups.read(group_of(key), |group| {
            let Some(entry) = group.alive(key, now) else {
                return Ok((None, false));
            };
            match entry.kind {
                Kind::Counter => Err(holds(key, "a counter, not a value")),
                Kind::Value => {
                    let noted = now.saturating_sub(entry.used_ms) < NOTE_EVERY_MS;
                    Ok((Value::local_of(&entry.content).map(<[u8]>::to_vec), noted))
                }
            }
        })??;
        if self.scope.fleet && !noted {
            // Where it is not noted the fleet is asked for this key a little later.
            let _ = self.note(key);
        }
        Ok(value)
    }

    /// Notes that a key was read, so that the fleet is asked for it, whether or not it is here.
    fn note(&self, key: &str) -> Result<(), StoreError> {
        let now = self.groups.now_ms;
        self.groups.change(group_of(key), |group| {
            match group
                .entries
                .iter_mut()
                .find(|e| e.key == key && !e.is_over(now))
            {
                Some(entry) => {
                    entry.used_ms = now;
                    if entry.spare {
                        entry.expires_ms = expiry(now, WATCHED_MS);
                    }
                }
                None => {
                    let new = New {
                        key,
                        kind: Kind::Value,
                        spare: true,
                        expires_ms: expiry(now, WATCHED_MS),
                        content: Value::default().to_bytes(),
                    };
                    let entry = self.groups.entry(None, new);
                    self.groups.put(group, entry)?;
                }
            }
            Ok(Change::Write(()))
        })
    }

    fn swap_one(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        self.permit(key)?;
        if let Some(len) = replacement
            .map(<[u8]>::len)
            .filter(|len| *len > VALUE_MAX_BYTES)
        {
            return Err(StoreError::Refused(format!(
                "a value for `{key}` has {len} bytes, and may have {VALUE_MAX_BYTES}"
            )));
        }
        let now = self.groups.now_ms;
        self.groups.change(group_of(key), |group| {
            let held = group.alive(key, now);
            if held.is_some_and(|entry| entry.kind == Kind::Counter) {
                return Err(holds(key, "a counter, not a value"));
            }
            let before = held
                .and_then(|e| Value::read(&e.content))
                .unwrap_or_default();
            if before.local.as_deref() != expected {
                return Ok(Change::Keep(false));
            }
            let value = Value {
                local: replacement.map(<[u8]>::to_vec),
                base: before.base,
                learned: false,
            };
            if value.local.is_none() && value.base.is_none() {
                group.remove(key);
                return Ok(Change::Write(true));
            }
            let removed = value.local.is_none();
            let new = New {
                key,
                kind: Kind::Value,
                spare: removed,
                // What was removed is known until the fleet was told.
                expires_ms: expiry(now, if removed { WATCHED_MS } else { ttl_ms }),
                content: value.to_bytes(),
            };
            let entry = self.groups.entry(held, new);
            self.groups.put(group, entry)?;
            Ok(Change::Write(true))
        })
    }

    fn count_one(&self, window: &Window) -> Result<Tally, StoreError> {
        let key = window.key.as_str();
        self.permit(key)?;
        let lanes = lanes(window)?;
        let adds = !lanes.is_empty();
        if adds && window.ttl_ms == 0 {
            return Err(StoreError::Refused(format!(
                "to add to `{key}` needs a ttl-ms above zero"
            )));
        }
        if !adds {
            // What this worker has been told of is in what it reads.
            self.settle_waiting(key);
            return self.write(window, &lanes, None);
        }
        if self.patient
            && let Some(tally) = self
                .company
                .and_then(|company| company.join(window, &lanes, self.groups.now_ms))
        {
            return Ok(tally);
        }
        let mut waiting = self.company.and_then(|company| company.take(key));
        // An outcome of an earlier epoch takes nothing along of a later one.
        if let Some(later) = waiting.take_if(|waiting| waiting.window.epoch > window.epoch) {
            self.write(&later.window, &[], Some(&later))?;
        }
        self.write(window, &lanes, waiting.as_ref())
    }

    fn settle_waiting(&self, key: &str) {
        if let Some(waiting) = self.company.and_then(|company| company.take(key)) {
            let _ = self.write(&waiting.window, &[], Some(&waiting));
        }
    }

    /// Adds a window's lanes and what has waited, as one step.
    fn write(
        &self,
        window: &Window,
        lanes: &[(Name, u64)],
        waiting: Option<&Waiting>,
    ) -> Result<Tally, StoreError> {
        let key = window.key.as_str();
        let now = self.groups.now_ms;
        let adds = !lanes.is_empty() || waiting.is_some();
        let (tally, written) = self.groups.change(group_of(key), |group| {
            let held = group.alive(key, now);
            let mut counter = match counter_of(key, held)? {
                Some(counter) if counter.epoch > window.epoch => {
                    let tally = Tally {
                        epoch: counter.epoch,
                        lanes: Vec::new(),
                    };
                    return Ok(Change::Keep((tally, None)));
                }
                Some(counter) if counter.epoch == window.epoch => counter,
                _ if !adds => return Ok(Change::Keep((Tally::default(), None))),
                _ => Counter::of(window.epoch),
            };
            if let Some(waiting) = waiting.filter(|w| w.window.epoch == window.epoch) {
                counter.pending.add_all(&waiting.amounts);
            }
            if adds {
                counter.add(window, lanes);
            }
            let tally = Tally {
                epoch: counter.epoch,
                lanes: counter.sums(window.since).into_lanes(),
            };
            if !adds {
                return Ok(Change::Keep((tally, None)));
            }
            let content = counter.to_bytes();
            if content.len() > VALUE_MAX_BYTES {
                let why = format!("`{key}` has too many buckets or lanes");
                return Err(StoreError::Refused(why));
            }
            let new = New {
                key,
                kind: Kind::Counter,
                spare: true,
                expires_ms: expiry(now, window.ttl_ms),
                content,
            };
            let entry = self.groups.entry(held, new);
            self.groups.put(group, entry)?;
            Ok(Change::Write((tally, Some(counter))))
        })?;
        if let (Some(company), Some(counter)) = (self.company, written) {
            company.know(key, counter, now);
        }
        Ok(tally)
    }
}

/// The counter that an entry holds; `None`: none yet, or one that is damaged.
fn counter_of(key: &str, held: Option<&Entry<'_>>) -> Result<Option<Counter>, StoreError> {
    match held {
        Some(entry) if entry.kind == Kind::Counter => Ok(Counter::read(&entry.content)),
        // What is only asked for has no kind yet.
        Some(entry) if Value::local_of(&entry.content).is_some() => {
            Err(holds(key, "a value, not a counter"))
        }
        Some(_) | None => Ok(None),
    }
}

impl<D: SharedData + ?Sized> KeyValue for SharedStore<'_, D> {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        keys.iter().map(|key| self.get_one(key)).collect()
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let swapped = self.swap_one(key, expected, replacement, ttl_ms)?;
        if swapped {
            self.scope.next_turn(self.data);
        }
        Ok(swapped)
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        self.counted = true;
        windows
            .iter()
            .map(|window| self.count_one(window))
            .collect()
    }
}

/// What a window adds.
fn lanes(window: &Window) -> Result<Vec<(Name, u64)>, StoreError> {
    let mut lanes = Vec::with_capacity(window.add.len());
    for lane in &window.add {
        let Some(name) = Name::new(&lane.name) else {
            return Err(StoreError::Refused(format!(
                "`{}` is no name of a lane: 1 to 16 bytes of a-z, `-` and digits",
                lane.name
            )));
        };
        if lane.amount > 0 {
            lanes.push((name, lane.amount));
        }
    }
    Ok(lanes)
}

fn holds(key: &str, what: &str) -> StoreError {
    StoreError::Refused(format!("`{key}` holds {what}"))
}
