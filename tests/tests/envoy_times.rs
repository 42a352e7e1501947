//! How long requests take and may take in Envoy, and how much of the traffic comes through: probes
//! with less time, requests that hang, the ramp after closing, and who asks too fast.

use std::time::{Duration, Instant};

use fusewire_tests::envoy::steps::{also, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Provider, Setup};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::header;
use fusewire_tests::upstream::{Reply, Upstream};
use reqwest::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// An Envoy with one service behind it, whose route has these fields.
async fn envoy(configuration: &Value, upstream: &Upstream, route: Value) -> Envoy {
    let atlas = Provider::new("atlas", upstream.address()).route(route);
    Setup::fusewire(configuration).provider(atlas).start().await
}

/// A request that is on its way.
fn asked(envoy: &Envoy, path: &str) -> JoinHandle<reqwest::Result<Response>> {
    tokio::spawn(envoy.request(path).send())
}

/// Asks again and again, since too early is refused, until a probe has reached the service, and
/// returns its answer and how long that took from then on.
async fn probe(envoy: &Envoy, upstream: &Upstream) -> (Response, Duration) {
    let before = upstream.received().len();
    let mut asking = asked(envoy, "/atlas");
    until("a probe is under way", async || {
        let is_under_way = upstream.received().len() > before;
        if !is_under_way && asking.is_finished() {
            asking = asked(envoy, "/atlas");
        }
        is_under_way
    })
    .await;
    let began = Instant::now();
    let answer = asking.await.expect("the task ends").expect("an answer");
    (answer, began.elapsed())
}

#[tokio::test]
async fn a_probe_that_hangs_is_cut_off_at_half_of_the_longest_call_and_has_failed() {
    let upstream = Upstream::start().await;
    // The longest call lasts two seconds.
    let envoy = envoy(&trips_on_three("300ms"), &upstream, json!({})).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::Hang);
    let (answer, took) = probe(&envoy, &upstream).await;
    assert_eq!(answer.status(), 504, "Envoy's own answer");
    assert!(
        (Duration::from_millis(900)..Duration::from_millis(1_900)).contains(&took),
        "{took:?}"
    );
    envoy.counted("probe.failed", 1).await;
    assert_eq!(envoy.count("transition.to_open").await, 2);
    assert_eq!(envoy.count("outcome.failure").await, 4);
    // Envoy writes its log a moment later.
    let cut = || {
        envoy
            .streams()
            .into_iter()
            .find(|stream| stream.code == 504)
    };
    until("the probe is in the access log", async || cut().is_some()).await;
    let cut = cut().expect("it is there");
    assert_eq!(
        (&*cut.flags, &*cut.details),
        ("UT", "upstream_per_try_timeout")
    );
}

#[tokio::test]
async fn a_route_that_gives_less_time_than_that_gives_it_to_a_probe_as_well() {
    let upstream = Upstream::start().await;
    let route = json!({"timeout": "0.3s"});
    let envoy = envoy(&trips_on_three("300ms"), &upstream, route).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::Hang);
    let (answer, took) = probe(&envoy, &upstream).await;
    assert_eq!(answer.status(), 504);
    assert!(took < Duration::from_millis(900), "{took:?}");
    envoy.counted("probe.failed", 1).await;
}

#[tokio::test]
async fn a_probe_is_one_attempt_where_other_requests_are_tried_again() {
    let upstream = Upstream::start().await;
    let retries = json!({"retry_policy": {"retry_on": "5xx", "num_retries": 2}});
    let envoy = envoy(&trips_on_three("300ms"), &upstream, retries).await;
    trip(&envoy, &upstream, "/atlas").await;
    assert_eq!(
        upstream.received().len(),
        3 * 3,
        "each was tried three times"
    );
    let (answer, _) = probe(&envoy, &upstream).await;
    assert_eq!(answer.status(), 500);
    envoy.counted("probe.failed", 1).await;
    assert_eq!(upstream.received().len(), 3 * 3 + 1);
    let received = upstream.received();
    for field in [
        "x-envoy-max-retries",
        "x-envoy-upstream-rq-per-try-timeout-ms",
    ] {
        assert_eq!(received[9].header(field), None, "that is for Envoy alone");
    }
}

#[tokio::test]
async fn requests_that_hang_open_the_breaker_while_they_are_under_way() {
    let upstream = Upstream::start().await;
    let configuration = json!({"policy": {"slow": "300ms", "breaker": {
        "failures": false,
        "failure-ratio": false,
        "slow-ratio": {"share": 0.5, "minimum": 4},
        "cool-down": {"first": "30s", "jitter": 0},
    }}});
    let envoy = envoy(&configuration, &upstream, json!({})).await;
    upstream.say(Reply::Hang);
    let hanging: Vec<_> = (0..4)
        .map(|n| asked(&envoy, &format!("/atlas/{n}")))
        .collect();
    envoy.counted("transition.to_open", 1).await;
    assert!(
        hanging.iter().all(|request| !request.is_finished()),
        "none of them has ended"
    );
    let refused = envoy.get("/atlas").await;
    assert_eq!(header(&refused, "fusewire-refused"), "open");
    assert_eq!(upstream.received().len(), 4);
    let told = envoy.log();
    assert!(
        told.contains("fusewire: atlas: closed -> open"),
        "one line says so"
    );
    for request in hanging {
        request.abort();
    }
    // A caller who goes away judges nobody.
    envoy.counted("outcome.neutral", 4).await;
    assert_eq!(envoy.count("outcome.failure").await, 0);
}

