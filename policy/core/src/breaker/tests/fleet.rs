//! Instances that share a store in memory.

use std::collections::HashMap;

use serde_json::Value;

use crate::breaker::{
    Admission, Context, Decision, Ending, Event, EventKind, Permit, Phase, Timing,
};
use crate::observation::{Observation, Response};
use crate::policy::Policy;
use crate::store::{KeyValue, Lane, StoreError, Tally, Window};
use crate::target::{Domain, Target};

type Buckets = HashMap<(u64, String), u64>;

/// A store that answers at once, and can be taken away.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) records: HashMap<String, Vec<u8>>,
    counters: HashMap<String, (u64, Buckets)>,
    pub(super) down: bool,
    /// Every lifetime that was asked for, by key.
    pub(super) lifetimes: HashMap<String, u64>,
}

impl Memory {
    fn reach(&self, key: &str) -> Result<(), StoreError> {
        let is_own = key.starts_with("fusewire:local:");
        if self.down && !is_own {
            return Err(StoreError::Unavailable);
        }
        Ok(())
    }
}

impl KeyValue for Memory {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        keys.iter().try_for_each(|key| self.reach(key))?;
        Ok(keys
            .iter()
            .map(|key| self.records.get(key).cloned())
            .collect())
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        self.reach(key)?;
        if self.records.get(key).map(Vec::as_slice) != expected {
            return Ok(false);
        }
        self.lifetimes.insert(key.into(), ttl_ms);
        match replacement {
            Some(bytes) => self.records.insert(key.into(), bytes.into()),
            None => self.records.remove(key),
        };
        Ok(true)
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        windows.iter().try_for_each(|w| self.reach(&w.key))?;
        let counted = windows.into_iter().map(|window| {
            let (owner, buckets) = self.counters.entry(window.key).or_default();
            if *owner > window.epoch {
                return Tally {
                    epoch: *owner,
                    lanes: vec![],
                };
            }
            if !window.add.is_empty() {
                if *owner < window.epoch {
                    buckets.clear();
                    *owner = window.epoch;
                }
                for lane in window.add {
                    *buckets.entry((window.bucket, lane.name)).or_default() += lane.amount;
                }
                buckets.retain(|(bucket, _), _| *bucket >= window.since);
            }
            let mut sums: HashMap<&str, u64> = HashMap::new();
            for ((bucket, lane), amount) in &*buckets {
                if *bucket >= window.since {
                    *sums.entry(lane).or_default() += amount;
                }
            }
            let lane = |(name, amount): (&str, u64)| Lane {
                name: name.into(),
                amount,
            };
            Tally {
                epoch: *owner,
                lanes: sums.into_iter().map(lane).collect(),
            }
        });
        Ok(counted.collect())
    }
}

/// A policy and the store of its fleet.
pub(super) struct Fleet {
    pub(super) policy: Policy,
    pub(super) store: Memory,
}

impl Fleet {
    pub(super) fn new(config: &str) -> Self {
        let mut fleet = Self {
            policy: Policy::default(),
            store: Memory::default(),
        };
        fleet.configure(config);
        fleet
    }

    pub(super) fn configure(&mut self, config: &str) {
        assert_eq!(self.policy.configure(config), []);
    }

    pub(super) fn admit(&mut self, target: &Target, context: &Context) -> Admission {
        self.policy.admit(&mut self.store, target, context).unwrap()
    }

    pub(super) fn settle(&mut self, permit: &Permit, status: u16, context: &Context) -> Vec<Event> {
        let seen = Observation::response(Response::status(status), context.now_ms);
        let ending = Ending::Judged(self.policy.classify(&permit.target, &seen));
        let timing = Timing::default();
        self.policy
            .settle(&mut self.store, permit, &ending, &timing, context)
            .unwrap()
    }

    /// A call that must be admitted, and what happens when it ends so.
    pub(super) fn call(&mut self, domain: &str, status: u16, context: &Context) -> Vec<Event> {
        let target = target(domain);
        let Decision::Allowed(permit) = self.admit(&target, context).decision else {
            panic!("refused");
        };
        self.settle(&permit, status, context)
    }

    pub(super) fn record(&self, domain: &str) -> Value {
        let key = Domain::parse(domain).unwrap().record_key("fusewire");
        let bytes = self.store.records.get(&key);
        bytes.map_or(Value::Null, |bytes| serde_json::from_slice(bytes).unwrap())
    }
}

pub(super) fn target(domain: &str) -> Target {
    let (provider, account) = match domain.split_once('@') {
        Some((provider, account)) => (provider, Some(account)),
        None => (domain, None),
    };
    Target {
        provider: provider.into(),
        account: account.map(str::to_owned),
        operation: None,
    }
}

pub(super) fn at(seconds: u64) -> Context {
    Context {
        instance: "a".into(),
        ..Context::at(1_800_000_000_000 + seconds * 1_000, 7)
    }
}

pub(super) fn opened(events: &[Event]) -> bool {
    events.iter().any(
        |event| matches!(&event.kind, EventKind::Transition(change) if change.after == Phase::Open),
    )
}
