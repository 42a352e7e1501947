//! What Envoy knows of a stream's end, and what of it is the provider's failure.

use std::net::SocketAddr;
use std::time::Duration;

use fusewire_tests::envoy::steps::{also, errors_are_failures, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Provider, Setup};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::header;
use fusewire_tests::upstream::{End, FullHouse, Reply, Upstream, nobody_there};
use serde_json::{Value, json};

fn setup(address: SocketAddr) -> Setup {
    setup_with(address, json!({}), json!({}))
}

fn setup_with(address: SocketAddr, route: Value, cluster: Value) -> Setup {
    let atlas = Provider::new("atlas", address)
        .route(route)
        .cluster(cluster);
    Setup::fusewire(&trips_on_three("30s")).provider(atlas)
}

/// What became of the streams so far: successes, failures, neutral ones, dropped ones.
async fn outcomes(envoy: &Envoy) -> [u64; 4] {
    [
        envoy.count("outcome.success").await,
        envoy.count("outcome.failure").await,
        envoy.count("outcome.neutral").await,
        envoy.count("outcome.dropped").await,
    ]
}

/// Makes three calls, whatever comes of them, and expects the fourth to be refused. `details` is
/// what Envoy's log says of the first.
async fn three_are_failures(envoy: &Envoy, details: &str) {
    for _ in 0..3 {
        if let Ok(answer) = envoy.request("/atlas").send().await {
            assert_eq!(header(&answer, "fusewire-refused"), "");
            // Half an answer is what some of these are about.
            let _ = answer.bytes().await;
        }
    }
    envoy.counted("transition.to_open", 1).await;
    let refused = envoy.get("/atlas").await;
    assert_eq!(header(&refused, "fusewire-refused"), "open");
    let streams = envoy.ended_streams(4).await;
    let found = &streams[0].details;
    assert!(
        found.starts_with(details),
        "{found:?} does not begin with {details:?}"
    );
    assert_eq!(outcomes(envoy).await, [0, 3, 0, 0]);
}

/// Makes three calls, whatever comes of them, and expects the breaker to be closed still.
async fn three_are_no_failures(envoy: &Envoy, outcome: &str) {
    for _ in 0..3 {
        let answer = envoy.get("/atlas").await;
        assert_eq!(header(&answer, "fusewire-refused"), "");
        answer.bytes().await.expect("the whole answer");
    }
    envoy.counted(outcome, 3).await;
    assert_eq!(
        outcomes(envoy).await.iter().sum::<u64>(),
        3,
        "each was counted once"
    );
    assert_eq!(envoy.count("transition.to_open").await, 0);
}

#[tokio::test]
async fn a_provider_that_hangs_fails() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::Hang);
    let route = json!({"timeout": "0.2s"});
    let envoy = setup_with(upstream.address(), route, json!({}))
        .start()
        .await;
    three_are_failures(&envoy, "response_timeout").await;
    assert_eq!(upstream.received().len(), 3);
}

#[tokio::test]
async fn a_provider_that_hangs_in_the_midst_of_an_answer_fails() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::half_body(End::Hang));
    let route = json!({"timeout": "0.2s"});
    let envoy = setup_with(upstream.address(), route, json!({}))
        .start()
        .await;
    three_are_failures(&envoy, "response_timeout").await;
}

#[tokio::test]
async fn a_provider_that_goes_silent_fails() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::Hang);
    let route = json!({"timeout": "0s", "idle_timeout": "0.2s"});
    let envoy = setup_with(upstream.address(), route, json!({}))
        .start()
        .await;
    three_are_failures(&envoy, "stream_idle_timeout").await;
}

#[tokio::test]
async fn a_provider_that_resets_connections_fails() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::Reset);
    let envoy = setup(upstream.address()).start().await;
    three_are_failures(&envoy, "upstream_reset_before_response_started").await;
}

#[tokio::test]
async fn a_provider_that_breaks_off_in_the_midst_of_an_answer_fails() {
    for end in [End::Reset, End::Close] {
        let upstream = Upstream::start().await;
        upstream.say(Reply::half_body(end));
        let envoy = setup(upstream.address()).start().await;
        three_are_failures(&envoy, "upstream_reset_after_response_started").await;
    }
}

#[tokio::test]
async fn a_provider_that_does_not_speak_http_fails() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::raw("no such thing as HTTP\r\n\r\n", End::Close));
    let envoy = setup(upstream.address()).start().await;
    three_are_failures(
        &envoy,
        "upstream_reset_before_response_started{protocol_error",
    )
    .await;
}

