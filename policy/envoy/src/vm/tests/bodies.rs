//! What of answers is looked at.

use super::{GOOD, ROOT, configured, envoy, request};
use crate::fake_host::FakeHost;
use crate::vm::Vm;

/// Two failures open it, and an error in an answer of JSON is one.
pub(super) const LOOKING: &str = r#"{"policy": {
    "breaker": {"failures": {"count": 2}, "failure-ratio": false},
    "profiles": {"errors": {"rules": [{"when": {"json": {"/error": true}}, "then": "transient"}]}},
    "profile": "errors"}}"#;

/// An answer of these fields, up to the end of its body.
fn answer(
    vm: &mut Vm<&FakeHost>,
    host: &FakeHost,
    stream: u32,
    head: &[(&str, &str)],
    body: &[&str],
) {
    vm.on_context_create(stream, ROOT);
    vm.on_request_headers(stream, true);
    host.property_is("response\0code_details", "via_upstream");
    FakeHost::set(&host.response, head);
    vm.on_response_headers(stream, body.is_empty());
    for (at, part) in body.iter().enumerate() {
        host.body.replace((*part).into());
        let size = u32::try_from(part.len()).unwrap();
        vm.on_response_body(stream, size, at + 1 == body.len());
    }
}

/// The body that is kept of a stream.
fn kept(vm: &Vm<&FakeHost>, stream: u32) -> Option<String> {
    let body = vm.streams[&stream].body()?;
    Some(String::from_utf8(body.to_vec()).unwrap())
}

const OK: (&str, &str) = (":status", "200");

#[test]
fn an_error_inside_an_answer_with_200_counts_where_a_profile_says_so() {
    let host = envoy();
    let mut vm = configured(&host, LOOKING);
    for stream in 2..4 {
        answer(&mut vm, &host, stream, &[OK], &["{\"err", "or\": 1}"]);
        vm.on_log(stream);
    }
    assert_eq!(host.metric("outcome.failure"), 2);
    assert!(!request(&mut vm, &host, 4, GOOD), "it is open");
}

#[test]
fn the_beginning_of_a_body_is_kept_and_no_more_than_the_operator_allows() {
    let host = envoy();
    let settings = LOOKING.replacen('{', r#"{"body": {"bytes": 6}, "#, 1);
    let mut vm = configured(&host, &settings);
    answer(&mut vm, &host, 2, &[OK], &["four", "more", "and more"]);
    assert_eq!(kept(&vm, 2).as_deref(), Some("fourmo"));
}

#[test]
fn no_body_is_kept_where_no_rule_asks_or_nobody_may_look() {
    let host = envoy();
    for settings in [
        "{}",
        &LOOKING.replacen('{', r#"{"body": {"bytes": 0}, "#, 1),
    ] {
        let mut vm = configured(&host, settings);
        answer(&mut vm, &host, 2, &[OK], &["four"]);
        assert_eq!(kept(&vm, 2), None, "{settings}");
        assert!(!vm.looks, "{settings}");
    }
}

#[test]
fn an_answer_that_has_no_body_or_none_that_can_be_read_has_none() {
    let host = envoy();
    let mut vm = configured(&host, LOOKING);
    let gzip = [OK, ("content-encoding", "gzip")];
    for head in [&gzip[..], &[(":status", "204")], &[(":status", "304")]] {
        answer(&mut vm, &host, 2, head, &["x"]);
        assert_eq!(kept(&vm, 2), None, "{head:?}");
        vm.on_delete(2);
    }
    answer(
        &mut vm,
        &host,
        3,
        &[OK, ("content-encoding", "Identity")],
        &["x"],
    );
    assert_eq!(kept(&vm, 3).as_deref(), Some("x"));
    answer(&mut vm, &host, 4, &[OK], &[]);
    assert_eq!(kept(&vm, 4).as_deref(), Some(""), "an empty body is one");
    host.request.borrow_mut()[0].1 = "HEAD".into();
    answer(&mut vm, &host, 5, &[OK], &[]);
    assert_eq!(kept(&vm, 5), None);
}

#[test]
fn a_good_answer_whose_body_is_looked_at_is_judged_at_once() {
    let host = envoy();
    let mut vm = configured(&host, LOOKING);
    let marked = [OK, ("x-envoy-upstream-service-time", "4")];
    answer(&mut vm, &host, 2, &marked, &["{}"]);
    vm.on_log(2);
    assert_eq!(host.metric("outcome.success"), 1);
    // Without a body it waits for others.
    answer(&mut vm, &host, 3, &[(":status", "204"), marked[1]], &[]);
    vm.on_log(3);
    assert_eq!(host.metric("outcome.success"), 1);
}
