//! The store against a simple model of the contract.

use std::collections::BTreeMap;

use fusewire_core::{KeyValue, Lane, Tally, Window};
use proptest::prelude::*;

use super::{Bench, NOW, adding, count, reading};
use crate::store::fake::Trouble;

/// The contract, as simple as it can be written.
#[derive(Default)]
struct Model {
    values: BTreeMap<String, (Vec<u8>, u64)>,
    /// Epoch, amounts and expiry.
    counters: BTreeMap<String, (u64, Amounts, u64)>,
}

/// By bucket and lane.
type Amounts = BTreeMap<(u64, String), u64>;

impl Model {
    fn expire(&mut self, now: u64) {
        self.values
            .retain(|_, (_, expires)| *expires == 0 || *expires > now);
        self.counters.retain(|_, (_, _, expires)| *expires > now);
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, ()> {
        if self.counters.contains_key(key) {
            return Err(());
        }
        Ok(self.values.get(key).map(|(value, _)| value.clone()))
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        expires: u64,
    ) -> Result<bool, ()> {
        if self.get(key)?.as_deref() != expected {
            return Ok(false);
        }
        match replacement {
            Some(value) => drop(self.values.insert(key.into(), (value.into(), expires))),
            None => drop(self.values.remove(key)),
        }
        Ok(true)
    }

    fn count(&mut self, window: &Window, now: u64) -> Result<Tally, ()> {
        let adds = window.add.iter().any(|lane| lane.amount > 0);
        if self.values.contains_key(&window.key) || (adds && window.ttl_ms == 0) {
            return Err(());
        }
        let held = self.counters.get(&window.key).map(|(epoch, ..)| *epoch);
        if let Some(epoch) = held.filter(|epoch| *epoch > window.epoch) {
            return Ok(Tally {
                epoch,
                lanes: vec![],
            });
        }
        if !adds && held != Some(window.epoch) {
            return Ok(Tally::default());
        }
        if held != Some(window.epoch) {
            self.counters
                .insert(window.key.clone(), (window.epoch, BTreeMap::new(), 0));
        }
        let (_, amounts, expires) = self.counters.get_mut(&window.key).unwrap();
        if adds {
            for lane in &window.add {
                *amounts
                    .entry((window.bucket, lane.name.clone()))
                    .or_default() += lane.amount;
            }
            amounts.retain(|(bucket, _), _| *bucket >= window.since);
            *expires = now + window.ttl_ms;
        }
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for ((bucket, lane), amount) in amounts {
            if *bucket >= window.since {
                *sums.entry(lane.clone()).or_default() += *amount;
            }
        }
        let lanes = sums.into_iter().filter(|(_, sum)| *sum > 0);
        Ok(Tally {
            epoch: window.epoch,
            lanes: lanes.map(|(name, amount)| Lane { name, amount }).collect(),
        })
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Get(u8),
    Swap(u8, bool, Option<u8>, u64),
    Count(u8, u64, u64, u64, Vec<(u8, u64)>, u64),
}

fn steps() -> impl Strategy<Value = Vec<(Step, Vec<bool>)>> {
    let step = prop_oneof![
        (0..2_000_u64).prop_map(Step::Wait),
        (0..4_u8).prop_map(Step::Get),
        (0..4_u8, any::<bool>(), any::<Option<u8>>(), 0..3_000_u64)
            .prop_map(|(key, right, new, ttl)| Step::Swap(key, right, new, ttl)),
        (
            0..4_u8,
            0..3_u64,
            0..30_u64,
            0..30_u64,
            proptest::collection::vec((0..3_u8, 0..5_u64), 0..3),
            0..3_000_u64
        )
            .prop_map(|(key, epoch, bucket, since, add, ttl)| Step::Count(
                key, epoch, bucket, since, add, ttl
            )),
    ];
    proptest::collection::vec(
        (step, proptest::collection::vec(any::<bool>(), 0..3)),
        0..80,
    )
}

proptest! {
    #[test]
    fn it_does_what_the_contract_says_whoever_gets_ahead(steps in steps(), fleet: bool) {
        let bench = Bench::new(1_024, fleet);
        let mut model = Model::default();
        let mut now = NOW;
        let key = |k: u8| format!("fusewire:{}", ["a", "b", "c", "d"][usize::from(k)]);
        for (step, troubles) in steps {
            bench.data.trouble.replace(
                troubles.iter().map(|mismatch| if *mismatch { Trouble::Mismatch } else { Trouble::Nothing }).collect(),
            );
            model.expire(now);
            let mut store = bench.at(now);
            match step {
                Step::Wait(ms) => now += ms,
                Step::Get(k) => {
                    let got = store.get(&[key(k)]).map(|mut values| values.remove(0));
                    prop_assert_eq!(got.map_err(drop), model.get(&key(k)));
                }
                Step::Swap(k, right, new, ttl) => {
                    let held = model.get(&key(k)).ok().flatten();
                    let expected = if right { held } else { Some(vec![1, 2, 3]) };
                    let new = new.map(|byte| vec![byte]);
                    let expires = if ttl == 0 { 0 } else { now + ttl };
                    let got = store.swap(&key(k), expected.as_deref(), new.as_deref(), ttl);
                    let wanted = model.swap(&key(k), expected.as_deref(), new.as_deref(), expires);
                    prop_assert_eq!(got.map_err(drop), wanted);
                }
                Step::Count(k, epoch, bucket, since, add, ttl_ms) => {
                    let add = add.into_iter().map(|(lane, amount)| Lane {
                        name: ["success", "failure", "slow"][usize::from(lane)].into(), amount,
                    }).collect();
                    let window = Window { key: key(k), epoch, bucket, add, since, ttl_ms };
                    let wanted = model.count(&window, now);
                    prop_assert_eq!(count(&mut store, window).map_err(drop), wanted);
                }
            }
        }
        prop_assert_eq!(bench.notes.errors.get(), 0);
    }

    #[test]
    fn counts_that_wait_are_all_counted_in_the_end(
        outcomes in proptest::collection::vec((any::<bool>(), 0..15_u64, 0..3_u64), 1..200),
    ) {
        let bench = Bench::new(1_024, false);
        let (mut now, mut sums) = (NOW, BTreeMap::new());
        for (good, ms, key) in outcomes {
            now += ms;
            let key = format!("fusewire:w:{{{key}}}");
            let lane = if good { "success" } else { "failure" };
            let window = Window { since: 0, ..adding(&key, 1, now / 100, lane, 1) };
            *sums.entry((key, lane)).or_insert(0) += 1;
            let tally = count(&mut bench.worker(now, good), window).unwrap();
            prop_assert!(tally.amount(lane) >= 1);
        }
        bench.worker(now + 20, true).flush();
        for ((key, lane), sum) in sums {
            prop_assert_eq!(count(&mut bench.at(now + 20), reading(&key, 1)).unwrap().amount(lane), sum);
        }
    }
}
