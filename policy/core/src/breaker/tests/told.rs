//! What is said, and kept, of orders and openings.

use serde_json::Value;

use super::fleet::{Fleet, at, opened, target};
use crate::breaker::{
    Decision, Ending, Event, EventKind, IgnoredReason, OverrideError, OverrideMode, OverrideOrder,
    Permit, Timing,
};
use crate::entropy;
use crate::observation::{Field, Observation, Response};
use crate::target::Domain;

const MINUTE: u64 = 60_000;

fn order(mode: OverrideMode) -> OverrideOrder {
    OverrideOrder {
        mode,
        enforce_percent: 0,
        who: "on-call".into(),
        why: "a drill".into(),
        until_ms: 0,
    }
}

fn give(fleet: &mut Fleet, order: &OverrideOrder) -> Result<String, OverrideError> {
    let events = fleet
        .policy
        .order(&mut fleet.store, "p", Some(order), &at(0))?;
    Ok(events[0].detail.clone())
}

#[test]
fn an_order_is_told_with_its_share_of_enforcement_and_kept_without_one_where_there_is_none() {
    let mut fleet = Fleet::new("{}");
    let observe = order(OverrideMode::Observe);
    assert_eq!(
        give(&mut fleet, &observe).unwrap(),
        "observe by on-call: a drill"
    );
    assert_eq!(fleet.record("p")["override"].get("enforce"), None);
    let tenth = OverrideOrder {
        enforce_percent: 10,
        ..observe
    };
    let told = give(&mut fleet, &tenth).unwrap();
    assert_eq!(
        told,
        "observe, with 10 of a hundred refusals enforced, by on-call: a drill"
    );
    assert_eq!(fleet.record("p")["override"]["enforce"], 10);
}

#[test]
fn who_and_why_may_fill_a_line_and_no_more() {
    let mut fleet = Fleet::new("{}");
    let with = |letters| OverrideOrder {
        why: "y".repeat(letters),
        ..order(OverrideMode::Off)
    };
    assert!(give(&mut fleet, &with(256)).is_ok());
    for letters in [0, 257] {
        let refused = give(&mut fleet, &with(letters));
        assert!(
            matches!(refused, Err(OverrideError::Invalid(_))),
            "{letters}"
        );
    }
}

#[test]
fn an_order_lives_as_long_as_it_holds() {
    let mut fleet = Fleet::new("{}");
    let key = "fusewire:s:{p}";
    give(&mut fleet, &order(OverrideMode::Off)).unwrap();
    assert_eq!(fleet.store.lifetimes[key], 0, "until it is cleared");
    assert_eq!(fleet.record("p")["expires"], 0);
    let until_ms = at(0).now_ms + 300 * MINUTE;
    let ending = OverrideOrder {
        until_ms,
        ..order(OverrideMode::Off)
    };
    give(&mut fleet, &ending).unwrap();
    assert_eq!(fleet.store.lifetimes[key], 300 * MINUTE);
    assert_eq!(fleet.record("p")["expires"], until_ms);
}

#[test]
fn a_record_says_nothing_of_what_it_has_none_of() {
    let mut fleet = Fleet::new("{}");
    let fields = |record: Value| -> Vec<String> {
        let object = record.as_object().expect("a record").clone();
        object.into_iter().map(|(name, _)| name).collect()
    };
    give(&mut fleet, &order(OverrideMode::Closed)).unwrap();
    let closed = [
        "epoch", "expires", "openings", "override", "phase", "revision", "schema",
    ];
    assert_eq!(fields(fleet.record("p")), closed);
    for second in 0..5 {
        fleet.call("q", 503, &at(second));
    }
    let open = [
        "epoch", "expires", "openings", "phase", "revision", "rule", "schema", "until",
    ];
    assert_eq!(fields(fleet.record("q")), open);
}