#[tokio::test]
async fn after_closing_a_share_of_the_requests_is_let_through_and_in_the_end_all() {
    const CALLS: usize = 150;
    let upstream = Upstream::start().await;
    let mut configuration = trips_on_three("300ms");
    configuration["policy"]["breaker"]["ramp"] = json!({"time": "4s", "first-share": 0.1});
    let envoy = envoy(&configuration, &upstream, json!({})).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::ok("here again"));
    let (answer, _) = probe(&envoy, &upstream).await;
    assert_eq!(answer.status(), 200);
    envoy.counted("transition.to_closed", 1).await;
    let closed = Instant::now();

    let before = upstream.received().len();
    let mut refused = Vec::new();
    for _ in 0..CALLS {
        let answer = envoy.get("/atlas").await;
        if answer.status() == 503 {
            refused.push(answer);
        }
    }
    let took = closed.elapsed();
    let passed = CALLS - refused.len();
    assert_eq!(upstream.received().len() - before, passed);
    println!("{passed} of {CALLS} were let through within {took:?}");
    assert!(!refused.is_empty() && passed > 0, "{passed} of {CALLS}");
    // At half of the time it is somewhat more than half of the requests.
    if took < Duration::from_secs(1) {
        assert!(
            passed < CALLS * 2 / 3,
            "{passed} of {CALLS} within {took:?}"
        );
    }
    assert_eq!(envoy.count("refused.ramp").await, refused.len() as u64);
    let first = refused.swap_remove(0);
    assert_eq!(header(&first, "fusewire-refused"), "ramp");
    assert_eq!(header(&first, "retry-after"), "1");
    let problem: Value = first.json().await.expect("a problem in JSON");
    assert_eq!(problem["reason"], "ramp");

    until("the ramp is over", async || {
        closed.elapsed() > Duration::from_millis(4_500)
    })
    .await;
    for _ in 0..20 {
        assert_eq!(envoy.get("/atlas").await.status(), 200);
    }
}

/// An answer that tells to wait half a minute.
fn too_fast() -> Reply {
    Reply::status(429).with("retry-after", "30")
}

/// What a caller learns who is held back.
async fn is_told_to_wait(refused: Response, domain: &str) {
    assert_eq!(refused.status(), 503);
    assert_eq!(header(&refused, "fusewire-refused"), "hold");
    assert_eq!(header(&refused, "fusewire-domain"), domain);
    assert_eq!(header(&refused, "content-type"), "application/problem+json");
    let wait: u64 = header(&refused, "retry-after").parse().expect("seconds");
    assert!((25..=30).contains(&wait), "{wait}");
    let problem: Value = refused.json().await.expect("a problem in JSON");
    assert_eq!(
        (&problem["reason"], &problem["domain"]),
        (&json!("hold"), &json!(domain))
    );
    let detail = problem["detail"].as_str().expect("a sentence");
    assert!(detail.starts_with("held back: "), "{detail}");
}

#[tokio::test]
async fn a_service_that_says_to_wait_is_not_asked_until_then() {
    let upstream = Upstream::start().await;
    let envoy = envoy(&json!({}), &upstream, json!({})).await;
    upstream.say(too_fast());
    let answer = envoy.get("/atlas").await;
    assert_eq!(answer.status(), 429, "this one is the service's own");
    envoy.counted("held", 1).await;
    upstream.say(Reply::ok(""));
    is_told_to_wait(envoy.get("/atlas").await, "atlas").await;
    assert_eq!(upstream.received().len(), 1);
    assert_eq!(envoy.count("refused.hold").await, 1);
    assert_eq!(
        envoy.count("transition.to_open").await,
        0,
        "that is no matter of health"
    );
}

#[tokio::test]
async fn an_account_that_asks_too_fast_is_held_back_and_the_others_are_not() {
    let upstream = Upstream::start().await;
    let target = json!({"account": {"header": "x-account"}});
    let configuration = also(json!({}), "target", target);
    let envoy = envoy(&configuration, &upstream, json!({})).await;
    let ask = async |account: &str| {
        let request = envoy.request("/atlas").header("x-account", account);
        request.send().await.expect("an answer")
    };
    upstream.say(too_fast());
    assert_eq!(ask("hasty").await.status(), 429);
    envoy.counted("held", 1).await;
    upstream.say(Reply::ok(""));
    is_told_to_wait(ask("hasty").await, "atlas@hasty").await;
    assert_eq!(ask("patient").await.status(), 200);
    assert_eq!(upstream.received().len(), 2);
}
