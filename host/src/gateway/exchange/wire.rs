//! The object and the answer, as JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::store::confine;

/// The most records, and the most counters, in one exchange.
const ITEMS_MAX: usize = 1024;
/// The most times that one counter is looked at from, and the most buckets that it is added to:
/// some more than the buckets of a window.
const PARTS_MAX: usize = 64;

/// What a runtime tells and asks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    /// Who it is, for the log.
    pub(super) instance: String,
    prefix: String,
    pub(super) records: Vec<Record>,
    pub(super) counters: Vec<Counter>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) key: String,
    pub(super) have: Option<Bytes>,
    #[serde(default)]
    pub(super) swap: Option<Swap>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Swap {
    pub(super) replacement: Option<Bytes>,
    pub(super) ttl_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Counter {
    pub(super) key: String,
    pub(super) epoch: u64,
    pub(super) ttl_ms: u64,
    pub(super) since: Vec<u64>,
    #[serde(default)]
    pub(super) add: Vec<Add>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    pub(super) bucket: u64,
    pub(super) lanes: BTreeMap<String, u64>,
}

impl Exchange {
    /// Reads an exchange over keys that begin with this prefix. The error says what is wrong, and
    /// where.
    pub(super) fn read(body: &[u8], prefix: &str) -> Result<Self, String> {
        let exchange: Self = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if exchange.prefix != prefix {
            return Err(format!(
                "prefix: this host's fleet has {prefix:?}, and the request {:?}; configure the same \
                 on both",
                exchange.prefix
            ));
        }
        exchange.check()?;
        Ok(exchange)
    }

    fn check(&self) -> Result<(), String> {
        at_most("records", self.records.len(), ITEMS_MAX)?;
        at_most("counters", self.counters.len(), ITEMS_MAX)?;
        for (at, record) in self.records.iter().enumerate() {
            let place = format!("records[{at}]");
            let new = record.swap.as_ref().and_then(|s| s.replacement.as_ref());
            confine::key(&self.prefix, &record.key)
                .and_then(|()| confine::value(new.map(|bytes| &*bytes.0)))
                .map_err(|error| format!("{place}: {error}"))?;
        }
        for (at, counter) in self.counters.iter().enumerate() {
            let place = format!("counters[{at}]");
            confine::key(&self.prefix, &counter.key)
                .map_err(|error| format!("{place}: {error}"))?;
            at_most(&format!("{place}.since"), counter.since.len(), PARTS_MAX)?;
            at_most(&format!("{place}.add"), counter.add.len(), PARTS_MAX)?;
            for name in counter.add.iter().flat_map(|add| add.lanes.keys()) {
                confine::lane(name).map_err(|error| format!("{place}.add: {error}"))?;
            }
            if !counter.since.is_sorted() {
                return Err(format!("{place}.since: the times are not ascending"));
            }
        }
        Ok(())
    }
}

fn at_most(place: &str, found: usize, allowed: usize) -> Result<(), String> {
    if found <= allowed {
        return Ok(());
    }
    Err(format!(
        "{place}: there are {found}, and may be {allowed} in one exchange"
    ))
}

/// What the fleet has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Answer {
    pub(super) now_ms: u64,
    pub(super) records: Vec<RecordAnswer>,
    pub(super) counters: Vec<CounterAnswer>,
}

impl Answer {
    pub(super) fn to_json(&self) -> String {
        // Texts, numbers and lists: nothing that JSON cannot have.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct RecordAnswer {
    pub(super) key: String,
    /// `None`: no swap was asked for.
    pub(super) swapped: Option<bool>,
    /// `None`: it is the one that the runtime has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Option<Bytes>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct CounterAnswer {
    pub(super) key: String,
    pub(super) epoch: u64,
    pub(super) tallies: Vec<BTreeMap<String, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
}

/// Any bytes, as standard base64 in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64_STANDARD.decode(text);
        bytes.map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}
