//! Envoys that exchange with one Fusewire host share their breakers, and each gets by without it.

use std::sync::Arc;
use std::time::Instant;

use fusewire::core::Target;
use fusewire::gateway::Gateway;
use fusewire::store::{MemoryStore, Store};
use fusewire_tests::envoy::load::calls;
use fusewire_tests::envoy::steps::{also, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Filter, Provider, Setup, Updates};
use fusewire_tests::fleet::{self, until};
use fusewire_tests::gateway::{self, header};
use fusewire_tests::upstream::{Reply, Upstream};
use serde_json::json;

/// A Fusewire host for filters, on this store and this port; zero: a free one.
async fn host(store: &Arc<MemoryStore>, port: u16) -> Gateway {
    let toml = format!("listen = \"127.0.0.1:{port}\"\n[exchange]\ntoken = \"secret\"\n");
    let store = Arc::clone(store) as Arc<dyn Store>;
    let builder = Gateway::builder(gateway::config(&toml)).store(store);
    match builder.start().await {
        Ok(host) => host,
        Err(error) => panic!("{error}"),
    }
}

/// An Envoy of the fleet, which has exchanged at least once.
async fn envoy(instance: &str, host: &Gateway, atlas: &Upstream, cool_down: &str) -> Envoy {
    let fleet = json!({"cluster": "fusewire", "token": "secret", "every": "100ms"});
    let configuration = also(trips_on_three(cool_down), "fleet", fleet);
    let envoy = Setup::fusewire(&also(configuration, "instance", json!(instance)))
        .provider(Provider::new("atlas", atlas.address()))
        .provider(Provider::new("fusewire", host.address()))
        .start()
        .await;
    exchanges(&envoy, 1).await;
    envoy
}

/// Waits until it has exchanged so many times more.
async fn exchanges(envoy: &Envoy, more: u64) {
    let before = envoy.count("exchange.ok").await;
    until("it exchanges with the host", async || {
        envoy.count("exchange.ok").await >= before + more
    })
    .await;
}

/// Waits until it refuses.
async fn refuses(envoy: &Envoy) {
    until("it refuses", async || {
        header(&envoy.get("/atlas").await, "fusewire-refused") == "open"
    })
    .await;
}

#[tokio::test]
async fn a_trip_on_one_envoy_refuses_on_the_other() {
    let upstream = Upstream::start().await;
    let host = host(&Arc::default(), 0).await;
    let one = envoy("envoy-1", &host, &upstream, "10m").await;
    let other = envoy("envoy-2", &host, &upstream, "10m").await;
    assert_eq!(other.get("/atlas").await.status(), 200);
    trip(&one, &upstream, "/atlas").await;
    let tripped = Instant::now();
    // The other one sees no failure of its own.
    upstream.say(Reply::ok(""));
    refuses(&other).await;
    println!(
        "the other Envoy refused {:?} after the trip",
        tripped.elapsed()
    );
    assert_eq!(other.count("outcome.failure").await, 0);
    assert_eq!(
        other.count("transition.to_open").await,
        0,
        "a trip is told once"
    );
    let admitted = other.count("admitted").await;
    other.counted("outcome.success", admitted).await;
}

#[tokio::test]
async fn failures_on_two_envoys_trip_one_breaker() {
    let upstream = Upstream::start().await;
    let host = host(&Arc::default(), 0).await;
    let one = envoy("envoy-1", &host, &upstream, "10m").await;
    let other = envoy("envoy-2", &host, &upstream, "10m").await;
    upstream.say(Reply::status(500));
    for envoy in [&one, &other] {
        assert_eq!(envoy.get("/atlas").await.status(), 500);
        envoy.counted("outcome.failure", 1).await;
    }
    // What each has counted reaches the host, and comes back to the other.
    exchanges(&one, 2).await;
    exchanges(&other, 2).await;
    assert_eq!(
        other.get("/atlas").await.status(),
        500,
        "the third failure in all"
    );
    other.counted("transition.to_open", 1).await;
    upstream.say(Reply::ok(""));
    refuses(&one).await;
    assert_eq!(
        one.count("transition.to_open").await,
        0,
        "a trip is told once"
    );
    assert_eq!(
        one.count("outcome.failure").await + other.count("outcome.failure").await,
        3
    );
}

