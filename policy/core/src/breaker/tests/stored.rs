//! What is in the store, and for how long.

use super::fleet::{Fleet, at, target};
use crate::Decision;

#[test]
fn a_hold_lives_as_long_as_it_holds_and_is_gone_with_the_next_write() {
    let mut fleet = Fleet::new(r#"{"providers": {"llm": {"profile": "http"}}}"#);
    fleet.call("llm@team", 401, &at(0));
    let held = fleet.record("llm@team");
    assert_eq!(held["hold"]["until"], at(300).now_ms, "{held}");
    let lifetime = fleet.store.lifetimes["fusewire:s:{llm}@team"];
    assert!(lifetime >= 300_000, "{lifetime}");
    assert!(matches!(
        fleet.admit(&target("llm@team"), &at(299)).decision,
        Decision::Refused(_)
    ));
    fleet.call("llm@team", 401, &at(300));
    assert_eq!(fleet.record("llm@team")["hold"]["until"], at(600).now_ms);
}

#[test]
fn a_hold_that_nobody_can_have_written_holds_nobody_back() {
    let mut fleet = Fleet::new(r#"{"hints": {"max": "2h"}}"#);
    let mut is_held = |until: u64| {
        let text = format!(
            r#"{{"schema":1,"revision":1,"phase":"closed","hold":{{"until":{until},"why":"x"}}}}"#
        );
        let records = &mut fleet.store.records;
        records.insert("fusewire:s:{p}".into(), text.into());
        let admission = fleet.admit(&target("p"), &at(0));
        matches!(admission.decision, Decision::Refused(_))
    };
    assert!(is_held(at(2 * 3_600).now_ms));
    assert!(!is_held(at(2 * 3_600).now_ms + 1));
    assert!(!is_held(u64::MAX));
}

#[test]
fn what_an_instance_keeps_for_itself_has_a_name_of_its_own() {
    let mut fleet = Fleet::new(r#"{"breaker": {"quorum": {"instances": 2}}}"#);
    for second in 0..5 {
        fleet.call("p", 503, &at(second));
    }
    let own: Vec<&String> = fleet
        .store
        .records
        .keys()
        .filter(|key| key.starts_with("fusewire:local:s:{p}!"))
        .collect();
    assert_eq!(own.len(), 1, "{:?}", fleet.store.records.keys());
    assert_eq!(own[0].len(), "fusewire:local:s:{p}!".len() + 16);
    let mut other = at(6);
    other.instance = "b".into();
    assert!(matches!(
        fleet.admit(&target("p"), &other).decision,
        Decision::Allowed(_)
    ));
}
