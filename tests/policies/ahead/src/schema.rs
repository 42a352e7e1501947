//! A record of the core's schema as one of schema 2, and back.
//!
//! Schema 2 keeps what every schema keeps, so that an older policy can stand back: `phase`,
//! `epoch`, `until` and `override`. All else is somewhere else or new: the openings and their rule
//! are in `trips`, the lease is in `probes`, where its end is also the record's `until`, and
//! `wrote` is new.

use serde_json::{Map, Value, json};

/// The schema that is written.
pub const SCHEMA: u32 = 2;

/// The core's schema.
const OLD: u32 = 1;

/// A record of the core's as it is stored; what is no record stays as it is.
#[must_use]
pub fn to_stored(bytes: &[u8]) -> Vec<u8> {
    let Some(old) = record(bytes, OLD) else {
        return bytes.to_vec();
    };
    let lease = part(&old, "lease");
    let until = if old.get("phase") == Some(&json!("half-open")) {
        number(&lease, "expires")
    } else {
        number(&old, "until")
    };
    let mut new = kept(&old);
    new.insert("schema".into(), SCHEMA.into());
    new.insert("until".into(), until.into());
    new.insert(
        "trips".into(),
        json!({"in-a-row": number(&old, "openings"), "rule": old.get("rule")}),
    );
    new.insert(
        "probes".into(),
        json!({
            "passed": number(&old, "passed"),
            "token": lease.get("token"),
            "holder": lease.get("owner"),
            "ends": number(&lease, "expires"),
        }),
    );
    new.insert("forgotten-at".into(), number(&old, "expires").into());
    new.insert("wrote".into(), "a policy with schema 2".into());
    Value::Object(new).to_string().into_bytes()
}

/// A stored record as the core knows it; what is not of schema 2 stays as it is.
#[must_use]
pub fn from_stored(bytes: &[u8]) -> Vec<u8> {
    let Some(new) = record(bytes, SCHEMA) else {
        return bytes.to_vec();
    };
    let (trips, probes) = (part(&new, "trips"), part(&new, "probes"));
    let mut old = kept(&new);
    old.insert("schema".into(), OLD.into());
    old.insert("until".into(), number(&new, "until").into());
    old.insert("openings".into(), number(&trips, "in-a-row").into());
    old.insert(
        "rule".into(),
        trips.get("rule").cloned().unwrap_or_default(),
    );
    old.insert("passed".into(), number(&probes, "passed").into());
    if let Some(Value::String(token)) = probes.get("token") {
        old.insert(
            "lease".into(),
            json!({
                "token": token,
                "owner": probes.get("holder"),
                "expires": number(&probes, "ends"),
            }),
        );
    }
    old.insert("expires".into(), number(&new, "forgotten-at").into());
    Value::Object(old).to_string().into_bytes()
}

/// What has the same name in both.
fn kept(from: &Map<String, Value>) -> Map<String, Value> {
    ["revision", "phase", "epoch", "hold", "override"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), from.get(name)?.clone())))
        .collect()
}

fn record(bytes: &[u8], schema: u32) -> Option<Map<String, Value>> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) if fields.get("schema") == Some(&schema.into()) => Some(fields),
        _ => None,
    }
}

fn part(of: &Map<String, Value>, name: &str) -> Map<String, Value> {
    match of.get(name) {
        Some(Value::Object(part)) => part.clone(),
        _ => Map::new(),
    }
}

fn number(of: &Map<String, Value>, name: &str) -> u64 {
    of.get(name).and_then(Value::as_u64).unwrap_or(0)
}