#[tokio::test]
async fn where_it_takes_two_envoys_one_that_fails_alone_opens_for_itself_alone() {
    let upstream = Upstream::start().await;
    let host = host(&Arc::default(), 0).await;
    let mut envoys = Vec::new();
    for instance in ["envoy-1", "envoy-2"] {
        let fleet = json!({"cluster": "fusewire", "token": "secret", "every": "100ms"});
        let mut configuration = also(trips_on_three("10m"), "fleet", fleet);
        configuration["policy"]["breaker"]["quorum"] = json!({"instances": 2});
        let envoy = Setup::fusewire(&also(configuration, "instance", json!(instance)))
            .provider(Provider::new("atlas", upstream.address()))
            .provider(Provider::new("fusewire", host.address()))
            .start()
            .await;
        exchanges(&envoy, 1).await;
        envoys.push(envoy);
    }
    let [one, other] = &envoys[..] else {
        panic!("two Envoys");
    };
    upstream.say(Reply::status(500));
    for _ in 0..3 {
        assert_eq!(one.get("/atlas").await.status(), 500);
    }
    one.counted("alone.to_open", 1).await;
    refuses(one).await;
    assert!(
        one.log().contains("for this instance alone"),
        "the log says so"
    );
    assert_eq!(one.count("transition.to_open").await, 0);
    exchanges(one, 2).await;
    exchanges(other, 2).await;
    assert_eq!(other.count("refused.open").await, 0);
    // It asks, and is the second one that sees it; what the first one has counted is known to it
    // when it has counted something itself.
    assert_eq!(other.get("/atlas").await.status(), 500);
    other.counted("outcome.failure", 1).await;
    exchanges(other, 2).await;
    assert_eq!(other.get("/atlas").await.status(), 500);
    other.counted("transition.to_open", 1).await;
    refuses(other).await;
    assert_eq!(other.count("alone.to_open").await, 0);
}

#[tokio::test]
async fn an_envoy_and_a_rust_host_share_a_breaker_in_both_directions() {
    let upstream = Upstream::start().await;
    let (by_envoy, by_guard) = (Target::provider("atlas"), Target::provider("meridian"));
    let toml = "[exchange]\npath = \"/fusewire/exchange\"\ntoken = \"secret\"\n\
                [policy.breaker]\nfailures = { count = 3, window = \"60s\" }\n";
    let host = gateway::start(toml).await;
    let fleet = json!({"cluster": "fusewire", "token": "secret", "every": "100ms"});
    let envoy = Setup::fusewire(&also(trips_on_three("10m"), "fleet", fleet))
        .provider(Provider::new("atlas", upstream.address()))
        .provider(Provider::new("meridian", upstream.address()))
        .provider(Provider::new("fusewire", host.address()))
        .start()
        .await;
    exchanges(&envoy, 1).await;
    trip(&envoy, &upstream, "/atlas").await;
    let guard = host.guard();
    until("the Rust host knows", async || {
        fleet::state(guard, &by_envoy).await.phase == fusewire::core::Phase::Open
    })
    .await;

    upstream.say(Reply::ok(""));
    assert_eq!(envoy.get("/meridian").await.status(), 200);
    fleet::trip(guard, &by_guard).await;
    until("Envoy knows", async || {
        header(&envoy.get("/meridian").await, "fusewire-refused") == "open"
    })
    .await;
}

#[tokio::test]
async fn without_the_host_each_envoy_decides_by_itself_and_with_it_they_share_again() {
    let upstream = Upstream::start().await;
    let store = Arc::default();
    let first = host(&store, 0).await;
    let port = first.address().port();
    let one = envoy("envoy-1", &first, &upstream, "10m").await;
    let other = envoy("envoy-2", &first, &upstream, "10m").await;
    first.stop().await;
    for envoy in [&one, &other] {
        let before = envoy.count("exchange.failed").await;
        until("it notices", async || {
            envoy.count("exchange.failed").await > before + 1
        })
        .await;
        assert_eq!(envoy.get("/atlas").await.status(), 200);
    }
    trip(&one, &upstream, "/atlas").await;
    refuses(&one).await;
    upstream.say(Reply::ok(""));
    let failed = other.count("exchange.failed").await;
    until("exchanges fail on", async || {
        other.count("exchange.failed").await > failed + 3
    })
    .await;
    assert_eq!(
        other.get("/atlas").await.status(),
        200,
        "it knows nothing of it"
    );

    let _again = host(&store, port).await;
    refuses(&other).await;
    refuses(&one).await;
    assert_eq!(other.count("outcome.failure").await, 0);
}

