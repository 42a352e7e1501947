//! The exchange's JSON.
//!
//! Values are bytes, in base64 (RFC 4648, section 4); `null` is an absent one. The host that
//! answers is `fusewire::gateway`, which documents the same from the other side.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::store::slices::Name;

/// What the fleet is told and asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question<'a> {
    /// This Envoy's id.
    pub instance: &'a str,
    /// What every key begins with, followed by a colon.
    pub prefix: &'a str,
    /// Values.
    pub records: Vec<Record>,
    /// Counters.
    pub counters: Vec<CounterTold>,
}

/// A value that is known to the fleet, or is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its key.
    pub key: String,
    /// What the fleet had when it was last asked.
    pub have: Option<String>,
    /// What it is to be replaced by, where it has changed here.
    pub swap: Option<Swap>,
}

/// A replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Swap {
    /// The new value.
    pub replacement: Option<String>,
    /// How long it lives; zero: it stays.
    pub ttl_ms: u64,
}

/// What was counted here, and since when the fleet's counts are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CounterTold {
    /// The counter's key.
    pub key: String,
    /// Whose counts these are.
    pub epoch: u64,
    /// How long the counter lives after this.
    pub ttl_ms: u64,
    /// The moments since which a tally is wanted, in ascending order.
    pub since: Vec<u64>,
    /// What is added.
    pub add: Vec<Slice>,
}

/// Amounts of one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// When the bucket begins.
    pub bucket: u64,
    /// Amounts by lane.
    pub lanes: BTreeMap<String, u64>,
}

/// What the fleet answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The present time on the fleet's clock.
    pub now_ms: u64,
    /// Values.
    pub records: Vec<RecordKnown>,
    /// Counters.
    pub counters: Vec<CounterKnown>,
}

/// What the fleet has under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKnown {
    /// The key.
    pub key: String,
    /// Whether the replacement took its place; `None`: there was none.
    pub swapped: Option<bool>,
    /// What the fleet has, where that is not what this Envoy takes it to have.
    pub value: Option<Option<Vec<u8>>>,
    /// Whether the fleet did nothing about this key.
    pub refused: bool,
}

/// What the fleet has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterKnown {
    /// The counter's key.
    pub key: String,
    /// Whose counts these are.
    pub epoch: u64,
    /// Sums by lane, one list for each moment asked for.
    pub tallies: Vec<Vec<(Name, u64)>>,
    /// Whether the fleet did nothing about this counter.
    pub refused: bool,
}

impl Answer {
    /// Reads an answer; `None` where it is none. One that makes no sense in part is none: whoever
    /// wrote that is no Fusewire host, so the rest is not to be believed either.
    #[must_use]
    pub fn read(json: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(json).ok()?;
        let list = |name: &str| document.get(name)?.as_array();
        Some(Self {
            now_ms: document.get("now-ms")?.as_u64()?,
            records: list("records")?
                .iter()
                .map(RecordKnown::read)
                .collect::<Option<_>>()?,
            counters: list("counters")?
                .iter()
                .map(CounterKnown::read)
                .collect::<Option<_>>()?,
        })
    }
}

impl RecordKnown {
    fn read(record: &Value) -> Option<Self> {
        let value = match record.get("value") {
            None => None,
            Some(Value::Null) => Some(None),
            Some(text) => Some(Some(decoded(text.as_str()?)?)),
        };
        Some(Self {
            key: record.get("key")?.as_str()?.to_owned(),
            swapped: record.get("swapped").and_then(Value::as_bool),
            value,
            refused: is_refused(record),
        })
    }
}

impl CounterKnown {
    fn read(counter: &Value) -> Option<Self> {
        let sums = |tally: &Value| {
            let lanes = tally.as_object().into_iter().flatten();
            let sum = |(name, sum): (&String, &Value)| Some((Name::new(name)?, sum.as_u64()?));
            lanes.filter_map(sum).collect()
        };
        let tallies = counter.get("tallies").and_then(Value::as_array);
        Some(Self {
            key: counter.get("key")?.as_str()?.to_owned(),
            epoch: counter.get("epoch")?.as_u64()?,
            tallies: tallies.into_iter().flatten().map(sums).collect(),
            refused: is_refused(counter),
        })
    }
}

fn is_refused(item: &Value) -> bool {
    item.get("refused").is_some_and(|why| !why.is_null())
}

/// Bytes as text.
#[must_use]
pub fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes from text; `None` where it is none.
#[must_use]
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_null_is_told_from_one_that_is_missing() {
        let read = |json: &str| {
            let json = format!(r#"{{"now-ms": 1, "records": [{json}], "counters": []}}"#);
            let records = Answer::read(json.as_bytes())?.records;
            records.into_iter().next().map(|record| record.value)
        };
        assert_eq!(read(r#"{"key": "k"}"#), Some(None));
        assert_eq!(read(r#"{"key": "k", "value": null}"#), Some(Some(None)));
        assert_eq!(
            read(r#"{"key": "k", "value": "eA=="}"#),
            Some(Some(Some(b"x".to_vec())))
        );
        assert_eq!(read(r#"{"key": "k", "value": "no base64"}"#), None);
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for json in [
            "",
            "[]",
            "{}",
            r#"{"now-ms": -1}"#,
            r#"{"now-ms": "1"}"#,
            "no json",
            r#"{"now-ms": 1}"#,
            r#"{"now-ms": 1, "records": []}"#,
            r#"{"now-ms": 1, "records": [], "counters": {}}"#,
            r#"{"now-ms": 1, "records": [{"key": "x"}, 7], "counters": []}"#,
            r#"{"now-ms": 1, "records": [], "counters": [{"key": "x"}]}"#,
        ] {
            assert_eq!(Answer::read(json.as_bytes()), None, "{json}");
        }
    }

    #[test]
    fn names_are_written_in_kebab_case() {
        let question = Question {
            instance: "envoy-1",
            prefix: "fusewire",
            records: vec![Record {
                key: "fusewire:s:{p}".into(),
                have: None,
                swap: Some(Swap {
                    replacement: Some(encoded(b"x")),
                    ttl_ms: 5,
                }),
            }],
            counters: vec![CounterTold {
                key: "fusewire:w:{p}".into(),
                epoch: 1,
                ttl_ms: 60_000,
                since: vec![1, 2],
                add: vec![Slice {
                    bucket: 2,
                    lanes: BTreeMap::from([("failure".into(), 2)]),
                }],
            }],
        };
        let expected = serde_json::json!({
            "instance": "envoy-1", "prefix": "fusewire",
            "records": [{"key": "fusewire:s:{p}", "have": null, "swap": {"replacement": "eA==", "ttl-ms": 5}}],
            "counters": [{"key": "fusewire:w:{p}", "epoch": 1, "ttl-ms": 60_000, "since": [1, 2],
                          "add": [{"bucket": 2, "lanes": {"failure": 2}}]}],
        });
        assert_eq!(serde_json::to_value(question).unwrap(), expected);
    }
}
