//! What a policy on WASI sees of answers: through the guard their bodies, and through a driver whatever
//! it is told.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use fusewire_tests::gateway::{client, header};
use fusewire_tests::upstream::{End, Reply, Upstream};
use fusewire_tests::wasi::artefacts;
use fusewire_tests::wasi::drive::Drive;
use fusewire_tests::wasi::keyvalue::Contents;
use fusewire_tests::wasi::serve::Server;
use serde_json::{Value, json};

/// Three failures open the breaker; an `error` in an answer of JSON is one, and so is an empty body.
const POLICY: &str = r#"{
    "breaker": {"failures": {"count": 3}},
    "profile": "strict",
    "profiles": {"strict": {"rules": [
        {"name": "error", "when": {"json": {"/error": true}}, "then": "transient"},
        {"name": "empty", "when": {"magic": "empty"}, "then": "transient"},
        {"name": "event", "when": {"event": "error"}, "then": "transient"}
    ]}}
}"#;

const ERROR: &str = r#"{"error": "the layer is broken"}"#;

/// A guard before a service that gives this answer.
async fn guarded(component: &str, reply: Reply, more: &[(&str, &str)]) -> (Upstream, Server) {
    let service = Upstream::start().await;
    service.say(reply);
    let url = service.url("");
    let mut environment = vec![
        ("FUSEWIRE_UPSTREAM", url.as_str()),
        ("FUSEWIRE_POLICY", POLICY),
    ];
    environment.extend(more);
    let guard = Server::start(component, &environment, &Contents::increment()).await;
    (service, guard)
}

/// Whether three calls open the breaker.
async fn three_open(guard: &Server, method: &str) -> bool {
    let ask = async || {
        let method = method.parse().expect("a method");
        let answer = client().request(method, guard.url("/")).send().await;
        let answer = answer.expect("an answer");
        let refused = header(&answer, "fusewire-attempts") == "0";
        answer.bytes().await.expect("the whole answer");
        refused
    };
    for _ in 0..3 {
        assert!(!ask().await, "refused too early");
    }
    ask().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_inside_an_answer_with_200_counts_where_a_profile_says_so() {
    let (_service, guard) = guarded(artefacts::GUARD, Reply::ok(ERROR), &[]).await;
    assert!(three_open(&guard, "GET").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_of_a_body_is_shown_than_the_operator_allows() {
    let late = format!("{}{ERROR}", " ".repeat(100));
    for (bytes, fails) in [("0", false), ("80", false), ("200", true)] {
        let limit = [("FUSEWIRE_BODY_BYTES", bytes)];
        let (_service, guard) = guarded(artefacts::GUARD, Reply::ok(late.as_str()), &limit).await;
        assert_eq!(three_open(&guard, "GET").await, fails, "{bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_body_or_with_a_compressed_one_shows_none() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(ERROR.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let head = Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n", End::Close);
    for (method, reply, fails) in [
        ("HEAD", head, false),
        (
            "GET",
            Reply::raw("HTTP/1.1 204 No Content\r\n\r\n", End::Close),
            false,
        ),
        (
            "GET",
            Reply::ok(gzip).with("content-encoding", "gzip"),
            false,
        ),
        ("GET", Reply::ok(""), true),
    ] {
        let told = format!("{method} {reply:?}");
        let (_service, guard) = guarded(artefacts::GUARD, reply, &[]).await;
        assert_eq!(three_open(&guard, method).await, fails, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_looked_at_is_passed_on_as_it_comes() {
    let first = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: first\n\n";
    let reply = Reply::raw(first, End::Hang);
    let (_service, guard) = guarded(artefacts::GUARD, reply, &[]).await;
    let mut answer = client().get(guard.url("/")).send().await.unwrap();
    // The service has not ended it.
    let chunk = answer.chunk().await.unwrap().unwrap();
    assert_eq!(chunk, "data: first\n\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_was_built_against_the_first_contract_guards_as_before() {
    let failing = Reply::status(503);
    let (service, guard) = guarded(artefacts::GUARD_FIRST, failing, &[]).await;
    assert!(three_open(&guard, "GET").await);
    assert_eq!(service.received().len(), 3);
    // It knows of no bodies.
    let (_service, guard) = guarded(artefacts::GUARD_FIRST, Reply::ok(ERROR), &[]).await;
    assert!(!three_open(&guard, "GET").await);
}

#[test]
fn a_body_that_a_driver_is_told_reaches_the_policy() {
    for mut drive in [
        Drive::staged(artefacts::POLICY_DRIVE).unwrap(),
        Drive::shipped(artefacts::POLICY).unwrap(),
    ] {
        let mut ask = |request: Value| {
            let answer = drive.answer(&request.to_string());
            serde_json::from_str::<Value>(&answer).unwrap()
        };
        let problems = ask(json!({"configure": POLICY}));
        assert_eq!(problems, json!({"problems": []}));
        let rule = |body: Value| {
            json!({"classify": {
                "target": {"provider": "p", "account": null, "operation": null},
                "observation": {
                    "response": {"status": 200, "headers": [], "trailers": [], "body": body},
                    "failure": null, "cause": null, "latency-ms": 1, "now-ms": 1,
                    "idempotent": true, "delivered-partial": false, "expect": "any",
                    "minimum-budget-ms": null,
                },
            }})
        };
        let told = ask(rule(json!(ERROR.as_bytes())));
        assert_eq!(told["verdict"]["rule"], "profile/strict/error", "{told}");
        let told = ask(rule(json!([])));
        assert_eq!(told["verdict"]["rule"], "profile/strict/empty", "{told}");
        let told = ask(rule(Value::Null));
        assert_eq!(told["verdict"]["rule"], "status/200", "{told}");
    }
}
