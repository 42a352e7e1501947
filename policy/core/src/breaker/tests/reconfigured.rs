//! What a change of the configuration leaves as it is.

use super::fleet::{Fleet, at, opened};
use crate::breaker::{Event, EventKind};

const MINUTE: &str =
    r#"{"breaker": {"failures": {"count": 5, "window": "1m"}, "failure-ratio": false}}"#;
const TWO: &str =
    r#"{"breaker": {"failures": {"count": 5, "window": "2m"}, "failure-ratio": false}}"#;

fn reshaped(events: &[Event]) -> usize {
    let is_reshaped = |event: &&Event| event.kind == EventKind::Reshaped;
    events.iter().filter(is_reshaped).count()
}

#[test]
fn failures_counted_by_another_configuration_still_count_and_it_is_said_once() {
    let mut fleet = Fleet::new(MINUTE);
    for second in 0..3 {
        assert_eq!(fleet.call("p", 503, &at(second)), []);
    }
    fleet.configure(TWO);
    let first = fleet.call("p", 503, &at(10));
    assert_eq!(reshaped(&first), 1, "{first:?}");
    assert!(first[0].detail.contains("buckets of 12000 ms"), "{first:?}");
    let fifth = fleet.call("p", 503, &at(11));
    assert_eq!(reshaped(&fifth), 0, "it has been said: {fifth:?}");
    assert!(opened(&fifth), "what was counted before counts: {fifth:?}");
}

#[test]
fn a_change_back_is_said_again() {
    let mut fleet = Fleet::new(MINUTE);
    fleet.call("p", 503, &at(0));
    fleet.configure(TWO);
    assert_eq!(reshaped(&fleet.call("p", 503, &at(1))), 1);
    fleet.configure(MINUTE);
    assert_eq!(reshaped(&fleet.call("p", 503, &at(2))), 1);
    assert_eq!(reshaped(&fleet.call("p", 503, &at(3))), 0);
}

#[test]
fn failures_of_one_shape_are_nothing_to_talk_about() {
    let mut fleet = Fleet::new(MINUTE);
    for second in 0..4 {
        assert_eq!(fleet.call("p", 503, &at(second)), []);
    }
    assert_eq!(fleet.record("p"), serde_json::Value::Null);
    // Once the others have aged out, neither is this.
    fleet.configure(TWO);
    assert_eq!(fleet.call("p", 503, &at(600)), []);
}

#[test]
fn an_opening_outlives_every_change_of_its_rules() {
    let mut fleet = Fleet::new(MINUTE);
    for second in 0..5 {
        fleet.call("p", 503, &at(second));
    }
    let before = fleet.record("p");
    assert_eq!(before["phase"], "open");
    for config in [
        TWO,
        r#"{"breaker": {"failures": false, "failure-ratio": false, "slow-ratio": {}}}"#,
        r#"{"breaker": {"quorum": {"instances": 9}}, "slow": {"learnt": {}}}"#,
    ] {
        fleet.configure(config);
        let admission = fleet.admit(&super::fleet::target("p"), &at(6));
        assert!(
            matches!(admission.decision, crate::Decision::Refused(_)),
            "{config}"
        );
        assert_eq!(fleet.record("p"), before, "{config}");
    }
}
