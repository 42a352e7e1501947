//! A worker, driven as Envoy drives it.

use super::Vm;
use crate::fake_host::FakeHost;
use crate::host::Action;

mod bodies;
mod strange;
mod times;

const ROOT: u32 = 1;
const NOW_NS: u64 = 1_767_225_600_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Five failures open it, for two seconds.
const SETTINGS: &str = r#"{"policy": {"breaker": {"failures": {"count": 5}, "failure-ratio": false,
    "cool-down": {"first": "2s", "jitter": 0}, "probes": {"needed": 1}}}}"#;

fn envoy() -> FakeHost {
    let host = FakeHost::default();
    host.now_ns.set(NOW_NS);
    host.property_is("xds\0cluster_name", "atlas");
    FakeHost::set(
        &host.request,
        &[(":method", "GET"), (":path", "/a"), (":authority", "here")],
    );
    host
}

fn configured<'h>(host: &'h FakeHost, settings: &str) -> Vm<&'h FakeHost> {
    let mut vm = Vm::new(host);
    assert!(
        configure(&mut vm, host, settings),
        "{:?}",
        host.lines.borrow()
    );
    vm
}

fn configure(vm: &mut Vm<&FakeHost>, host: &FakeHost, settings: &str) -> bool {
    host.configuration.replace(settings.to_owned());
    vm.on_context_create(ROOT, 0);
    vm.on_configure(ROOT, u32::try_from(settings.len()).unwrap())
}

/// What Envoy says of a stream's end.
#[derive(Debug, Clone, Copy)]
struct End {
    status: u16,
    details: &'static str,
    flags: u64,
}

const GOOD: End = End {
    status: 200,
    details: "via_upstream",
    flags: 0,
};
const BAD: End = End {
    status: 503,
    details: "via_upstream",
    flags: 0,
};

/// One request from beginning to end; answers whether it was let through.
fn request(vm: &mut Vm<&FakeHost>, host: &FakeHost, stream: u32, end: End) -> bool {
    vm.on_context_create(stream, ROOT);
    let through = vm.on_request_headers(stream, true) == Action::Continue;
    host.property_is(
        "response\0code_details",
        if through {
            end.details
        } else {
            "fusewire_open"
        },
    );
    host.numbers
        .borrow_mut()
        .insert("response\0flags".into(), end.flags);
    FakeHost::set(&host.response, &[(":status", &end.status.to_string())]);
    vm.on_response_headers(stream, false);
    vm.on_response_body(stream, 5, true);
    vm.on_log(stream);
    vm.on_delete(stream);
    through
}

#[test]
fn five_failures_open_it_and_the_sixth_request_is_answered_here() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for stream in 2..7 {
        assert!(request(&mut vm, &host, stream, BAD));
    }
    assert!(!request(&mut vm, &host, 7, BAD));
    let answers = host.responded.borrow();
    assert_eq!(
        (
            answers.len(),
            answers[0].status,
            answers[0].details.as_str()
        ),
        (1, 503, "fusewire_open")
    );
    for (name, value) in [
        ("admitted", 5),
        ("outcome.failure", 5),
        ("refused.open", 1),
        ("transition.to_open", 1),
        ("outcome.neutral", 0),
        ("outcome.dropped", 0),
    ] {
        assert_eq!(host.metric(name), value, "{name}");
    }
    assert!(host.lines.borrow()[0].starts_with("fusewire: atlas: closed -> open for 2.0 s:"));
}

#[test]
fn a_probe_that_passes_closes_it() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for stream in 2..7 {
        request(&mut vm, &host, stream, BAD);
    }
    host.now_ns.set(NOW_NS + 2 * SECOND_NS);
    vm.on_context_create(8, ROOT);
    assert_eq!(
        vm.on_request_headers(8, true),
        Action::Continue,
        "this one probes"
    );
    assert!(!request(&mut vm, &host, 9, GOOD), "and it alone");
    assert_eq!(host.metric("refused.probe_in_flight"), 1);
    host.property_is("response\0code_details", "via_upstream");
    FakeHost::set(&host.response, &[(":status", "200")]);
    vm.on_log(8);
    vm.on_delete(8);
    // When the ramp is over.
    host.now_ns.set(NOW_NS + 12 * SECOND_NS);
    assert!(request(&mut vm, &host, 10, GOOD));
    assert_eq!(
        (
            host.metric("probe.passed"),
            host.metric("transition.to_closed")
        ),
        (1, 1)
    );
}

