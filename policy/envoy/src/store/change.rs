//! Compare-and-swap on groups: bounded tries, bounded space.

use std::borrow::Cow;
use std::cell::Cell;

use fusewire_core::StoreError;

use super::group::{Entry, Group, Kind};
use super::shared::{IF_ABSENT, KEYS_BEGIN, SharedData};
use crate::host::Status;

/// How many groups there are. Fixed, so that the keys that an earlier configuration wrote are
/// found by the next. Enough that a few hundred keys have a group each, and few enough that
/// walking through all of them takes a fraction of a millisecond.
pub const GROUPS: usize = 512;

/// How often a change is tried that others get ahead of. Each time that it is, another worker's
/// change took effect, so the store as a whole never stands still. One try takes about two
/// microseconds: with 16 workers that do nothing but change one key each is ahead of all others
/// once in 16 times, and one change in 60 would end here; at the rates at which workers do answer
/// requests it is less than one in a thousand million.
const TRIES: u32 = 64;

/// The most bytes in a group: room for a few values of the largest size that the contract allows.
/// With all groups this is the bound on the memory.
const GROUP_MAX_BYTES: usize = 256 * 1024;

/// What holds for one configuration's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// What every key of the policy begins with, followed by a colon. Empty: any key is its.
    pub prefix: String,
    /// The most entries in a group.
    pub entries: usize,
    /// Whether there is a fleet to exchange with.
    pub fleet: bool,
    /// The key of the turn: each change of a value makes it another write's.
    turn: String,
}

impl Scope {
    /// A scope that has room for so many keys.
    ///
    /// Keys fall into groups at random, so a group has room for eight more than twice its share:
    /// among as many keys as there is room for, less than one in a million finds its group full.
    #[must_use]
    pub fn new(prefix: &str, keys: usize, fleet: bool) -> Self {
        let share = keys.div_ceil(GROUPS);
        Self {
            prefix: prefix.to_owned(),
            entries: share.saturating_mul(2).saturating_add(8),
            fleet,
            turn: [KEYS_BEGIN, "turn/", prefix].concat(),
        }
    }

    /// The turn of the values: while it is the same, so is each value but for its lifetime. `None`
    /// where it cannot be had.
    pub fn turn<D: SharedData + ?Sized>(&self, data: &D) -> Option<u32> {
        data.get(&self.turn).ok().flatten().map(|(_, turn)| turn)
    }

    /// Begins the next turn, after a value has changed. Where that fails, what was read before is
    /// kept for a second at most.
    pub fn next_turn<D: SharedData + ?Sized>(&self, data: &D) {
        let _ = data.set(&self.turn, b"", 0);
    }

    /// A scope that covers any key.
    #[must_use]
    pub fn any(keys: usize) -> Self {
        Self::new("", keys, false)
    }

    /// Whether the policy may touch this key.
    #[must_use]
    pub fn covers(&self, key: &str) -> bool {
        self.prefix.is_empty()
            || key
                .strip_prefix(self.prefix.as_str())
                .is_some_and(|rest| rest.starts_with(':'))
    }

    /// Whether a key is this Envoy's own, and of no interest to a fleet.
    #[must_use]
    pub fn is_own(&self, key: &str) -> bool {
        key.strip_prefix(self.prefix.as_str())
            .is_some_and(|rest| rest.starts_with(":local:"))
    }
}

/// What went on in the store, for the metrics.
#[derive(Debug, Default)]
pub struct Notes {
    /// Changes that another worker was ahead of, and that were tried again.
    pub contended: Cell<u64>,
    /// Entries for which there was no room.
    pub full: Cell<u64>,
    /// Operations that the host did not do.
    pub errors: Cell<u64>,
}

fn raise(note: &Cell<u64>) {
    note.set(note.get().saturating_add(1));
}

/// What a change came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<T> {
    /// The group stays as it is.
    Keep(T),
    /// The group is written.
    Write(T),
}

/// The groups in shared data.
#[derive(Debug)]
pub struct Groups<'a, D: ?Sized> {
    data: &'a D,
    notes: &'a Notes,
    /// The present time on this host's own clock, in ms.
    pub now_ms: u64,
    entries: usize,
}

// Not derived: that would ask for `D: Clone`.
impl<D: ?Sized> Clone for Groups<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: ?Sized> Copy for Groups<'_, D> {}

impl<'a, D: SharedData + ?Sized> Groups<'a, D> {
    /// The groups as they are at this moment.
    #[must_use]
    pub fn new(data: &'a D, notes: &'a Notes, scope: &Scope, now_ms: u64) -> Self {
        Self {
            data,
            notes,
            now_ms,
            entries: scope.entries,
        }
    }