#[test]
fn of_two_refusals_the_longer_is_told_and_of_two_as_long_the_broader() {
    let mut fleet = Fleet::new("{}");
    let mut open = |key: &str, seconds| {
        let until = at(seconds).now_ms;
        let text = format!(r#"{{"schema":1,"revision":1,"phase":"open","until":{until}}}"#);
        fleet.store.records.insert(key.into(), text.into());
        let Decision::Refused(refusal) = fleet.admit(&target("p@a"), &at(0)).decision else {
            panic!("both are open");
        };
        (refusal.domain, refusal.retry_after_ms)
    };
    open("fusewire:s:{p}", 20);
    assert_eq!(open("fusewire:s:{p}@a", 20), ("p".into(), 20_000));
    assert_eq!(open("fusewire:s:{p}@a", 21), ("p@a".into(), 21_000));
    assert_eq!(open("fusewire:s:{p}", 22), ("p".into(), 22_000));
}

#[test]
fn a_probe_that_may_take_all_of_a_calls_time_is_given_no_limit_of_its_own() {
    for (share, limit) in [("1.0", None), ("0.5", Some(2_000)), ("0.1", Some(400))] {
        let config = format!(r#"{{"breaker": {{"probes": {{"time-share": {share}}}}}}}"#);
        let mut fleet = Fleet::new(&config);
        for second in 0..5 {
            fleet.call("p", 503, &at(second));
        }
        let mut late = at(100);
        late.call_limit_ms = Some(4_000);
        let admission = fleet.admit(&target("p"), &late);
        assert_eq!(admission.limits.total_ms, limit, "{share}");
    }
}

#[test]
fn an_outcome_without_the_store_is_told_of_only_where_it_says_something() {
    let fleet = &mut Fleet::new("{}");
    let permit = Permit {
        target: target("p"),
        probe: false,
        token: "u".into(),
    };
    let dropped = fleet.policy.settle(
        &mut fleet.store,
        &permit,
        &Ending::Dropped,
        &Timing::default(),
        &at(0),
    );
    assert_eq!(dropped, Ok(vec![]));
    let failed = fleet.settle(&permit, 503, &at(0));
    let unshared = EventKind::Ignored(IgnoredReason::Unshared);
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].kind, unshared);
}

#[test]
fn each_lease_of_a_call_has_a_token_of_its_own() {
    let mut fleet = Fleet::new("{}");
    for key in ["fusewire:s:{p}", "fusewire:s:{p}@a"] {
        let text = r#"{"schema":1,"revision":1,"phase":"open","until":1,"openings":1}"#;
        fleet.store.records.insert(key.into(), text.into());
    }
    let Decision::Allowed(permit) = fleet.admit(&target("p@a"), &at(0)).decision else {
        panic!("both are to be probed");
    };
    let token = |domain| fleet.record(domain)["lease"]["token"].clone();
    let (provider, account) = (token("p"), token("p@a"));
    assert_ne!(provider, account);
    let stamps = [&provider, &account].map(|token| format!("l:{}", token.as_str().unwrap()));
    assert_eq!(permit.token, stamps.join(","));
}

#[test]
fn only_an_answer_to_an_account_or_of_a_throttled_provider_holds_anybody_back() {
    let mut fleet = Fleet::new("{}");
    let seen = |status, retry_after: &str| {
        let mut response = Response::status(status);
        response.headers.push(Field {
            name: "retry-after".into(),
            value: retry_after.into(),
        });
        Observation::response(response, at(0).now_ms)
    };
    let mut told = |status, retry_after, seconds| {
        let context = at(seconds);
        let permit = Permit {
            target: target("llm@team"),
            probe: false,
            token: "c:0,c:0".into(),
        };
        let verdict = fleet
            .policy
            .classify(&permit.target, &seen(status, retry_after));
        let (ending, timing) = (Ending::Judged(verdict), Timing::default());
        let events = fleet
            .policy
            .settle(&mut fleet.store, &permit, &ending, &timing, &context);
        let held = |event: &Event| match event.kind {
            EventKind::Held(until) => Some((until - at(0).now_ms) / 1_000),
            _ => None,
        };
        events.unwrap().iter().find_map(held)
    };
    assert_eq!(told(503, "50", 0), None, "its health is not the account's");
    assert_eq!(told(429, "99", 0), Some(99));
    // Not a tenth longer than what is told already, so not written again.
    assert_eq!(told(429, "99", 9), None);
    assert_eq!(told(429, "99", 10), Some(109));
}