#[tokio::test]
async fn the_host_has_every_outcome_once_whichever_envoy_counted_it() {
    const CALLS: u64 = 300;
    let upstream = Upstream::start().await;
    let toml = "[exchange]\n[policy.breaker]\nfailures = { count = 100000, window = \"1h\" }\n\
                failure-ratio = false\n";
    let host = gateway::start(toml).await;
    let mut envoys = Vec::new();
    for instance in ["envoy-1", "envoy-2"] {
        let configuration = json!({
            "policy": {"breaker": {
                "failures": {"count": 100_000, "window": "1h"},
                "failure-ratio": false,
            }},
            "fleet": {"cluster": "fusewire", "every": "50ms"},
            "instance": instance,
        });
        let envoy = Setup::fusewire(&configuration)
            .provider(Provider::new("atlas", upstream.address()))
            .provider(Provider::new("fusewire", host.address()))
            .start()
            .await;
        exchanges(&envoy, 1).await;
        envoys.push(envoy);
    }
    let urls = [envoys[0].url("/atlas"), envoys[1].url("/atlas")];
    for (reply, status) in [(Reply::status(500), 500), (Reply::ok(""), 200)] {
        upstream.say(reply);
        let (one, other) = tokio::join!(
            calls(&urls[0], CALLS, 8, |request, _| request),
            calls(&urls[1], CALLS, 8, |request, _| request),
        );
        assert_eq!((one.status(status), other.status(status)), (CALLS, CALLS));
    }
    let atlas = Target::provider("atlas");
    let outcomes = async || {
        let state = fleet::state(host.guard(), &atlas).await;
        [state.failures, state.successes]
    };
    until("the host has them all", async || {
        outcomes().await == [2 * CALLS; 2]
    })
    .await;
    for envoy in &envoys {
        exchanges(envoy, 5).await;
    }
    assert_eq!(outcomes().await, [2 * CALLS; 2], "and none twice");
}

#[tokio::test]
async fn the_exchange_goes_on_over_an_update_of_the_filter() {
    let upstream = Upstream::start().await;
    let host = host(&Arc::default(), 0).await;
    let other = envoy("envoy-2", &host, &upstream, "10m").await;
    let fleet = json!({"cluster": "fusewire", "token": "secret", "every": "100ms"});
    let configuration = also(trips_on_three("10m"), "fleet", fleet);
    let setup = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", upstream.address()))
        .provider(Provider::new("fusewire", host.address()))
        .updates(Updates::Filter);
    let one = setup.start().await;
    exchanges(&one, 1).await;
    let changed = also(configuration, "reply", json!({"status": 429}));
    one.update(&setup.replaced(Filter::fusewire(&changed)));
    trip(&one, &upstream, "/atlas").await;
    until("the changed one is in force", async || {
        one.get("/atlas").await.status() == 429
    })
    .await;
    upstream.say(Reply::ok(""));
    refuses(&other).await;
    exchanges(&one, 5).await;
}

#[tokio::test]
async fn a_host_that_hangs_or_answers_nonsense_holds_no_call_up() {
    for reply in [
        Reply::Hang,
        Reply::Reset,
        Reply::status(500),
        Reply::ok("nonsense"),
        Reply::ok(r#"{"records": [], "counters": []}"#),
    ] {
        let (upstream, host) = (Upstream::start().await, Upstream::start().await);
        host.say(reply.clone());
        let fleet = json!({"cluster": "fusewire", "every": "50ms", "timeout": "200ms"});
        let envoy = Setup::fusewire(&also(trips_on_three("10m"), "fleet", fleet))
            .provider(Provider::new("atlas", upstream.address()))
            .provider(Provider::new("fusewire", host.address()))
            .start()
            .await;
        until("it asks the host", async || !host.received().is_empty()).await;
        for _ in 0..20 {
            assert_eq!(envoy.get("/atlas").await.status(), 200);
        }
        trip(&envoy, &upstream, "/atlas").await;
        refuses(&envoy).await;
        until(&format!("exchanges with {reply:?} fail"), async || {
            envoy.count("exchange.failed").await >= 2
        })
        .await;
        assert_eq!(envoy.count("exchange.ok").await, 0, "{reply:?}");
    }
}

#[tokio::test]
async fn one_worker_of_an_envoy_exchanges_for_all() {
    let (upstream, host) = (Upstream::start().await, Upstream::start().await);
    host.say(Reply::ok(r#"{"now-ms": 0, "records": [], "counters": []}"#));
    let fleet = json!({"cluster": "fusewire", "every": "200ms"});
    let started = Instant::now();
    let _envoy = Setup::fusewire(&also(trips_on_three("10m"), "fleet", fleet))
        .provider(Provider::new("atlas", upstream.address()))
        .provider(Provider::new("fusewire", host.address()))
        .start()
        .await;
    until("ten exchanges were made", async || {
        host.received().len() >= 10
    })
    .await;
    let at_least = started.elapsed().as_millis() / 200 + 2;
    assert!(
        (host.received().len() as u128) <= at_least,
        "{} exchanges in {:?}",
        host.received().len(),
        started.elapsed()
    );
}