#[tokio::test]
async fn a_provider_that_refuses_connections_fails() {
    let envoy = setup(nobody_there().await).start().await;
    let details = "upstream_reset_before_response_started{remote_connection_failure";
    three_are_failures(&envoy, details).await;
}

#[tokio::test]
async fn a_provider_that_takes_no_connections_fails() {
    let house = FullHouse::start().await;
    let cluster = json!({"connect_timeout": "0.2s"});
    let envoy = setup_with(house.address(), json!({}), cluster)
        .start()
        .await;
    three_are_failures(
        &envoy,
        "upstream_reset_before_response_started{connection_timeout",
    )
    .await;
}

#[tokio::test]
async fn a_provider_that_does_not_speak_tls_where_it_should_fails() {
    let upstream = Upstream::start().await;
    let envoy = Setup::fusewire(&trips_on_three("30s"))
        .provider(Provider::new("atlas", upstream.address()).tls())
        .start()
        .await;
    three_are_failures(&envoy, "upstream_reset_before_response_started").await;
}

#[tokio::test]
async fn a_provider_without_any_host_fails() {
    let cluster = json!({"load_assignment": {"cluster_name": "atlas"}});
    let envoy = setup_with(nobody_there().await, json!({}), cluster)
        .start()
        .await;
    three_are_failures(&envoy, "no_healthy_upstream").await;
}

#[tokio::test]
async fn a_provider_that_throttles_does_not_fail() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::status(429).with("retry-after", "7"));
    // Otherwise the calls after the first one would be held back.
    let mut configuration = trips_on_three("30s");
    configuration["policy"]["breaker"]["holds"] = json!(false);
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    three_are_no_failures(&envoy, "outcome.neutral").await;
    let answer = envoy.get("/atlas").await;
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "retry-after")),
        (429, "7")
    );
}

#[tokio::test]
async fn a_wrong_request_is_not_the_providers_failure() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::status(404));
    let envoy = setup(upstream.address()).start().await;
    three_are_no_failures(&envoy, "outcome.neutral").await;
}

#[tokio::test]
async fn an_error_inside_an_answer_with_200_is_a_failure_where_a_profile_says_so() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::ok(r#"{"error": "the layer is broken"}"#));
    let envoy = Setup::fusewire(&errors_are_failures())
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    three_are_failures(&envoy, "via_upstream").await;
}

#[tokio::test]
async fn an_error_inside_an_answer_is_a_success_where_nobody_may_look() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::ok(r#"{"error": "the layer is broken"}"#));
    let configuration = also(errors_are_failures(), "body", json!({"bytes": 0}));
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    three_are_no_failures(&envoy, "outcome.success").await;
}

#[tokio::test]
async fn an_answer_whose_body_is_looked_at_arrives_as_it_was_sent() {
    let upstream = Upstream::start().await;
    let configuration = also(errors_are_failures(), "body", json!({"bytes": 1000}));
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    upstream.say(Reply::ok(body.clone()));
    assert_eq!(
        envoy.get("/atlas").await.bytes().await.expect("a body"),
        body
    );
    upstream.say(Reply::Bytes {
        parts: [
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
            "one ",
            "two ",
            "three",
        ]
        .map(|part| part.as_bytes().to_vec())
        .to_vec(),
        pause: Duration::from_millis(30),
        end: End::Close,
    });
    assert_eq!(
        envoy.get("/atlas").await.text().await.expect("a body"),
        "one two three"
    );
    envoy.counted("outcome.success", 2).await;
}

#[tokio::test]
async fn a_caller_who_goes_away_is_not_the_providers_failure() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::Hang);
    let envoy = setup(upstream.address()).start().await;
    for call in 1..=4 {
        let asking = tokio::spawn(envoy.request("/atlas").send());
        until("the call is under way", async || {
            upstream.received().len() == call
        })
        .await;
        asking.abort();
        until("Envoy has noticed", async || upstream.left_alone() == call).await;
    }
    envoy.counted("outcome.neutral", 4).await;
    assert_eq!(outcomes(&envoy).await, [0, 0, 4, 0]);
    assert_eq!(
        envoy.ended_streams(4).await[0].details,
        "downstream_remote_disconnect"
    );
    upstream.say(Reply::ok("fine"));
    assert_eq!(envoy.get("/atlas").await.status(), 200);
}

