//! The filter in a real Envoy sees what a policy judges by: status, fields, bodies, trailers and
//! failures, and holds nothing back for it.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use fusewire::cases::{Case, Whom};
use fusewire_core::{Field, Response};
use fusewire_tests::cases::Cases;
use fusewire_tests::envoy::recorded::not_played;
use fusewire_tests::envoy::steps::{also, errors_are_failures, trips_on_three};
use fusewire_tests::envoy::{Envoy, Http2, Provider, Recorded, Setup};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{self, header};
use fusewire_tests::upstream::{End, Reply, Upstream};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

/// How often each answer is played: as many failures in a minute open a breaker.
const TIMES: usize = 5;

/// A provider's settings, by which a case is judged.
fn settings(case: &Case) -> Value {
    let Whom::Profile(profile) = &case.input.setup.whom else {
        panic!("{} names a provider", case.id);
    };
    json!({"profile": profile, "expect": case.input.observation.expect.name()})
}

/// Waits until so many calls have been judged.
async fn settled(envoy: &Envoy, number: usize) {
    let what = format!("{number} calls have been judged");
    until(&what, async || {
        let mut judged = 0;
        for outcome in ["success", "failure", "neutral", "dropped"] {
            judged += envoy.count(&format!("outcome.{outcome}")).await;
        }
        judged == number as u64
    })
    .await;
}

