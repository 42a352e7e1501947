//! Values that are changed here and there.

use fusewire_core::KeyValue;
use proptest::prelude::*;
use serde_json::json;

use super::{Envoy, Fleet, KEY, NOW};
use crate::fleet::learn::LEARNED_MS;
use crate::fleet::message::encoded;

#[test]
fn what_one_envoy_decides_the_other_knows_after_an_exchange_of_each() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    assert_eq!(b.value(KEY, NOW), None);
    a.swap(KEY, None, b"open", NOW);
    a.exchange(&fleet, NOW);
    b.exchange(&fleet, NOW);
    assert_eq!(b.value(KEY, NOW), Some(b"open".to_vec()));
    b.swap(KEY, Some(b"open"), b"half-open", NOW + 1);
    b.exchange(&fleet, NOW + 1);
    a.exchange(&fleet, NOW + 1);
    assert_eq!(a.value(KEY, NOW + 1), Some(b"half-open".to_vec()));
}

#[test]
fn where_two_envoys_change_the_same_record_the_fleet_has_the_first() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    a.swap(KEY, None, b"lease of a", NOW);
    b.swap(KEY, None, b"lease of b", NOW);
    a.exchange(&fleet, NOW);
    b.exchange(&fleet, NOW);
    for envoy in [&a, &b] {
        assert_eq!(envoy.value(KEY, NOW), Some(b"lease of a".to_vec()));
    }
}

#[test]
fn what_changes_while_the_answer_is_under_way_is_proposed_the_next_time() {
    let (fleet, a) = (Fleet::new(), Envoy::new());
    a.swap(KEY, None, b"one", NOW);
    let (asked, question) = a.ask(1, 0, NOW);
    let answer = fleet.answer(&question, NOW);
    a.swap(KEY, Some(b"one"), b"two", NOW);
    a.learn(&asked, &answer, NOW);
    assert_eq!(
        (a.value(KEY, NOW), fleet.value(KEY, NOW)),
        (Some(b"two".to_vec()), Some(b"one".to_vec()))
    );
    a.exchange(&fleet, NOW);
    assert_eq!(fleet.value(KEY, NOW), Some(b"two".to_vec()));
}

#[test]
fn what_the_fleet_decided_after_it_took_ours_holds() {
    let (fleet, a) = (Fleet::new(), Envoy::new());
    a.swap(KEY, None, b"ours", NOW);
    let (asked, question) = a.ask(1, 0, NOW);
    let mut answer = fleet.answer(&question, NOW);
    answer["records"][0]["value"] = json!(encoded(b"theirs"));
    a.learn(&asked, &answer, NOW);
    assert_eq!(a.value(KEY, NOW), Some(b"theirs".to_vec()));
    assert!(
        a.ask(3, 0, NOW).0.records[0].swap.is_none(),
        "and is not proposed against"
    );
}

#[test]
fn a_fleet_that_has_forgotten_is_told_again_by_who_wrote_it() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    assert_eq!(b.value(KEY, NOW), None);
    a.swap(KEY, None, b"open", NOW);
    a.exchange(&fleet, NOW);
    b.exchange(&fleet, NOW);
    let restarted = Fleet::new();
    b.exchange(&restarted, NOW);
    assert_eq!(b.value(KEY, NOW), None, "b has only heard of it");
    a.exchange(&restarted, NOW);
    a.exchange(&restarted, NOW);
    b.exchange(&restarted, NOW);
    assert_eq!(b.value(KEY, NOW), Some(b"open".to_vec()));
}

#[test]
fn what_the_fleet_confirms_lives_on_and_what_it_drops_goes() {
    let (fleet, a) = (Fleet::new(), Envoy::new());
    assert_eq!(a.value(KEY, NOW), None);
    fleet
        .store(NOW)
        .swap(KEY, None, Some(b"open"), 2 * LEARNED_MS)
        .unwrap();
    for minute in 0..=20 {
        let now = NOW + minute * 60_000;
        a.exchange(&fleet, now);
        let expected = (minute < 20).then(|| b"open".to_vec());
        assert_eq!(a.value(KEY, now), expected, "after {minute} minutes");
    }
}

