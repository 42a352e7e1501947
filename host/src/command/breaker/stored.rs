//! What of a domain's record the contract has no place for.
//!
//! The record is the policy's own. What can be read of it is shown, what is missing or has another
//! form is left out, and nothing is concluded from it but what it says.

use serde::Serialize;
use serde_json::Value;

/// An account that waits, apart from health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Hold {
    pub(super) until_ms: u64,
    pub(super) why: String,
}

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    /// The rule that tripped it.
    pub(super) rule: Option<String>,
    /// How many times it opened again before the quiet time was over.
    pub(super) flaps: u64,
    /// One that is not over.
    pub(super) hold: Option<Hold>,
    /// The healthy p99 that was learnt, in ms.
    pub(super) p99_ms: Option<u64>,
}

impl Stored {
    /// Reads a record. One whose time is over says nothing.
    pub(super) fn read(record: &str, now_ms: u64) -> Self {
        let Ok(record) = serde_json::from_str::<Value>(record) else {
            return Self::default();
        };
        let number = |at: &str| record.pointer(at).and_then(Value::as_u64);
        let text = |at: &str| {
            let text = record.pointer(at).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        if number("/expires").is_some_and(|expires| expires != 0 && expires <= now_ms) {
            return Self::default();
        }
        let hold = number("/hold/until").filter(|until| *until > now_ms);
        Self {
            rule: text("/rule"),
            flaps: number("/flaps").unwrap_or_default(),
            hold: hold.map(|until_ms| Hold {
                until_ms,
                why: text("/hold/why").unwrap_or_default(),
            }),
            p99_ms: number("/pace/p99"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_is_read_and_what_it_does_not_say_is_left_out() {
        let record = r#"{"rule":"failures","flaps":3,"hold":{"until":900,"why":"throttled"},
                         "pace":{"p99":120,"at":1},"expires":0}"#;
        let stored = Stored::read(record, 500);
        assert_eq!(stored.rule.as_deref(), Some("failures"));
        assert_eq!((stored.flaps, stored.p99_ms), (3, Some(120)));
        let hold = stored.hold.expect("it waits");
        assert_eq!((hold.until_ms, hold.why.as_str()), (900, "throttled"));
        assert_eq!(Stored::read(record, 900).hold, None, "it is over");
    }

    #[test]
    fn a_record_in_another_form_or_out_of_time_says_nothing() {
        for record in [
            "",
            "[]",
            "null",
            r#"{"rule":7,"flaps":"many","hold":"yes","pace":[1]}"#,
            r#"{"rule":"","hold":{"why":"no end"}}"#,
            r#"{"rule":"failures","flaps":3,"expires":500}"#,
        ] {
            assert_eq!(Stored::read(record, 500), Stored::default(), "{record}");
        }
    }
}
