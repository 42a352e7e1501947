//! The workers of one Envoy.

use serde_json::Value;

use super::NOW;
use crate::fake_host::FakeHost;
use crate::fleet::clock;
use crate::vm::Vm;

fn worker(host: &FakeHost) -> Vm<&FakeHost> {
    let settings = r#"{"fleet": {"cluster": "fleet"}, "instance": "envoy-1"}"#;
    host.configuration.replace(settings.into());
    host.now_ns.set(NOW * 1_000_000);
    let mut vm = Vm::new(host);
    vm.on_context_create(1, 0);
    assert!(vm.on_configure(1, u32::try_from(settings.len()).unwrap()));
    vm
}

/// What a fleet answers that has nothing to tell but the time.
fn nothing_new(now_ms: u64) -> String {
    format!(r#"{{"now-ms": {now_ms}, "records": [], "counters": []}}"#)
}

fn wait(host: &FakeHost, ms: u64) {
    host.now_ns.set(host.now_ns.get() + ms * 1_000_000);
}

#[test]
fn one_worker_asks_and_asks_again_when_it_was_answered() {
    let host = FakeHost::default();
    let (mut leader, mut other) = (worker(&host), worker(&host));
    for _ in 0..4 {
        leader.on_tick(1);
        other.on_tick(1);
        wait(&host, 250);
    }
    assert_eq!(host.calls.borrow().len(), 1, "one is under way");
    let answer = nothing_new(NOW);
    let size = u32::try_from(answer.len()).unwrap();
    host.call_answer
        .replace(("200".into(), answer.into_bytes()));
    leader.on_call_response(1, 1, true, size);
    leader.on_tick(1);
    assert_eq!(host.calls.borrow().len(), 2);
    assert_eq!(
        (host.metric("exchange.ok"), host.metric("exchange.mode")),
        (1, 1)
    );
    let question: Value = serde_json::from_slice(&host.calls.borrow()[0]).unwrap();
    assert_eq!(
        (question["instance"].as_str(), question["prefix"].as_str()),
        (Some("envoy-1"), Some("fusewire"))
    );
}

#[test]
fn each_change_of_the_fleets_state_is_one_line_in_the_log() {
    let host = FakeHost::default();
    let mut vm = worker(&host);
    let mut token = 0;
    let good = nothing_new(NOW);
    let good = good.as_str();
    for (status, body) in [
        ("200", good),
        ("200", good),
        ("503", ""),
        ("200", "no json"),
        ("", ""),
        ("200", good),
    ] {
        vm.on_tick(1);
        token += 1;
        host.call_answer.replace((status.into(), body.into()));
        vm.on_call_response(
            1,
            token,
            !status.is_empty(),
            u32::try_from(body.len()).unwrap(),
        );
        wait(&host, 250);
    }
    let lines = host.lines.borrow();
    assert_eq!(
        *lines,
        [
            "fusewire: fleet found: what it knows is shared",
            "fusewire: fleet lost: it answered 503; this Envoy decides by itself",
            "fusewire: fleet back: what it knows is shared",
        ]
    );
    assert_eq!(
        (host.metric("exchange.ok"), host.metric("exchange.failed")),
        (3, 3)
    );
}

#[test]
fn a_call_of_which_nothing_is_heard_is_given_up() {
    let host = FakeHost::default();
    let mut vm = worker(&host);
    vm.on_tick(1);
    for _ in 0..9 {
        wait(&host, 250);
        vm.on_tick(1);
    }
    assert_eq!(
        (host.calls.borrow().len(), host.metric("exchange.failed")),
        (2, 1)
    );
}

#[test]
fn another_worker_takes_over_from_one_that_is_gone() {
    let host = FakeHost::default();
    let (mut leader, mut other) = (worker(&host), worker(&host));
    leader.on_tick(1);
    drop(leader);
    for _ in 0..8 {
        wait(&host, 250);
        other.on_tick(1);
    }
    assert_eq!(host.calls.borrow().len(), 2);
}

#[test]
fn workers_decide_by_the_fleets_clock() {
    let host = FakeHost::default();
    let (mut leader, mut other) = (worker(&host), worker(&host));
    leader.on_tick(1);
    let there = nothing_new(NOW + 7_000);
    host.call_answer
        .replace(("200".into(), there.clone().into_bytes()));
    leader.on_call_response(1, 1, true, u32::try_from(there.len()).unwrap());
    other.on_tick(1);
    assert_eq!(clock::ahead_ms(&&host, "fusewire"), 7_000);
}

#[test]
fn a_clock_that_cannot_be_one_is_not_decided_by_and_the_fleet_counts_as_lost() {
    let host = FakeHost::default();
    let mut leader = worker(&host);
    leader.on_tick(1);
    let nonsense = nothing_new(1);
    let size = u32::try_from(nonsense.len()).unwrap();
    host.call_answer
        .replace(("200".into(), nonsense.into_bytes()));
    leader.on_call_response(1, 1, true, size);
    assert_eq!(clock::ahead_ms(&&host, "fusewire"), 0);
    assert_eq!(
        (host.metric("exchange.failed"), host.metric("exchange.mode")),
        (1, 2)
    );
}