#[test]
fn a_key_that_nobody_reads_any_more_is_not_asked_for() {
    let (fleet, a) = (Fleet::new(), Envoy::new());
    a.value(KEY, NOW);
    fleet.store(NOW).swap(KEY, None, Some(b"open"), 0).unwrap();
    a.exchange(&fleet, NOW);
    assert_eq!(a.ask(1, 0, NOW + 60_000).0.records.len(), 1);
    assert_eq!(a.ask(1, 0, NOW + 60_001).0.records.len(), 0);
    a.value(KEY, NOW + 60_001);
    assert_eq!(a.ask(1, 0, NOW + 60_001).0.records.len(), 1);
}

#[test]
fn with_more_keys_than_fit_each_has_its_turn_and_changes_come_first() {
    let a = Envoy::new();
    for n in 0..600 {
        a.value(&format!("fusewire:s:{{{n}}}"), NOW);
    }
    a.swap("fusewire:s:{changed}", None, b"x", NOW);
    let mut seen = std::collections::BTreeSet::new();
    let mut from = 0;
    for _ in 0..4 {
        let (asked, _) = a.ask(1, from, NOW);
        assert!(asked.records.len() <= 256);
        assert_eq!(asked.records[0].key, "fusewire:s:{changed}");
        seen.extend(asked.records.into_iter().map(|record| record.key));
        from = asked.next;
    }
    assert_eq!(seen.len(), 601);
}

#[test]
fn what_the_fleet_refuses_stays_as_it_is() {
    let a = Envoy::new();
    a.swap(KEY, None, b"ours", NOW);
    a.count(1, "failure", 2, NOW);
    let (asked, _) = a.ask(1, 0, NOW);
    let answer = json!({"now-ms": NOW,
        "records": [{"key": KEY, "swapped": null, "value": null, "refused": "why"}],
        "counters": [{"key": "fusewire:w:{p}", "epoch": 1, "tallies": [], "refused": "why"}]});
    assert_eq!(a.learn(&asked, &answer, NOW), 2);
    assert_eq!(a.value(KEY, NOW), Some(b"ours".to_vec()));
    assert_eq!(a.count(1, "failure", 1, NOW).amount("failure"), 3);
}

proptest! {
    #[test]
    fn envoys_that_exchange_agree_in_the_end(
        steps in proptest::collection::vec((0..3_usize, 0..2_usize, any::<u8>(), 0..4_u8), 1..60),
    ) {
        let fleet = Fleet::new();
        let envoys: Vec<Envoy> = (0..3).map(|_| Envoy::new()).collect();
        let keys = ["fusewire:s:{a}", "fusewire:s:{b}"];
        for (envoy, key, value, exchanging) in steps {
            let (envoy, key) = (&envoys[envoy], keys[key]);
            let held = envoy.value(key, NOW);
            envoy.store(NOW).swap(key, held.as_deref(), Some(&[value]), 600_000).unwrap();
            if exchanging > 0 {
                envoy.exchange(&fleet, NOW);
            }
        }
        for envoy in envoys.iter().chain(&envoys) {
            let _ = keys.map(|key| envoy.value(key, NOW));
            envoy.exchange(&fleet, NOW);
        }
        for key in keys {
            for envoy in &envoys {
                prop_assert_eq!(envoy.value(key, NOW), fleet.value(key, NOW), "{}", key);
            }
        }
    }

    #[test]
    fn no_answer_makes_it_panic(
        key in "fusewire:[sw]:\\{p\\}", swapped: Option<bool>, value: Vec<u8>,
        epoch: u64, tallies in proptest::collection::vec(proptest::collection::btree_map(".{0,18}", any::<u64>(), 0..3), 0..14),
    ) {
        let a = Envoy::new();
        a.swap(KEY, None, b"x", NOW);
        a.count(1, "failure", 1, NOW);
        let (asked, _) = a.ask(1, 0, NOW);
        let answer = json!({"now-ms": epoch,
            "records": [{"key": key, "swapped": swapped, "value": encoded(&value)}],
            "counters": [{"key": key, "epoch": epoch, "tallies": tallies}]});
        a.learn(&asked, &answer, NOW);
        a.value(KEY, NOW);
        a.count(1, "failure", 1, NOW);
    }
}