#[test]
fn a_probe_that_is_never_logged_frees_its_lease_when_it_is_deleted() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for stream in 2..7 {
        request(&mut vm, &host, stream, BAD);
    }
    host.now_ns.set(NOW_NS + 2 * SECOND_NS);
    vm.on_context_create(8, ROOT);
    vm.on_request_headers(8, true);
    vm.on_delete(8);
    assert_eq!(
        (host.metric("outcome.dropped"), host.metric("probe.neutral")),
        (1, 1)
    );
    assert!(
        request(&mut vm, &host, 9, GOOD),
        "the next one probes at once"
    );
}

#[test]
fn each_stream_is_counted_once_however_often_envoy_calls() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    vm.on_context_create(2, ROOT);
    vm.on_request_headers(2, true);
    host.property_is("response\0code_details", "via_upstream");
    FakeHost::set(&host.response, &[(":status", "503")]);
    for _ in 0..9 {
        vm.on_log(2);
    }
    vm.on_delete(2);
    vm.on_delete(2);
    assert_eq!(
        (
            host.metric("outcome.failure"),
            host.metric("outcome.dropped")
        ),
        (1, 0)
    );
}

#[test]
fn what_the_caller_or_envoy_itself_did_is_no_failure() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for (stream, (details, status, flags)) in [
        ("downstream_remote_disconnect", 0, 16_384),
        ("upstream_reset_before_response_started{overflow}", 503, 128),
        ("direct_response", 503, 0),
        ("request_rate_limited", 429, 2_048),
        ("ext_authz_denied", 403, 4_096),
        ("request_overall_timeout", 408, 0),
    ]
    .into_iter()
    .cycle()
    .take(60)
    .enumerate()
    {
        let stream = u32::try_from(stream).unwrap() + 2;
        assert!(
            request(
                &mut vm,
                &host,
                stream,
                End {
                    status,
                    details,
                    flags
                }
            ),
            "{details}"
        );
    }
    assert_eq!(
        (
            host.metric("outcome.failure"),
            host.metric("transition.to_open")
        ),
        (0, 0)
    );
    assert_eq!(
        host.metric("outcome.neutral") + host.metric("outcome.dropped"),
        60
    );
}

#[test]
fn observing_lets_everything_through_and_says_what_it_would_have_done() {
    let host = envoy();
    let settings = SETTINGS.replacen('{', r#"{"mode": "observe", "#, 1);
    let mut vm = configured(&host, &settings);
    for stream in 2..12 {
        assert!(request(&mut vm, &host, stream, BAD));
    }
    assert!(host.responded.borrow().is_empty());
    assert_eq!(
        (host.metric("would_refuse"), host.metric("admitted")),
        (5, 5)
    );
    let marks: Vec<(String, String)> = host.response.borrow().iter().skip(1).cloned().collect();
    let expected = [
        ("fusewire-would-refuse", "open"),
        ("fusewire-domain", "atlas"),
    ];
    assert_eq!(marks, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
}

#[test]
fn a_request_whose_provider_has_no_name_is_let_through_and_counted() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    host.properties.borrow_mut().remove("xds\0cluster_name");
    assert!(request(&mut vm, &host, 2, BAD));
    assert_eq!(
        (host.metric("invalid_target"), host.metric("admitted")),
        (1, 0)
    );
}

#[test]
fn a_wrong_configuration_is_refused_problem_by_problem() {
    let host = envoy();
    let mut vm = Vm::new(&host);
    assert!(!configure(
        &mut vm,
        &host,
        r#"{"keys": 0, "policy": {"prefix": ""}}"#
    ));
    let lines = host.lines.borrow();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("fusewire: configuration: /keys: "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("fusewire: configuration: /policy/prefix: "),
        "{lines:?}"
    );
}

#[test]
fn a_host_without_shared_data_is_refused() {
    let host = envoy();
    let mut vm = Vm::new(&host);
    host.strange.replace(vec![Some(10), None]);
    assert!(!configure(&mut vm, &host, "{}"));
    assert!(
        host.lines.borrow()[0].contains("shared data"),
        "{:?}",
        host.lines.borrow()
    );
}

#[test]
fn the_state_outlives_a_new_configuration_of_the_same_vm_id() {
    let host = envoy();
    let mut old = configured(&host, SETTINGS);
    for stream in 2..7 {
        request(&mut old, &host, stream, BAD);
    }
    let mut new = configured(&host, &SETTINGS.replace("\"2s\"", "\"3s\""));
    assert!(
        !request(&mut new, &host, 2, GOOD),
        "what is open stays open"
    );
}

/// A good answer as Envoy's router marks it.
fn good(vm: &mut Vm<&FakeHost>, host: &FakeHost, stream: u32) {
    vm.on_context_create(stream, ROOT);
    assert_eq!(vm.on_request_headers(stream, true), Action::Continue);
    host.property_is("response\0code_details", "nobody asks");
    FakeHost::set(
        &host.response,
        &[(":status", "200"), ("x-envoy-upstream-service-time", "4")],
    );
    vm.on_response_headers(stream, true);
    vm.on_log(stream);
    vm.on_delete(stream);
}

#[test]
fn good_answers_wait_for_each_other_for_20_ms_at_most() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    for stream in 2..7 {
        good(&mut vm, &host, stream);
    }
    assert_eq!(
        (host.metric("admitted"), host.metric("outcome.success")),
        (5, 0)
    );
    host.now_ns.set(NOW_NS + SECOND_NS / 50);
    good(&mut vm, &host, 7);
    assert_eq!(host.metric("outcome.success"), 6);
    for stream in 8..40 {
        good(&mut vm, &host, stream);
    }
    assert_eq!(host.metric("outcome.success"), 38, "32 do not wait");
    good(&mut vm, &host, 40);
    vm.on_tick(ROOT);
    assert_eq!(
        host.metric("outcome.success"),
        39,
        "and none waits for longer than a turn"
    );
}

