//! The decision log: one JSON line a decision, the same bytes wherever the same policy is played.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

/// One decision with everything that it brought about.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    step: usize,
    turn: u64,
    now: u64,
    by: String,
    /// How many store operations the policy asked for.
    pub(super) operations: u64,
    /// What the policy said, by kind.
    said: Map<String, Value>,
    /// By domain: the record afterwards, as it is stored.
    pub(super) records: BTreeMap<String, Option<String>>,
}

impl Line {
    pub(super) fn new(step: usize, turn: u64, now: u64, by: &str) -> Self {
        Self {
            step,
            turn,
            now,
            by: by.to_owned(),
            operations: 0,
            said: Map::new(),
            records: BTreeMap::new(),
        }
    }

    pub(super) fn say(&mut self, what: &str, value: &impl Serialize) {
        // Decisions are strings and numbers: making a value of one cannot fail.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.said.insert(what.to_owned(), value);
    }

    pub(super) fn write(&self, log: &mut String) {
        log.push_str(&serde_json::to_string(self).unwrap_or_default());
        log.push('\n');
    }
}

/// The random bits of the `part`-th call of the policy within one turn of a step: different for
/// each, the same each time the scenario is played. SplitMix64.
pub(super) fn entropy(step: usize, turn: u64, part: u64) -> u64 {
    let place = (step as u64) << 32 | turn << 8 | part;
    let mut z = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
