//! What follows from the fleet's answer.

use std::collections::BTreeMap;

use fusewire_core::StoreError;

use crate::store::SharedData;
use crate::store::change::{Change, Groups, New, expiry, group_of};
use crate::store::counter::Counter;
use crate::store::group::Kind;
use crate::store::keyvalue::WATCHED_MS;
use crate::store::slices::{Name, Slices};
use crate::store::value::Value;

use super::ask::{Asked, AskedRecord, rewrite};
use super::message::{Answer, CounterKnown, CounterTold, RecordKnown};

/// How long a value of the fleet's lives here, in ms, unless the fleet confirms it meanwhile: some
/// time longer than an exchange, and so long that an Envoy which the fleet is lost to goes on by
/// what it had.
pub const LEARNED_MS: u64 = 600_000;

/// Takes over what the fleet answered. What it was not asked, refused, or makes no sense is left
/// alone. Answers whether a value is another now, and how many keys the fleet refused.
pub fn learn<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    asked: &Asked,
    answer: &Answer,
) -> (bool, u64) {
    let mut learned = false;
    let mut refused = 0_u64;
    for (asked, known) in pairs(&asked.records, &answer.records, |a| &a.key, |k| &k.key) {
        if known.refused {
            refused = refused.saturating_add(1);
        } else {
            learned |= record(groups, asked, known).unwrap_or(false);
        }
    }
    for (told, known) in pairs(&asked.counters, &answer.counters, |a| &a.key, |k| &k.key) {
        if known.refused {
            refused = refused.saturating_add(1);
        } else {
            let _ = counter(groups, asked.exchange, told, known);
        }
    }
    (learned, refused)
}

/// Each of the first with the one of the second that has the same key.
fn pairs<'a, A, B>(
    first: &'a [A],
    second: &'a [B],
    key_of_first: impl Fn(&A) -> &str,
    key_of_second: impl Fn(&B) -> &str,
) -> Vec<(&'a A, &'a B)> {
    let by_key: BTreeMap<&str, &B> = second.iter().map(|b| (key_of_second(b), b)).collect();
    first
        .iter()
        .filter_map(|a| Some((a, *by_key.get(key_of_first(a))?)))
        .collect()
}

/// Answers whether the value is another now.
fn record<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    asked: &AskedRecord,
    known: &RecordKnown,
) -> Result<bool, StoreError> {
    // What the fleet has if it says nothing else.
    let expected = match &asked.swap {
        Some((replacement, _)) if known.swapped == Some(true) => replacement,
        _ => &asked.have,
    };
    let fleet = known.value.as_ref().unwrap_or(expected).clone();
    let surprising = fleet != *expected;
    let (key, now) = (asked.key.as_str(), groups.now_ms);
    groups.change(group_of(key), |group| {
        let held = group.alive(key, now);
        if held.is_some_and(|entry| entry.kind == Kind::Counter) {
            return Ok(Change::Keep(false));
        }
        let before = held
            .and_then(|entry| Value::read(&entry.content))
            .unwrap_or_default();
        let left = held.map_or(0, |entry| entry.expires_ms);
        let value = known_now(&before, &fleet, surprising);
        let lives = match &value.local {
            None => expiry(now, WATCHED_MS),
            Some(_) if value.learned => match left.saturating_sub(now) {
                // It was confirmed just now.
                rest if before.learned && rest > LEARNED_MS / 2 => left,
                _ => expiry(now, LEARNED_MS),
            },
            Some(_) => left,
        };
        if value == before && (lives == left || value.local.is_none()) {
            return Ok(Change::Keep(false));
        }
        let new = New {
            key,
            kind: Kind::Value,
            spare: value.local.is_none(),
            expires_ms: lives,
            content: value.to_bytes(),
        };
        let entry = groups.entry(held, new);
        groups.put(group, entry)?;
        Ok(Change::Write(value.local != before.local))
    })
}

/// A value after the fleet's answer; `surprising`: it is not what this Envoy took it to have.
///
/// The fleet's word holds, so what was changed here and refused there is lost. Where it is not
/// surprising, what has changed here meanwhile is proposed the next time. And where the fleet has
/// nothing, while a value that was written here is still alive, it has forgotten, as after a
/// restart without a store: the value is proposed again.
fn known_now(before: &Value, fleet: &Option<Vec<u8>>, surprising: bool) -> Value {
    let forgot = fleet.is_none() && before.local.is_some() && !before.learned;
    if surprising && !forgot {
        return Value {
            local: fleet.clone(),
            base: fleet.clone(),
            learned: fleet.is_some(),
        };
    }
    Value {
        base: fleet.clone(),
        ..before.clone()
    }
}

fn counter<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    exchange: u64,
    told: &CounterTold,
    known: &CounterKnown,
) -> Result<(), StoreError> {
    let (key, now) = (told.key.as_str(), groups.now_ms);
    groups.change(group_of(key), |group| {
        let held = group
            .alive(key, now)
            .filter(|entry| entry.kind == Kind::Counter);
        let Some(before) = held.and_then(|entry| Counter::read(&entry.content)) else {
            return Ok(Change::Keep(()));
        };
        let after = counted(&before, exchange, told, known);
        if after == before {
            return Ok(Change::Keep(()));
        }
        rewrite(group, key, &after);
        Ok(Change::Write(()))
    })
}

/// A counter after the fleet's answer.
fn counted(before: &Counter, exchange: u64, told: &CounterTold, known: &CounterKnown) -> Counter {
    if known.epoch > before.epoch {
        // What was counted here belongs to an epoch that is over.
        return Counter {
            epoch: known.epoch,
            fleet: Slices::default(),
            pending: Slices::default(),
            told: Slices::default(),
            exchange: 0,
            ..before.clone()
        };
    }
    if before.epoch != told.epoch {
        return before.clone();
    }
    let mut after = before.clone();
    if after.exchange == exchange {
        after.told = Slices::default();
        after.exchange = 0;
    }
    if known.epoch == told.epoch && known.tallies.len() == told.since.len() {
        after.fleet = slices(&told.since, &known.tallies);
    }
    after
}

/// What was counted between each two moments, from what was counted since each.
fn slices(since: &[u64], tallies: &[Vec<(Name, u64)>]) -> Slices {
    let mut slices = Slices::default();
    for (at, (moment, tally)) in since.iter().zip(tallies).enumerate() {
        let later = at.checked_add(1).and_then(|next| tallies.get(next));
        for (name, sum) in tally {
            let after = later
                .into_iter()
                .flatten()
                .find(|(other, _)| other == name)
                .map_or(0, |(_, sum)| *sum);
            slices.add(*moment, *name, sum.saturating_sub(after));
        }
    }
    slices
}