#[test]
fn a_lost_record_is_put_back_under_whatever_was_written_in_its_place() {
    let mut fleet = Fleet::new(r#"{"breaker": {"probes": {"needed": 1}, "ramp": false}}"#);
    for second in 0..5 {
        fleet.call("p", 503, &at(second));
    }
    fleet.call("p", 200, &at(100));
    let closed_at = at(100).now_ms;
    assert_eq!(fleet.record("p")["epoch"], closed_at);
    for second in 101..105 {
        assert_eq!(fleet.call("p", 503, &at(second)), []);
    }
    // The store forgets the record, and an operator gives an order.
    fleet.store.records.clear();
    give(&mut fleet, &order(OverrideMode::Observe)).unwrap();
    assert_eq!(fleet.record("p")["epoch"], 0);
    let events = fleet.call("p", 503, &at(105));
    assert!(opened(&events), "the fifth of this epoch: {events:?}");
    assert_eq!(fleet.record("p")["epoch"], closed_at);
    assert_eq!(fleet.record("p")["override"]["mode"], "observe");
}

#[test]
fn an_opening_without_a_record_is_of_the_epoch_that_its_failures_were_admitted_in() {
    let mut fleet = Fleet::new("{}");
    let epoch = at(0).now_ms;
    let permit = Permit {
        target: target("p"),
        probe: false,
        token: format!("c:{epoch}"),
    };
    for second in 1..6 {
        fleet.settle(&permit, 503, &at(second));
    }
    assert_eq!(fleet.record("p")["phase"], "open");
    assert_eq!(fleet.record("p")["epoch"], epoch);
}

#[test]
fn a_slow_answer_counts_where_nobody_has_told_how_long_it_took() {
    let slow = r#"{"breaker": {"slow-ratio": {"share": 0.5, "minimum": 2}}}"#;
    let mut fleet = Fleet::new(slow);
    let mut events = Vec::new();
    for second in 0..2 {
        let permit = Permit {
            target: target("p"),
            probe: false,
            token: "c:0".into(),
        };
        let mut seen = Observation::response(Response::status(200), at(second).now_ms);
        seen.latency_ms = 10_000;
        let ending = Ending::Judged(fleet.policy.classify(&permit.target, &seen));
        let timing = Timing::default();
        let settled = fleet
            .policy
            .settle(&mut fleet.store, &permit, &ending, &timing, &at(second));
        events = settled.unwrap();
    }
    assert!(opened(&events), "{events:?}");
}

#[test]
fn an_account_is_held_back_by_its_instance_where_the_fleet_cannot_be_told() {
    let own = |token: &str, down| {
        let mut fleet = Fleet::new("{}");
        fleet.store.down = down;
        let permit = Permit {
            target: target("llm@team"),
            probe: false,
            token: token.into(),
        };
        fleet.settle(&permit, 429, &at(0));
        let records = fleet.store.records.keys();
        let own = records.filter(|key| key.starts_with("fusewire:local:s:{llm}@team!"));
        own.count()
    };
    assert_eq!(own("c:0,c:0", true), 1, "the store has gone away meanwhile");
    assert_eq!(own("i:0,i:0", false), 1, "it has come back meanwhile");
    assert_eq!(own("c:0,c:0", false), 0);
}

#[test]
fn a_change_of_windows_is_noted_in_the_epoch_that_its_failures_were_admitted_in() {
    let window = |of: &str| {
        format!(r#"{{"breaker": {{"failures": {{"window": "{of}"}}, "failure-ratio": false}}}}"#)
    };
    let mut fleet = Fleet::new(&window("1m"));
    let epoch = at(0).now_ms;
    let permit = Permit {
        target: target("p"),
        probe: false,
        token: format!("c:{epoch}"),
    };
    assert_eq!(fleet.settle(&permit, 503, &at(1)), []);
    fleet.configure(&window("5m"));
    let noted = fleet.settle(&permit, 503, &at(2));
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0].kind, EventKind::Reshaped);
    assert_eq!(fleet.record("p")["epoch"], epoch);
}

#[test]
fn an_instances_own_keys_end_in_the_digest_of_its_name() {
    let domain = Domain::parse("p/o!").unwrap();
    let digest = format!("{:016x}", entropy::digest(b"a"));
    let key = domain.own_record_key("fusewire", "a");
    assert_eq!(key, format!("fusewire:local:s:{{p}}/o!!{digest}"));
    let key = domain.own_window_key("fusewire", "a");
    assert_eq!(key, format!("fusewire:local:w:{{p}}/o!!{digest}"));
}

#[test]
fn a_name_may_have_128_bytes_and_no_more() {
    let is_valid = |bytes| Domain::parse(&"n".repeat(bytes)).is_ok();
    assert_eq!([0, 1, 128, 129].map(is_valid), [false, true, true, false]);
}

#[test]
fn a_policy_tells_the_configuration_in_force() {
    let fleet = Fleet::new(r#"{"prefix": "other"}"#);
    assert_eq!(fleet.policy.config().prefix, "other");
}
