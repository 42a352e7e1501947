//! How long requests take, and may take.

use super::{BAD, NOW_NS, ROOT, SECOND_NS, SETTINGS, configured, envoy, request};
use crate::fake_host::FakeHost;
use crate::host::{Action, Host, Map};

const FIELD: &str = "x-envoy-upstream-rq-per-try-timeout-ms";

fn time_of(host: &FakeHost) -> Option<String> {
    (&host).header(Map::RequestHeaders, FIELD).unwrap()
}

#[test]
fn a_probe_is_given_half_of_a_calls_time_and_no_other_request_less() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for stream in 2..7 {
        request(&mut vm, &host, stream, BAD);
        assert_eq!(time_of(&host), None);
    }
    host.now_ns.set(NOW_NS + 2 * SECOND_NS);
    vm.on_context_create(8, ROOT);
    assert_eq!(vm.on_request_headers(8, true), Action::Continue);
    assert_eq!(time_of(&host).as_deref(), Some("7500"), "of fifteen");
}

#[test]
fn a_probe_keeps_a_shorter_time_that_it_came_with() {
    for (given, left) in [("1000", "1000"), ("60000", "7500"), ("soon", "7500")] {
        let host = envoy();
        let mut vm = configured(&host, SETTINGS);
        for stream in 2..7 {
            request(&mut vm, &host, stream, BAD);
        }
        host.now_ns.set(NOW_NS + 2 * SECOND_NS);
        (&&host)
            .add_header(Map::RequestHeaders, FIELD, given)
            .unwrap();
        vm.on_context_create(8, ROOT);
        vm.on_request_headers(8, true);
        assert_eq!(time_of(&host).as_deref(), Some(left), "{given}");
        let fields = host.request.borrow();
        assert_eq!(fields.iter().filter(|(name, _)| name == FIELD).count(), 1);
    }
}

#[test]
fn a_probe_is_tried_once_and_other_requests_as_their_route_says() {
    const RETRIES: &str = "x-envoy-max-retries";
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    let retries = || (&host).header(Map::RequestHeaders, RETRIES).unwrap();
    for stream in 2..7 {
        request(&mut vm, &host, stream, BAD);
        assert_eq!(retries(), None);
    }
    host.now_ns.set(NOW_NS + 2 * SECOND_NS);
    vm.on_context_create(8, ROOT);
    vm.on_request_headers(8, true);
    assert_eq!(retries().as_deref(), Some("0"));
}

#[test]
fn requests_that_hang_open_it_while_they_are_under_way() {
    let host = envoy();
    let mut vm = configured(
        &host,
        r#"{"policy": {"slow": "3s", "breaker": {"failures": false, "failure-ratio": false,
            "slow-ratio": {"share": 0.5, "minimum": 4}}}}"#,
    );
    for stream in 2..6 {
        vm.on_context_create(stream, ROOT);
        assert_eq!(vm.on_request_headers(stream, true), Action::Continue);
    }
    host.now_ns.set(NOW_NS + 2 * SECOND_NS);
    vm.on_tick(ROOT);
    assert_eq!(host.metric("transition.to_open"), 0);
    host.now_ns.set(NOW_NS + 3 * SECOND_NS);
    vm.on_tick(ROOT);
    assert_eq!(host.metric("transition.to_open"), 1);
    vm.on_tick(ROOT);
    vm.on_context_create(9, ROOT);
    assert_eq!(vm.on_request_headers(9, true), Action::Pause);
    assert_eq!(host.metric("refused.open"), 1);
}

#[test]
fn one_request_that_hangs_again_and_again_is_no_quorum_of_requests() {
    let settings = r#"{"policy": {"slow": "3s", "breaker": {"failures": false, "failure-ratio": false,
        "slow-ratio": {"share": 0.5, "minimum": 4}, "quorum": {"fingerprints": 2}}}}"#;
    for (paths, fleet) in [(["/a", "/a"], 0), (["/a", "/b"], 1)] {
        let host = envoy();
        let mut vm = configured(&host, settings);
        for stream in 2..6 {
            let path = paths[stream as usize % 2];
            FakeHost::set(
                &host.request,
                &[(":method", "GET"), (":path", path), (":authority", "here")],
            );
            vm.on_context_create(stream, ROOT);
            assert_eq!(vm.on_request_headers(stream, true), Action::Continue);
        }
        // What a host shows of a request is gone while it answers.
        FakeHost::set(&host.request, &[]);
        host.now_ns.set(NOW_NS + 3 * SECOND_NS);
        vm.on_tick(ROOT);
        assert_eq!(host.metric("transition.to_open"), fleet, "{paths:?}");
        assert_eq!(host.metric("alone.to_open"), 1, "this Envoy opens its own");
    }
}
