//! Until when what a record says must not be forgotten.

use serde_json::{Map, Value};

/// How long a domain that has closed is no idle one, in ms: it ramps, and calls that were admitted
/// before it opened still come back. Longer than a ramp, shorter than anybody's quiet time.
const JUST_CLOSED_MS: u64 = 60_000;

/// Until when a domain with this record must not be forgotten, in ms; zero: it may be now.
/// `u64::MAX`: for as long as the record is there, which has a lifetime of its own.
///
/// That is so where it is open or half-open, held, under an order, or closed a moment ago. A record
/// that cannot be read may say any of that, so it is not forgotten before its time either.
pub(crate) fn kept_until(record: &[u8], now: u64) -> u64 {
    let Ok(Value::Object(fields)) = serde_json::from_slice(record) else {
        return u64::MAX;
    };
    if fields.get("phase").and_then(Value::as_str) != Some("closed") {
        return u64::MAX;
    }
    // A hold without an end is none that can be read; an order without one is in force until it is
    // cleared, and so is one that says zero.
    let hold = end(&fields, "hold");
    let order = match end(&fields, "override") {
        Some(0) => Some(u64::MAX),
        order => order,
    };
    let closed = match fields.get("epoch").and_then(Value::as_u64) {
        None | Some(0) => 0,
        Some(at) => at.min(now).saturating_add(JUST_CLOSED_MS),
    };
    let until = closed.max(hold.unwrap_or(0)).max(order.unwrap_or(0));
    if until <= now { 0 } else { until }
}

/// When something of this record ends; none where it is not there.
fn end(fields: &Map<String, Value>, name: &str) -> Option<u64> {
    let part = fields.get(name).filter(|part| !part.is_null())?;
    let until = part.get("until").and_then(Value::as_u64);
    Some(until.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::kept_until;

    const NOW: u64 = 1_000_000;

    #[test]
    fn what_is_open_or_cannot_be_read_is_kept_for_as_long_as_it_is_there() {
        for record in [
            r#"{"schema":1,"phase":"open","until":5}"#,
            r#"{"schema":1,"phase":"half-open"}"#,
            r#"{"schema":9,"phase":"melted"}"#,
            r#"{"schema":1}"#,
            r#"["closed"]"#,
            "closed",
            "",
        ] {
            assert_eq!(kept_until(record.as_bytes(), NOW), u64::MAX, "{record}");
        }
    }

    #[test]
    fn what_is_closed_is_kept_for_its_hold_its_order_and_a_while_after_it_closed() {
        for (record, until) in [
            (r#"{"phase":"closed"}"#, 0),
            (r#"{"phase":"closed","epoch":0}"#, 0),
            (r#"{"phase":"closed","epoch":999000}"#, 1_059_000),
            (r#"{"phase":"closed","epoch":940000}"#, 0),
            // By a clock that is ahead.
            (r#"{"phase":"closed","epoch":9000000}"#, 1_060_000),
            (r#"{"phase":"closed","hold":{"until":1000001}}"#, 1_000_001),
            (r#"{"phase":"closed","hold":{"until":1000000}}"#, 0),
            (r#"{"phase":"closed","hold":{"why":"?"}}"#, u64::MAX),
            (r#"{"phase":"closed","override":{"until":0}}"#, u64::MAX),
            (r#"{"phase":"closed","override":"new form"}"#, u64::MAX),
            (
                r#"{"phase":"closed","override":{"until":1000007}}"#,
                1_000_007,
            ),
            (r#"{"phase":"closed","override":null,"hold":null}"#, 0),
        ] {
            assert_eq!(kept_until(record.as_bytes(), NOW), until, "{record}");
        }
    }
}
