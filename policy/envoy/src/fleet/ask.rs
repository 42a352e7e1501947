//! What is told and asked.

use std::collections::BTreeMap;

use crate::store::change::{Change, GROUPS, Groups, group_of};
use crate::store::counter::Counter;
use crate::store::group::{Entry, Group, Kind};
use crate::store::keyvalue::WATCHED_MS;
use crate::store::value::Value;
use crate::store::{Scope, SharedData};

use super::message::{CounterTold, Record, Slice, Swap, encoded};

/// The most keys in one exchange. With more in use, each has its turn.
const KEYS_MAX: usize = 256;

/// About how many bytes of values there are in one exchange; the host takes four times as many, and
/// base64 makes a third more of them.
const BYTES_MAX: usize = 1024 * 1024;

/// How many moments a window is asked for at. What the fleet has counted between two of them is
/// taken for the earlier one's, so it is forgotten a twelfth of the window early at most.
const MOMENTS: u64 = 12;

/// What is told and asked, and what of it has to be known when the answer comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The exchange's number.
    pub exchange: u64,
    /// Values.
    pub records: Vec<AskedRecord>,
    /// Counters, as they are told.
    pub counters: Vec<CounterTold>,
    /// The group that the next exchange begins at.
    pub next: usize,
}

/// A value that is told or asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedRecord {
    /// Its key.
    pub key: String,
    /// What the fleet had when it was last asked.
    pub have: Option<Vec<u8>>,
    /// What it is to be replaced by, and how long that lives, in ms.
    pub swap: Option<(Option<Vec<u8>>, u64)>,
}

impl AskedRecord {
    fn size(&self) -> usize {
        let replacement = self.swap.as_ref().and_then(|(to, _)| to.as_ref());
        let values = [self.have.as_ref(), replacement].into_iter().flatten();
        values.fold(0, |sum, value| value.len().saturating_add(sum))
    }

    /// As it is written.
    #[must_use]
    pub fn told(&self) -> Record {
        Record {
            key: self.key.clone(),
            have: self.have.as_deref().map(encoded),
            swap: self.swap.as_ref().map(|(replacement, ttl_ms)| Swap {
                replacement: replacement.as_deref().map(encoded),
                ttl_ms: *ttl_ms,
            }),
        }
    }
}

/// One key that has its turn.
enum Turn {
    Record(AskedRecord),
    Counter(String),
}

/// Collects what is told and asked, from the group `from` on. What a counter tells is marked as
/// on its way.
pub fn collect<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    scope: &Scope,
    exchange: u64,
    from: usize,
) -> Asked {
    let now = groups.now_ms;
    // What has changed here comes first; of the rest, as much as there is room for.
    let mut changed = Vec::new();
    let mut rest = Vec::new();
    for number in (0..GROUPS).cycle().skip(from).take(GROUPS) {
        // A group that cannot be read has its turn the next time.
        let _ = groups.read(number, |group| {
            let mine = group
                .entries
                .iter()
                .filter(|entry| !entry.is_over(now) && scope.covers(&entry.key))
                .filter(|entry| !scope.is_own(&entry.key));
            for entry in mine {
                if entry.kind == Kind::Counter {
                    rest.push((number, Turn::Counter(entry.key.to_string())));
                } else if let Some(record) = record(entry, now) {
                    let list = if record.swap.is_some() {
                        &mut changed
                    } else {
                        &mut rest
                    };
                    list.push((number, Turn::Record(record)));
                }
            }
        });
    }
    let mut asked = Asked {
        exchange,
        next: from,
        ..Asked::default()
    };
    let (mut keys, mut bytes) = (KEYS_MAX, BYTES_MAX);
    for (number, turn) in changed.into_iter().chain(rest) {
        if keys == 0 || bytes == 0 {
            asked.next = number;
            break;
        }
        keys = keys.saturating_sub(1);
        match turn {
            Turn::Record(record) => {
                bytes = bytes.saturating_sub(record.size());
                asked.records.push(record);
            }
            Turn::Counter(key) => asked.counters.extend(counter_told(groups, &key, exchange)),
        }
    }
    asked
}

/// What is told and asked of a value; `None`: nobody has read it for some time, and it has not
/// changed.
fn record(entry: &Entry<'_>, now_ms: u64) -> Option<AskedRecord> {
    let value = Value::read(&entry.content)?;
    let swap = value.differs().then(|| {
        let ttl_ms = match entry.expires_ms {
            0 => 0,
            expires => expires.saturating_sub(now_ms).max(1),
        };
        (value.local.clone(), ttl_ms)
    });
    if swap.is_none() && now_ms.saturating_sub(entry.used_ms) > WATCHED_MS {
        return None;
    }
    Some(AskedRecord {
        key: entry.key.to_string(),
        have: value.base,
        swap,
    })
}

/// What is told and asked of a counter, marked as on its way.
fn counter_told<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    key: &str,
    exchange: u64,
) -> Option<CounterTold> {
    let now = groups.now_ms;
    let counter = groups.change(group_of(key), |group| {
        let held = group
            .alive(key, now)
            .filter(|entry| entry.kind == Kind::Counter);
        let Some(mut counter) = held.and_then(|entry| Counter::read(&entry.content)) else {
            return Ok(Change::Keep(None));
        };
        if counter.pending.is_empty() && counter.told.is_empty() {
            return Ok(Change::Keep(Some(counter)));
        }
        counter.tell(exchange);
        rewrite(group, key, &counter);
        Ok(Change::Write(Some(counter)))
    });
    let counter = counter.ok().flatten()?;
    Some(CounterTold {
        key: key.to_owned(),
        epoch: counter.epoch,
        ttl_ms: counter.ttl_ms,
        since: moments(counter.since, counter.bucket),
        add: told(&counter),
    })
}

/// What a counter tells, bucket by bucket.
fn told(counter: &Counter) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for (bucket, name, amount) in counter.told.iter() {
        match slices.last_mut().filter(|slice| slice.bucket == bucket) {
            Some(slice) => drop(slice.lanes.insert(name.text(), amount)),
            None => slices.push(Slice {
                bucket,
                lanes: BTreeMap::from([(name.text(), amount)]),
            }),
        }
    }
    slices
}

/// Puts a counter's content in its place, its lifetime as it is.
pub(super) fn rewrite(group: &mut Group<'_>, key: &str, counter: &Counter) {
    if let Some(entry) = group.entries.iter_mut().find(|entry| entry.key == key) {
        entry.content = counter.to_bytes().into();
    }
}

/// Moments spread evenly over a window, the first and the last included.
fn moments(since: u64, bucket: u64) -> Vec<u64> {
    let length = bucket.saturating_sub(since);
    let last = MOMENTS.saturating_sub(1);
    let mut moments: Vec<u64> = (0..MOMENTS)
        .map(|n| {
            let part = u128::from(length).saturating_mul(n.into());
            let part = part.checked_div(last.into()).unwrap_or_default();
            since.saturating_add(u64::try_from(part).unwrap_or(length))
        })
        .collect();
    moments.dedup();
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_asked_for_at_twelve_moments_from_its_beginning_to_its_end() {
        let asked = moments(1_000, 12_000);
        assert_eq!((asked.len(), asked[0], asked[11]), (12, 1_000, 12_000));
        assert!(asked.is_sorted_by(|a, b| a < b));
        assert_eq!(moments(5, 7), [5, 6, 7]);
        assert_eq!(moments(7, 5), [7]);
        assert_eq!(moments(0, u64::MAX).len(), 12);
    }
}