#[test]
fn a_failure_is_judged_at_once_after_the_good_answers_before_it() {
    let host = envoy();
    let settings = SETTINGS.replace(
        "\"failure-ratio\": false",
        r#""failure-ratio": {"share": 0.5, "minimum": 20}"#,
    );
    let mut vm = configured(&host, &settings.replace(r#"{"count": 5}"#, "false"));
    for stream in 2..12 {
        good(&mut vm, &host, stream);
    }
    for stream in 12..22 {
        assert!(request(&mut vm, &host, stream, BAD), "{stream}");
    }
    assert_eq!(
        (
            host.metric("outcome.success"),
            host.metric("outcome.failure")
        ),
        (10, 10)
    );
    assert_eq!(host.metric("transition.to_open"), 1, "ten of twenty failed");
}

#[test]
fn what_waits_is_settled_when_the_configuration_ends() {
    let host = envoy();
    let mut old = configured(&host, SETTINGS);
    good(&mut old, &host, 2);
    good(&mut old, &host, 3);
    old.on_delete(ROOT);
    assert_eq!(host.metric("outcome.success"), 2);
    let writes = host.data.writes();
    old.on_tick(ROOT);
    assert_eq!(host.data.writes(), writes, "nothing waits any more");
}

#[test]
fn an_opening_by_one_worker_is_known_to_the_next_request_of_another() {
    let host = envoy();
    let (mut a, mut b) = (configured(&host, SETTINGS), configured(&host, SETTINGS));
    assert!(request(&mut b, &host, 2, GOOD), "b keeps this admission");
    for stream in 2..7 {
        request(&mut a, &host, stream, BAD);
    }
    assert!(!request(&mut b, &host, 3, GOOD));
}

#[test]
fn an_admission_that_holds_asks_the_policys_store_nothing() {
    let host = envoy();
    let mut vm = configured(&host, SETTINGS);
    good(&mut vm, &host, 2);
    host.data.damage(b"\xf1junk");
    let entropy = format!("{:?}", vm.entropy);
    vm.on_context_create(3, ROOT);
    vm.on_request_headers(3, true);
    assert_eq!(
        format!("{:?}", vm.entropy),
        entropy,
        "the policy was not asked"
    );
    host.now_ns.set(NOW_NS + SECOND_NS);
    vm.on_context_create(4, ROOT);
    vm.on_request_headers(4, true);
    assert_ne!(format!("{:?}", vm.entropy), entropy, "after a second it is");
}