    /// Reads a group.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: the host did not answer with it.
    pub fn read<T>(
        &self,
        number: usize,
        with: impl FnOnce(&Group<'_>) -> T,
    ) -> Result<T, StoreError> {
        let bytes = self.fetch(&name(number))?.map(|(bytes, _)| bytes);
        Ok(with(&Group::read(bytes.as_deref().unwrap_or_default())))
    }

    /// Changes a group as one step, whatever other workers do. `with` is called again for each
    /// try.
    ///
    /// # Errors
    /// What `with` answers; [`StoreError::Unavailable`]: the host did not do it, or others were
    /// ahead at every try.
    pub fn change<T>(
        &self,
        number: usize,
        mut with: impl FnMut(&mut Group<'_>) -> Result<Change<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let name = name(number);
        for _ in 0..TRIES {
            let held = self.fetch(&name)?;
            let (bytes, cas) = match &held {
                Some((bytes, cas)) => (bytes.as_slice(), *cas),
                None => (&[][..], IF_ABSENT),
            };
            let mut group = Group::read(bytes);
            let answer = match with(&mut group)? {
                Change::Keep(answer) => return Ok(answer),
                Change::Write(answer) => answer,
            };
            group.drop_over(self.now_ms);
            match self.data.set(&name, &group.to_bytes(), cas) {
                Ok(()) => return Ok(answer),
                Err(Status::CAS_MISMATCH) => raise(&self.notes.contended),
                Err(_) => return Err(self.failed()),
            }
        }
        Err(self.failed())
    }

    /// Puts an entry into a group that has room for it, or can make room.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: there is no room.
    pub fn put<'g>(&self, group: &mut Group<'g>, entry: Entry<'g>) -> Result<(), StoreError> {
        let key = entry.key.clone();
        group.drop_over(self.now_ms);
        group.put(entry);
        if group.make_room(self.entries, GROUP_MAX_BYTES, &key) {
            return Ok(());
        }
        raise(&self.notes.full);
        Err(StoreError::Refused(format!(
            "there is no room left for `{key}`"
        )))
    }

    /// An entry of a new content under a key.
    #[must_use]
    pub fn entry(&self, held: Option<&Entry<'_>>, new: New<'_>) -> Entry<'static> {
        Entry {
            key: Cow::Owned(new.key.to_owned()),
            kind: new.kind,
            spare: new.spare,
            expires_ms: new.expires_ms,
            written_ms: self.now_ms,
            used_ms: held.map_or(self.now_ms, |held| held.used_ms),
            content: Cow::Owned(new.content),
        }
    }

    fn fetch(&self, name: &str) -> Result<Option<(Vec<u8>, u32)>, StoreError> {
        self.data.get(name).map_err(|_| self.failed())
    }

    fn failed(&self) -> StoreError {
        raise(&self.notes.errors);
        StoreError::Unavailable
    }
}

/// What a new entry is made of.
#[derive(Debug)]
pub struct New<'g> {
    /// Its key.
    pub key: &'g str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may go where there is no room.
    pub spare: bool,
    /// The moment from which it is absent, in ms; zero: it stays.
    pub expires_ms: u64,
    /// What it holds, as bytes.
    pub content: Vec<u8>,
}

/// The group that a key is in: FNV-1a, whose low bits are mixed well enough for this.
#[must_use]
pub fn group_of(key: &str) -> usize {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = hash ^ (hash >> 32);
    usize::try_from(mixed.checked_rem(GROUPS as u64).unwrap_or_default()).unwrap_or_default()
}

/// The moment at which a lifetime ends that begins now, as entries have it.
#[must_use]
pub fn expiry(now_ms: u64, ttl_ms: u64) -> u64 {
    match ttl_ms {
        0 => 0,
        ttl_ms => now_ms.saturating_add(ttl_ms),
    }
}

/// The name of a group in shared data.
fn name(number: usize) -> String {
    let digit = |unit: usize| {
        let digit = number.checked_div(unit).unwrap_or_default() % 10;
        u32::try_from(digit)
            .ok()
            .and_then(|digit| char::from_digit(digit, 10))
            .unwrap_or('0')
    };
    let mut name = String::with_capacity(KEYS_BEGIN.len().saturating_add(4));
    name.push_str(KEYS_BEGIN);
    name.push('g');
    name.extend([100, 10, 1].map(digit));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn among_as_many_keys_as_there_is_room_for_no_group_is_full() {
        for keys in [100, 1_024, 4_096, 16_384] {
            let scope = Scope::new("fusewire", keys, false);
            let mut groups = vec![0; GROUPS];
            for n in 0..keys / 2 {
                groups[group_of(&format!("fusewire:s:{{cluster-{n}}}"))] += 1;
                groups[group_of(&format!("fusewire:w:{{cluster-{n}}}"))] += 1;
            }
            let fullest = groups.iter().max().unwrap();
            assert!(
                *fullest <= scope.entries,
                "{fullest} of {} at {keys} keys",
                scope.entries
            );
        }
    }

    #[test]
    fn a_policy_may_touch_the_keys_of_its_own_prefix_alone() {
        let scope = Scope::new("fusewire", 1, false);
        assert!(scope.covers("fusewire:s:{p}"));
        for other in ["fusewires:s:{p}", "fusewire", "other:s:{p}", ""] {
            assert!(!scope.covers(other), "{other}");
        }
        assert!(scope.covers("fusewire:local:s:{p}!0") && scope.is_own("fusewire:local:s:{p}!0"));
        assert!(!scope.is_own("fusewire:s:{p}") && !scope.is_own("fusewire:localhost"));
    }
}
