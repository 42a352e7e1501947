//! Several Envoys and a fleet, in one process.
//!
//! | module | subject |
//! |---|---|
//! | `records` | values that are changed here and there |
//! | `counts` | what is counted here and there |
//! | `workers` | the workers of one Envoy |

mod counts;
mod records;
mod workers;

use std::collections::BTreeMap;

use fusewire_core::{KeyValue, Lane, Tally, Window};
use serde_json::{Value, json};

use super::ask::{Asked, collect};
use super::learn::learn;
use super::message::{Answer, Question, decoded, encoded};
use crate::store::change::Groups;
use crate::store::fake::Fake;
use crate::store::{Notes, Scope, SharedStore};

pub(super) const NOW: u64 = 1_767_225_600_000;

/// The fleet's store, which answers as `fusewire::gateway` does.
pub(super) struct Fleet {
    data: Fake,
    notes: Notes,
    scope: Scope,
}

impl Fleet {
    pub(super) fn new() -> Self {
        Self {
            data: Fake::default(),
            notes: Notes::default(),
            scope: Scope::any(16_384),
        }
    }

    pub(super) fn store(&self, now_ms: u64) -> SharedStore<'_, Fake> {
        SharedStore::new(&self.data, &self.notes, &self.scope, now_ms)
    }

    pub(super) fn value(&self, key: &str, now_ms: u64) -> Option<Vec<u8>> {
        self.store(now_ms).get(&[key.into()]).unwrap().remove(0)
    }

    pub(super) fn answer(&self, question: &Value, now_ms: u64) -> Value {
        let bytes = |value: &Value| value.as_str().map(|text| decoded(text).unwrap());
        let list = |name: &str| question[name].as_array().unwrap().clone();
        let records: Vec<Value> = list("records")
            .iter()
            .map(|record| {
                let (key, have) = (record["key"].as_str().unwrap(), bytes(&record["have"]));
                let swap = record["swap"].as_object();
                let swapped = swap.map(|swap| {
                    let (new, ttl) = (
                        bytes(&swap["replacement"]),
                        swap["ttl-ms"].as_u64().unwrap(),
                    );
                    self.store(now_ms)
                        .swap(key, have.as_deref(), new.as_deref(), ttl)
                        .unwrap()
                });
                let has = match (swapped, swap) {
                    (Some(true), Some(swap)) => bytes(&swap["replacement"]),
                    _ => have,
                };
                let value = self.value(key, now_ms);
                let mut answer = json!({"key": key, "swapped": swapped});
                if value != has {
                    answer["value"] = json!(value.as_deref().map(encoded));
                }
                answer
            })
            .collect();
        let counters: Vec<Value> = list("counters")
            .iter()
            .map(|told| self.counted(told, now_ms))
            .collect();
        json!({"now-ms": now_ms, "records": records, "counters": counters})
    }

    pub(super) fn counted(&self, told: &Value, now_ms: u64) -> Value {
        let window = |bucket, since, add| Window {
            key: told["key"].as_str().unwrap().into(),
            epoch: told["epoch"].as_u64().unwrap(),
            bucket,
            add,
            since,
            ttl_ms: told["ttl-ms"].as_u64().unwrap(),
        };
        let since: Vec<u64> = told["since"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect();
        let mut epoch = told["epoch"].as_u64().unwrap();
        for add in told["add"].as_array().unwrap() {
            let lanes = add["lanes"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, amount)| Lane {
                    name: name.clone(),
                    amount: amount.as_u64().unwrap(),
                });
            let window = window(add["bucket"].as_u64().unwrap(), since[0], lanes.collect());
            epoch = epoch.max(self.store(now_ms).count(vec![window]).unwrap()[0].epoch);
        }
        let tallies = since.iter().map(|at| {
            let tally = self
                .store(now_ms)
                .count(vec![window(*at, *at, vec![])])
                .unwrap()
                .remove(0);
            epoch = epoch.max(tally.epoch);
            tally
                .lanes
                .into_iter()
                .map(|lane| (lane.name, lane.amount))
                .collect::<BTreeMap<_, _>>()
        });
        let tallies: Vec<_> = tallies.collect();
        json!({"key": told["key"], "epoch": epoch, "tallies": tallies})
    }
}

/// One Envoy's shared data.
pub(super) struct Envoy {
    data: Fake,
    notes: Notes,
    scope: Scope,
}

impl Envoy {
    pub(super) fn new() -> Self {
        Self {
            data: Fake::default(),
            notes: Notes::default(),
            scope: Scope::new("fusewire", 1_024, true),
        }
    }

    pub(super) fn store(&self, now_ms: u64) -> SharedStore<'_, Fake> {
        SharedStore::new(&self.data, &self.notes, &self.scope, now_ms)
    }

    pub(super) fn value(&self, key: &str, now_ms: u64) -> Option<Vec<u8>> {
        self.store(now_ms).get(&[key.into()]).unwrap().remove(0)
    }

    pub(super) fn swap(&self, key: &str, expected: Option<&[u8]>, new: &[u8], now_ms: u64) {
        let swapped = self.store(now_ms).swap(key, expected, Some(new), 60_000);
        assert_eq!(swapped, Ok(true), "{key}");
    }

    pub(super) fn count(&self, epoch: u64, lane: &str, amount: u64, now_ms: u64) -> Tally {
        let bucket = now_ms - now_ms % 6_000;
        let add = vec![Lane {
            name: lane.into(),
            amount,
        }];
        let window = Window {
            key: "fusewire:w:{p}".into(),
            epoch,
            bucket,
            add,
            since: now_ms - 60_000,
            ttl_ms: 60_000,
        };
        self.store(now_ms).count(vec![window]).unwrap().remove(0)
    }

    pub(super) fn groups(&self, now_ms: u64) -> Groups<'_, Fake> {
        Groups::new(&self.data, &self.notes, &self.scope, now_ms)
    }

    pub(super) fn ask(&self, exchange: u64, from: usize, now_ms: u64) -> (Asked, Value) {
        let asked = collect(&self.groups(now_ms), &self.scope, exchange, from);
        let question = Question {
            instance: "envoy",
            prefix: "fusewire",
            records: asked.records.iter().map(|record| record.told()).collect(),
            counters: asked.counters.clone(),
        };
        let json = serde_json::to_value(question).unwrap();
        (asked, json)
    }

    pub(super) fn learn(&self, asked: &Asked, answer: &Value, now_ms: u64) -> u64 {
        let answer = Answer::read(answer.to_string().as_bytes()).unwrap();
        learn(&self.groups(now_ms), asked, &answer).1
    }

    pub(super) fn exchange(&self, fleet: &Fleet, now_ms: u64) {
        let (asked, question) = self.ask(now_ms | 1, 0, now_ms);
        self.learn(&asked, &fleet.answer(&question, now_ms), now_ms);
    }
}

pub(super) const KEY: &str = "fusewire:s:{p}";
