//! What is said of a domain, word for word.

use super::fleet::{Fleet, at, target};
use crate::breaker::{Decision, OverrideMode, OverrideOrder};
use crate::store::KeyValue;

const RULES: &str = r#"{"breaker": {
    "failures": {"count": 5, "window": "60s"}, "failure-ratio": false,
    "cool-down": {"jitter": 0}, "probes": {"needed": 2}}}"#;

/// Each thing that is said at this second, as "subject = value: sentence".
fn said(fleet: &mut Fleet, second: u64) -> Vec<String> {
    let facts = fleet
        .policy
        .explain_domain(&mut fleet.store, "p", &at(second))
        .unwrap();
    let line = |fact: &crate::Fact| format!("{} = {}: {}", fact.subject, fact.value, fact.says);
    facts.iter().map(line).collect()
}

fn opened_at(second: u64) -> Fleet {
    let mut fleet = Fleet::new(RULES);
    for _ in 0..5 {
        fleet.call("p", 503, &at(second));
    }
    fleet
}

const NONE_FAILED: &str = "failures = 0: 0 failures in 1m; it takes 5";
const ALL_FAILED: &str = "failures = 5: 5 failures in 1m; it takes 5";
const ONCE: &str = "openings = 1: 1 opening in a row, until it has been closed for 10m";

#[test]
fn a_domain_that_nobody_knows_is_closed() {
    let closed = "phase = closed: closed, and has not tripped for as long as the store remembers";
    assert_eq!(said(&mut Fleet::new(RULES), 0), [closed, NONE_FAILED]);
}

#[test]
fn an_opening_is_told_from_its_rule_to_the_last_probe() {
    let mut fleet = opened_at(0);
    let open = "phase = open: open for another 20s by the rule `failures`";
    assert_eq!(said(&mut fleet, 10), [open, ONCE, ALL_FAILED]);
    let ready = "phase = half-open: half-open after an opening by the rule `failures`: the next call \
                 tests the recovery";
    assert_eq!(said(&mut fleet, 30), [ready, ONCE, ALL_FAILED]);

    let Decision::Allowed(probe) = fleet.admit(&target("p"), &at(30)).decision else {
        panic!("the probe");
    };
    let probing =
        "phase = half-open: half-open: a call of a is testing the recovery, and has 9s for it";
    let none = "probes = 0: 0 of the 2 clean probes in a row that close it";
    assert_eq!(said(&mut fleet, 31), [probing, none, ONCE, ALL_FAILED]);
    fleet.settle(&probe, 200, &at(32));
    let one = "probes = 1: 1 of the 2 clean probes in a row that close it";
    assert_eq!(said(&mut fleet, 32)[1], one);

    fleet.call("p", 200, &at(90));
    let closed = "phase = closed: closed for 5s";
    let ramp = "ramp = 5000: takes all calls again in 5s";
    assert_eq!(said(&mut fleet, 95), [closed, ramp, ONCE, NONE_FAILED]);
    assert_eq!(
        said(&mut fleet, 99)[1],
        "ramp = 1000: takes all calls again in 1s"
    );
    assert_eq!(
        said(&mut fleet, 100),
        ["phase = closed: closed for 10s", ONCE, NONE_FAILED]
    );
    let before = "phase = closed: closed for 9m59s";
    assert_eq!(said(&mut fleet, 90 + 599), [before, ONCE, NONE_FAILED]);
    // By then the record is over.
    let closed = "phase = closed: closed, and has not tripped for as long as the store remembers";
    assert_eq!(said(&mut fleet, 90 + 600), [closed, NONE_FAILED]);
}

#[test]
fn a_provider_that_opens_again_soon_after_it_has_closed_twice_is_said_to_flap() {
    let mut fleet = opened_at(0);
    let mut again = |second: u64| {
        for later in [0, 1] {
            fleet.call("p", 200, &at(second + later));
        }
        for _ in 0..5 {
            let stamp = format!("c:{}", at(second + 1).now_ms);
            let permit = crate::Permit {
                target: target("p"),
                probe: false,
                token: stamp,
            };
            fleet.settle(&permit, 503, &at(second + 20));
        }
        said(&mut fleet, second + 20)[1].clone()
    };
    let twice = "openings = 2: 2 openings in a row, until it has been closed for 10m";
    assert_eq!(again(100), twice);
    let flapping = "flapping = 3: 3 openings in a row, until it has been closed for 10m; it is flapping: \
                    2 times it opened again soon after it had closed";
    assert_eq!(again(300), flapping);
}

