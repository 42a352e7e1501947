//! Every stream is counted once, whatever the load, and the room for the counts is bounded.

use fusewire_tests::envoy::load::calls;
use fusewire_tests::envoy::steps::{also, trips_on_three};
use fusewire_tests::envoy::{Envoy, Provider, Setup};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::header;
use fusewire_tests::upstream::{Reply, Upstream};
use serde_json::{Value, json};

/// A configuration of the filter whose breakers trip on this many failures, and hold nobody back for
/// less.
fn trips_on(count: u64) -> Value {
    json!({"policy": {"breaker": {
        "failures": {"count": count, "window": "1h"},
        "failure-ratio": false,
        "cool-down": {"first": "10m", "jitter": 0},
        "holds": false,
    }}})
}

async fn both_workers_had_calls(envoy: &Envoy) {
    for worker in 0..2 {
        let name = format!("listener.127.0.0.1_0.worker_{worker}.downstream_cx_total");
        assert!(
            envoy.stat(&name).await > Some(0),
            "worker {worker} had calls"
        );
    }
}

#[tokio::test]
async fn the_counters_are_what_the_providers_saw() {
    const CALLS: u64 = 500;
    let replies = [
        ("good", Reply::ok("fine")),
        ("bad", Reply::status(500)),
        ("throttling", Reply::status(429)),
        ("resetting", Reply::Reset),
    ];
    let mut setup = Setup::fusewire(&trips_on(1_000_000));
    let mut upstreams = Vec::new();
    for (name, reply) in replies {
        let upstream = Upstream::start().await;
        upstream.say(reply);
        setup = setup.provider(Provider::new(name, upstream.address()));
        upstreams.push((name, upstream));
    }
    let envoy = setup.start().await;
    let ask = async |name: &str| {
        let url = envoy.url(&format!("/{name}"));
        calls(&url, CALLS, 8, |request, _| request).await
    };
    let (good, bad, throttled, reset) =
        tokio::join!(ask("good"), ask("bad"), ask("throttling"), ask("resetting"));
    assert_eq!(good.status(200), CALLS, "{good:?}");
    assert_eq!(bad.status(500), CALLS, "{bad:?}");
    assert_eq!(throttled.status(429), CALLS, "{throttled:?}");
    assert_eq!(reset.status(503), CALLS, "{reset:?}");
    for (name, upstream) in &upstreams {
        assert_eq!(upstream.received().len() as u64, CALLS, "{name}");
    }
    envoy.counted("outcome.success", CALLS).await;
    envoy.counted("outcome.failure", 2 * CALLS).await;
    envoy.counted("outcome.neutral", CALLS).await;
    assert_eq!(envoy.count("admitted").await, 4 * CALLS);
    for nothing in [
        "outcome.dropped",
        "ignored",
        "store.error",
        "store.full",
        "host_error",
    ] {
        assert_eq!(envoy.count(nothing).await, 0, "{nothing}");
    }
    both_workers_had_calls(&envoy).await;
}

#[tokio::test]
async fn no_failure_is_lost_between_workers_and_none_is_counted_twice() {
    const COUNT: u64 = 1_500;
    let upstream = Upstream::start().await;
    upstream.say(Reply::status(500));
    let envoy = Setup::fusewire(&trips_on(COUNT))
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    let tally = calls(&envoy.url("/atlas"), COUNT - 1, 20, |request, _| request).await;
    assert_eq!(tally.status(500), COUNT - 1, "{tally:?}");
    envoy.counted("outcome.failure", COUNT - 1).await;
    assert_eq!(
        envoy.count("transition.to_open").await,
        0,
        "one is missing yet"
    );
    assert_eq!(envoy.get("/atlas").await.status(), 500);
    envoy.counted("transition.to_open", 1).await;
    assert_eq!(
        header(&envoy.get("/atlas").await, "fusewire-refused"),
        "open"
    );
    both_workers_had_calls(&envoy).await;
}

#[tokio::test]
async fn ten_thousand_domains_take_bounded_room_and_push_out_no_open_breaker() {
    let upstream = Upstream::start().await;
    let target = json!({"provider": {"header": "x-provider"}});
    let configuration = also(
        also(trips_on_three("10m"), "target", target),
        "keys",
        json!(64),
    );
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    let ask = async |provider: &str| {
        let answer = envoy
            .request("/atlas")
            .header("x-provider", provider)
            .send()
            .await;
        answer.expect("an answer")
    };
    upstream.say(Reply::status(500));
    for _ in 0..3 {
        ask("tripped").await;
    }
    envoy.counted("transition.to_open", 1).await;
    upstream.say(Reply::ok(""));

    let flood = async |number: u64| {
        let tally = calls(&envoy.url("/atlas"), number, 16, |request, n| {
            request.header("x-provider", format!("provider-{n}"))
        })
        .await;
        assert_eq!(tally.status(200), number, "{tally:?}");
    };
    flood(2_000).await;
    let before = envoy.memory_kib();
    flood(10_000).await;
    let grown = envoy.memory_kib().saturating_sub(before);
    assert!(grown < 16 * 1024, "the memory has grown by {grown} KiB");
    assert_eq!(header(&ask("tripped").await, "fusewire-refused"), "open");
    envoy.counted("outcome.success", 12_000).await;
}

#[tokio::test]
async fn a_breaker_for_which_there_is_no_room_lets_calls_through_and_a_metric_says_so() {
    // More than the filter has room for, whatever `keys` says.
    const DOMAINS: u64 = 7_000;
    let upstream = Upstream::start().await;
    let target = json!({"provider": {"header": "x-provider"}});
    let configuration = also(also(trips_on(1), "target", target), "keys", json!(16));
    let mut envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .start()
        .await;
    upstream.say(Reply::status(500));
    let flood = async || {
        calls(&envoy.url("/atlas"), DOMAINS, 16, |request, n| {
            request.header("x-provider", format!("provider-{n}"))
        })
        .await
    };
    let first = flood().await;
    assert_eq!(first.status(500), DOMAINS, "{first:?}");
    until("each has tripped or found no room", async || {
        let full = envoy.count("store.full").await;
        full + envoy.count("transition.to_open").await >= DOMAINS
    })
    .await;
    assert!(envoy.count("store.full").await > 0, "the metric says so");
    let trips = envoy.count("transition.to_open").await;
    let again = flood().await;
    assert_eq!(
        again.refused, trips,
        "every breaker that has tripped refuses: {again:?}"
    );
    assert_eq!(
        again.status(500),
        DOMAINS - trips,
        "and the others let calls through"
    );
    assert!(envoy.runs());
}