/// Asks every provider once, a few at a time, and returns those that the filter refused.
async fn ask_all(envoy: &Envoy, names: &[String]) -> Vec<String> {
    let mut refused = Vec::new();
    for some in names.chunks(16) {
        let mut asking: JoinSet<_> = some
            .iter()
            .map(|name| {
                let (request, name) = (envoy.request(&format!("/{name}")), name.clone());
                async move {
                    let Ok(answer) = request.send().await else {
                        // A failure that breaks off what the caller sees as well.
                        return None;
                    };
                    let is_refused = !header(&answer, "fusewire-refused").is_empty();
                    let _ = answer.bytes().await;
                    is_refused.then_some(name)
                }
            })
            .collect();
        while let Some(name) = asking.join_next().await {
            refused.extend(name.expect("a task that ends"));
        }
    }
    refused.sort();
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn every_labelled_answer_opens_the_breaker_exactly_where_it_counts_against_it() {
    let cases = Cases::all().cases;
    let mut playing = Vec::new();
    let mut providers = Map::new();
    for case in &cases {
        let seen = &case.input.observation;
        if not_played(seen).is_none() {
            providers.insert(case.id.clone(), settings(case));
            playing.push((case, Recorded::start(&case.id, seen).await));
        }
    }
    let mut setup = Setup::fusewire(&json!({"policy": {
        "breaker": {
            "failures": {"count": TIMES, "window": "60s"},
            "failure-ratio": false,
            "cool-down": {"first": "10m", "jitter": 0},
            // Every answer is to be seen, those as well that say to wait.
            "holds": false,
        },
        "providers": providers,
    }, "keys": 16_384}));
    for (_, recorded) in &playing {
        setup = setup.provider(recorded.provider.clone());
    }
    let envoy = setup.start().await;

    let names: Vec<String> = playing.iter().map(|(case, _)| case.id.clone()).collect();
    for _ in 0..TIMES {
        assert_eq!(ask_all(&envoy, &names).await, [""; 0], "refused too early");
    }
    settled(&envoy, TIMES * names.len()).await;
    let refused = ask_all(&envoy, &names).await;

    let counts = |case: &Case| case.expected.counts.expect("a label that says so");
    let wrong: Vec<String> = playing
        .iter()
        .filter(|(case, _)| counts(case) != refused.contains(&case.id))
        .map(|(case, _)| {
            let (id, why, label) = (&case.id, &case.why, counts(case));
            format!("{id}: counts should be {label}: {why}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let left_out = cases.len() - names.len();
    assert!(left_out < 50, "{left_out} are not played");
}

/// Whether three calls to a provider open its breaker.
async fn three_open(envoy: &Envoy) -> bool {
    for _ in 0..3 {
        if let Ok(answer) = envoy.request("/atlas").send().await {
            assert_eq!(header(&answer, "fusewire-refused"), "");
            let _ = answer.bytes().await;
        }
    }
    settled(envoy, 3).await;
    header(&envoy.get("/atlas").await, "fusewire-refused") == "open"
}

fn fields(fields: &[(&str, &str)]) -> Vec<Field> {
    let field = |(name, value): &(&str, &str)| Field {
        name: (*name).into(),
        value: (*value).into(),
    };
    fields.iter().map(field).collect()
}

#[tokio::test]
async fn a_grpc_status_is_seen_in_trailers_and_in_the_head_of_an_answer_that_has_nothing_else() {
    let status = |code: &str| fields(&[("grpc-status", code)]);
    let media = fields(&[("content-type", "application/grpc")]);
    let message = Some(b"\0\0\0\0\0".to_vec());
    for (code, fails) in [("14", true), ("0", false), ("3", false)] {
        let after_a_message = Response {
            status: 200,
            headers: media.clone(),
            body: message.clone(),
            trailers: status(code),
        };
        let alone = Response {
            status: 200,
            headers: [media.clone(), status(code)].concat(),
            ..Response::default()
        };
        for answer in [after_a_message, alone] {
            let told = format!("{answer:?}");
            let upstream = Http2::start(Some(answer)).await;
            let mut configuration = trips_on_three("30s");
            configuration["policy"]["profile"] = json!("grpc");
            let envoy = Setup::fusewire(&configuration)
                .provider(Provider::new("atlas", upstream.address()).http2())
                .start()
                .await;
            assert_eq!(three_open(&envoy).await, fails, "{told}");
        }
    }
}

#[tokio::test]
async fn a_compressed_error_is_seen_where_envoy_decompresses_it_before_the_filter() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(br#"{"error": "the layer is broken"}"#)
        .expect("memory");
    let body = gzip.finish().expect("memory");
    let upstream = Upstream::start().await;
    upstream.say(
        Reply::ok(body)
            .with("content-type", "application/json")
            .with("content-encoding", "gzip"),
    );
    let library = "type.googleapis.com/envoy.extensions.compression.gzip.decompressor.v3.Gzip";
    let filter = "type.googleapis.com/envoy.extensions.filters.http.decompressor.v3.Decompressor";
    let decompressor = json!({
        "name": "envoy.filters.http.decompressor",
        "typed_config": {
            "@type": filter,
            "decompressor_library": {"name": "gzip", "typed_config": {"@type": library}},
        },
    });
    let setup = Setup::fusewire(&errors_are_failures())
        .provider(Provider::new("atlas", upstream.address()));
    assert!(!three_open(&setup.clone().start().await).await);
    assert!(three_open(&setup.behind(decompressor).start().await).await);
}

#[tokio::test]
async fn an_answer_without_a_body_is_not_taken_for_one_with_an_empty_body() {
    let mut configuration = trips_on_three("30s");
    configuration["policy"]["profile"] = json!("not-empty");
    configuration["policy"]["profiles"] = json!({"not-empty": {"rules": [{
        "when": {"magic": "empty"},
        "then": "transient",
    }]}});
    let upstream = Upstream::start().await;
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    upstream.say(Reply::raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n",
        End::Close,
    ));
    let client = gateway::client();
    for _ in 0..3 {
        let answer = client.head(envoy.url("/atlas")).send().await;
        assert_eq!(answer.expect("an answer").status(), 200);
    }
    upstream.say(Reply::status(204));
    for _ in 0..3 {
        assert_eq!(envoy.get("/atlas").await.status(), 204);
    }
    envoy.counted("outcome.success", 6).await;
    upstream.say(Reply::ok(""));
    for _ in 0..3 {
        assert_eq!(envoy.get("/atlas").await.status(), 200);
    }
    envoy.counted("outcome.failure", 3).await;
}

#[tokio::test]
async fn an_event_stream_is_passed_on_as_it_comes_and_an_error_in_it_counts() {
    let mut configuration = trips_on_three("30s");
    configuration["policy"]["profile"] = json!("events");
    configuration["policy"]["profiles"] = json!({"events": {"rules": [{
        "when": {"event": "error"},
        "then": "transient",
    }]}});
    let upstream = Upstream::start().await;
    let pause = Duration::from_millis(300);
    upstream.say(Reply::Bytes {
        parts: vec![
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
              event: token\ndata: {}\n\n"
                .to_vec(),
            b"event: error\ndata: {\"type\": \"overloaded_error\"}\n\n".to_vec(),
        ],
        pause,
        end: End::Close,
    });
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    for _ in 0..3 {
        let mut answer = envoy.get("/atlas").await;
        let first = answer.chunk().await.expect("a chunk").expect("one more");
        assert_eq!(first, "event: token\ndata: {}\n\n");
        let second = answer.chunk().await.expect("a chunk").expect("one more");
        assert!(second.starts_with(b"event: error\n"), "{second:?}");
    }
    envoy.counted("outcome.failure", 3).await;
    envoy.counted("transition.to_open", 1).await;
}

#[tokio::test]
async fn no_more_of_a_body_is_looked_at_than_the_operator_allows() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::ok(r#"{"fine": "enough", "error": "too late"}"#));
    for (bytes, fails) in [(64, true), (20, false)] {
        let configuration = also(errors_are_failures(), "body", json!({"bytes": bytes}));
        let envoy = Setup::fusewire(&configuration)
            .provider(Provider::new("atlas", upstream.address()))
            .start()
            .await;
        assert_eq!(three_open(&envoy).await, fails, "{bytes}");
    }
}
