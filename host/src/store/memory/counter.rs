//! A windowed counter: amounts by bucket and lane.

use std::collections::BTreeMap;

use crate::store::{AMOUNT_MAX, Lane, Tally, Window};

pub(super) struct Counter {
    pub(super) epoch: u64,
    /// Buckets in order of time; few lanes each, so a list.
    buckets: BTreeMap<u64, Vec<Lane>>,
}

impl Counter {
    pub(super) fn of(epoch: u64) -> Self {
        Self {
            epoch,
            buckets: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, window: &Window) {
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

    pub(super) fn tally(&self, since: u64) -> Tally {
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
        None => {
            // Most lists stay as short as they begin.
            lanes.reserve_exact(1);
            lanes.push(Lane {
                name: name.to_owned(),
                amount: amount.min(AMOUNT_MAX),
            });
        }
    }
}