#[test]
fn an_order_is_told_with_what_it_does_until_when_and_by_whom() {
    let mut fleet = Fleet::new(RULES);
    let mut told = |mode, enforce_percent, seconds: u64| {
        let until_ms = match seconds {
            0 => 0,
            seconds => at(seconds).now_ms,
        };
        let order = OverrideOrder {
            mode,
            enforce_percent,
            who: "on-call".into(),
            why: "a drill".into(),
            until_ms,
        };
        let given = fleet
            .policy
            .order(&mut fleet.store, "p", Some(&order), &at(0));
        given.unwrap();
        let said = said(&mut fleet, 5);
        assert_eq!(said.len(), 3, "the phase, the order, the rule: {said:?}");
        said[1].clone()
    };
    let cases = [
        (
            OverrideMode::Open,
            0,
            65,
            "open: every call is refused, for another 1m",
        ),
        (
            OverrideMode::Closed,
            0,
            0,
            "closed: every call is let through, and nothing trips, until it is cleared",
        ),
        (
            OverrideMode::Off,
            0,
            0,
            "off: every call is let through, and none is counted, until it is cleared",
        ),
        (
            OverrideMode::Observe,
            0,
            0,
            "observe: it decides, and every call is let through, until it is cleared",
        ),
        (
            OverrideMode::Observe,
            1,
            0,
            "observe: 1 of a hundred refusals are enforced, until it is cleared",
        ),
    ];
    for (mode, percent, until, says) in cases {
        let told = told(mode, percent, until);
        assert_eq!(told, format!("order = {says}, by on-call: a drill"));
    }
}

#[test]
fn a_hold_a_quorum_a_pace_and_a_share_of_enforcement_are_told() {
    let mut fleet = Fleet::new(
        r#"{"slow": {"limit": "10s", "learnt": {"times": 2, "floor": "1s"}}, "breaker": {
            "failures": false, "failure-ratio": {"share": 0.5, "minimum": 20, "window": "30s"},
            "slow-ratio": {"share": 0.25, "minimum": 10, "window": "30s"},
            "quorum": {"instances": 2}, "enforce": 10}}"#,
    );
    let record = |fleet: &mut Fleet, second: u64| {
        let (until, measured) = (at(50).now_ms, at(second).now_ms);
        let text = format!(
            r#"{{"schema":1,"revision":1,"phase":"closed","hold":{{"until":{until},"why":"quota"}},
                "pace":{{"p99":640,"at":{measured}}}}}"#
        );
        fleet
            .store
            .records
            .insert("fusewire:s:{p}".into(), text.into());
    };
    record(&mut fleet, 0);
    let permit = crate::Permit {
        target: target("p"),
        probe: false,
        token: "c:0+i:0".into(),
    };
    fleet.settle(&permit, 503, &at(19));
    fleet.settle(&permit, 200, &at(19));
    let share = "1 of 2 calls in 30s failed; it takes 50 of a hundred, of at least 20";
    let slow = "0 of 2 calls in 30s were slow; it takes 25 of a hundred, of at least 10";
    assert_eq!(
        said(&mut fleet, 20),
        [
            "phase = closed: closed, and has not tripped for as long as the store remembers",
            "hold = 30000: held back for another 30s: quota",
            &format!("failure-ratio = 1: {share}"),
            &format!("slow-ratio = 0: {slow}"),
            "quorum = not met: 1 of 2 instances and 1 of 1 requests have seen trouble; below that \
             each instance opens for itself alone",
            "slow = 1280: a call is slow from 1s280ms on: 99 of a hundred good answers took less than \
             640ms",
            "enforcement = 10: by the configuration 10 of a hundred refusals are enforced",
            "this instance = closed: on its own it is closed, and has not tripped for as long as the \
             store remembers",
        ]
    );
    let absolute = "slow = 10000: a call is slow from 10s on";
    assert_eq!(
        said(&mut fleet, 600)[4],
        absolute,
        "what was learnt has aged out"
    );
}

#[test]
fn nothing_is_changed_by_asking_and_without_the_store_there_is_nothing_to_say() {
    let mut fleet = opened_at(0);
    let before = fleet.record("p");
    said(&mut fleet, 10);
    assert_eq!(fleet.record("p"), before);
    fleet.store.down = true;
    let store: &mut dyn KeyValue = &mut fleet.store;
    assert!(fleet.policy.explain_domain(store, "p", &at(10)).is_err());
}