#[tokio::test]
async fn what_envoy_refuses_for_its_own_limits_is_not_the_providers_failure() {
    let upstream = Upstream::start().await;
    upstream.say(Reply::Hang);
    let limits = json!({"circuit_breakers": {"thresholds": [
        {"max_connections": 1, "max_pending_requests": 1}
    ]}});
    let setup = setup_with(upstream.address(), json!({}), limits);
    // Each worker may have a connection, whatever the limit.
    let envoy = setup.workers(1).start().await;
    let held = tokio::spawn(envoy.request("/atlas").send());
    until("the only place is taken", async || {
        upstream.received().len() == 1
    })
    .await;
    let waiting = tokio::spawn(envoy.request("/atlas").send());
    let full = "cluster.atlas.circuit_breakers.default.rq_pending_open";
    until("no other may wait", async || {
        envoy.stat(full).await == Some(1)
    })
    .await;
    for _ in 0..4 {
        let answer = envoy.get("/atlas").await;
        assert_eq!(
            (
                answer.status().as_u16(),
                header(&answer, "x-envoy-overloaded")
            ),
            (503, "true")
        );
    }
    envoy.counted("outcome.neutral", 4).await;
    assert_eq!(outcomes(&envoy).await, [0, 0, 4, 0]);
    assert_eq!(envoy.ended_streams(4).await[0].flags, "UO");
    held.abort();
    waiting.abort();
}

#[tokio::test]
async fn what_envoy_answers_by_itself_is_not_the_providers_doing() {
    let upstream = Upstream::start().await;
    let target = json!({"provider": {"name": "atlas"}});
    let envoy = Setup::fusewire(&also(trips_on_three("30s"), "target", target))
        .provider(Provider::new("atlas", upstream.address()))
        .route(json!({"match": {"path": "/broken"}, "direct_response": {"status": 500}}))
        .start()
        .await;
    for _ in 0..4 {
        assert_eq!(envoy.get("/broken").await.status(), 500);
        assert_eq!(envoy.get("/no/such/route").await.status(), 404);
    }
    envoy.counted("outcome.dropped", 8).await;
    assert_eq!(outcomes(&envoy).await, [0, 0, 0, 8]);
    assert_eq!(envoy.get("/atlas").await.status(), 200);
}

#[tokio::test]
async fn a_request_that_leads_nowhere_is_let_through_and_counted_as_such() {
    let upstream = Upstream::start().await;
    let envoy = setup(upstream.address()).start().await;
    assert_eq!(envoy.get("/no/such/route").await.status(), 404);
    envoy.counted("invalid_target", 1).await;
    assert_eq!(outcomes(&envoy).await, [0; 4]);
}

#[tokio::test]
async fn a_refusal_is_never_an_outcome() {
    let upstream = Upstream::start().await;
    let envoy = setup(upstream.address()).start().await;
    trip(&envoy, &upstream, "/atlas").await;
    for _ in 0..50 {
        assert_eq!(
            header(&envoy.get("/atlas").await, "fusewire-refused"),
            "open"
        );
    }
    envoy.ended_streams(53).await;
    assert_eq!(outcomes(&envoy).await, [0, 3, 0, 0]);
    assert_eq!(envoy.count("admitted").await, 3);
    assert_eq!(envoy.count("refused.open").await, 50);
    assert_eq!(envoy.count("transition.to_open").await, 1);
}

#[tokio::test]
async fn a_stream_that_envoy_retries_is_one_outcome() {
    let upstream = Upstream::start().await;
    let retries = json!({"retry_policy": {"retry_on": "5xx", "num_retries": 2}});
    let envoy = setup_with(upstream.address(), retries, json!({}))
        .start()
        .await;
    for _ in 0..2 {
        upstream.say_once(Reply::status(503));
    }
    assert_eq!(envoy.get("/atlas").await.status(), 200);
    envoy.counted("outcome.success", 1).await;
    assert_eq!(upstream.received().len(), 3);
    assert_eq!(outcomes(&envoy).await, [1, 0, 0, 0]);

    upstream.say(Reply::status(503));
    for _ in 0..3 {
        assert_eq!(envoy.get("/atlas").await.status(), 503);
    }
    envoy.counted("transition.to_open", 1).await;
    assert_eq!(upstream.received().len(), 3 + 3 * 3);
    assert_eq!(outcomes(&envoy).await, [1, 3, 0, 0]);
    assert_eq!(
        header(&envoy.get("/atlas").await, "fusewire-refused"),
        "open"
    );
}
