//! Records of a newer schema than the one known here.
//!
//! During a roll-out two versions share a fleet, and after a rollback the older one finds what the
//! newer one has written. Every schema keeps four fields, by their names and meanings, so that an
//! older policy can stand back:
//!
//! | field | what it says |
//! |---|---|
//! | `phase` | as in this schema |
//! | `epoch` | as in this schema: calls of both versions count in one counter |
//! | `until` | until when only those may call who know the schema: where it is open, to the end of the cool-down; where it is half-open, to the end of the lease, or zero where nobody holds it |
//! | `override` | as in this schema: an operator's order is for every version |
//!
//! The rest is unknown, and what is missing or has another form is taken in the safest way. Such a
//! record is left alone for as long as somebody who knows it may go on with it. Where nobody has
//! for a while after `until`, it is what a rollback has left behind: it is replaced by whoever
//! probes first, or a provider that was open at the rollback would be refused until its record
//! expires, long after it has recovered.

use serde_json::{Map, Value};

use super::{Record, is_epoch, longest_opening, number, order, small, text};
use crate::breaker::{OverrideOrder, Phase};
use crate::config::Settings;

/// How long a record that is not closed is refused on, in ms, where it does not say until when, or
/// that is over.
const WAIT_MS: u64 = 1_000;

/// How long after `until` a record counts as left behind, in ms: a policy that knows it and has
/// any traffic has taken the probe by then.
const LEFT_BEHIND_MS: u64 = 60_000;

/// What is understood of a newer record.
#[derive(Debug)]
pub(crate) struct Newer {
    pub(crate) closed: bool,
    pub(crate) epoch: u64,
    /// Where it is not closed: until when to refuse, in ms. Later than now.
    pub(crate) until: u64,
    pub(crate) order: Option<OverrideOrder>,
    /// Where it was left behind: what is kept of it by whoever probes.
    pub(crate) left_behind: Option<Record>,
}

impl Newer {
    pub(super) fn read(fields: &Map<String, Value>, settings: &Settings, now: u64) -> Self {
        let phase = text(fields, "phase").and_then(Phase::from_name);
        let until = fields.get("until").and_then(Value::as_u64);
        let epoch = Some(number(fields, "epoch")).filter(|epoch| is_epoch(*epoch, now));
        let epoch = epoch.unwrap_or(0);
        let given = fields.get("override").filter(|order| !order.is_null());
        let order = given.and_then(Value::as_object).and_then(order);
        let is_over = |until: u64| until == 0 || until.saturating_add(LEFT_BEHIND_MS) <= now;
        let left_behind = match (phase, until) {
            // An order that cannot be read may be one to refuse.
            (Some(phase @ (Phase::Open | Phase::HalfOpen)), Some(until))
                if is_over(until) && given.is_some() == order.is_some() =>
            {
                Some(Record {
                    revision: number(fields, "revision"),
                    phase,
                    epoch,
                    openings: small(fields, "openings"),
                    order: order.clone(),
                    ..Record::fresh()
                })
            }
            _ => None,
        };
        Self {
            closed: phase == Some(Phase::Closed),
            epoch,
            until: match until {
                Some(until) if until > now => until.min(longest_opening(settings, now)),
                _ => now.saturating_add(WAIT_MS),
            },
            order,
            left_behind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, now: u64) -> Newer {
        let fields: Map<String, Value> = serde_json::from_str(text).unwrap();
        Newer::read(&fields, &Settings::default(), now)
    }

    #[test]
    fn a_record_of_a_newer_schema_is_read_in_the_safest_way() {
        let open = read(
            r#"{"schema":2,"phase":"open","until":9000,"epoch":"new form"}"#,
            5_000,
        );
        assert_eq!((open.closed, open.until), (false, 9_000));
        let melted = read(r#"{"schema":9,"phase":{"kind":"melted"}}"#, 5_000);
        assert_eq!((melted.closed, melted.until), (false, 6_000));
        assert!(read(r#"{"schema":2,"phase":"closed"}"#, 5_000).closed);
    }

    #[test]
    fn a_record_is_left_behind_only_where_it_is_known_that_its_time_is_over() {
        let left_behind = |text: &str, now| read(text, now).left_behind.is_some();
        let open = r#"{"schema":2,"phase":"open","until":9000}"#;
        assert!(!left_behind(open, 68_999));
        assert!(left_behind(open, 69_000));
        assert!(left_behind(
            r#"{"schema":2,"phase":"half-open","until":0}"#,
            1
        ));
        for unknown in [
            r#"{"schema":2,"phase":"half-open"}"#,
            r#"{"schema":2,"phase":"half-open","until":"soon"}"#,
            r#"{"schema":2,"phase":"melted","until":9000}"#,
            r#"{"schema":2,"phase":"open","until":9000,"override":{"mode":"new"}}"#,
            r#"{"schema":2,"phase":"open","until":9000,"override":"new form"}"#,
            r#"{"schema":2,"phase":"closed","until":9000}"#,
        ] {
            assert!(!left_behind(unknown, 1_000_000_000), "{unknown}");
        }
    }

    #[test]
    fn whoever_probes_what_was_left_behind_goes_on_with_its_openings_and_its_order() {
        let text = r#"{"schema":2,"revision":7,"phase":"open","epoch":4,"until":9000,"openings":3,
            "override":{"mode":"observe","who":"on-call","why":"a drill","until":0}}"#;
        let kept = read(text, 100_000).left_behind.unwrap();
        assert_eq!((kept.revision, kept.phase, kept.epoch), (7, Phase::Open, 4));
        assert_eq!(kept.openings, 3);
        assert_eq!(kept.order.unwrap().who, "on-call");
    }

    #[test]
    fn one_that_is_over_now_is_refused_on_for_a_moment() {
        let open = r#"{"schema":2,"phase":"open","until":5000}"#;
        assert_eq!(read(open, 4_999).until, 5_000);
        assert_eq!(read(open, 5_000).until, 6_000);
    }

    #[test]
    fn an_epoch_that_no_close_can_have_given_yet_is_not_believed() {
        let text = r#"{"schema":2,"phase":"closed","epoch":9999999999}"#;
        assert_eq!(read(text, 1_000).epoch, 0);
    }
}
