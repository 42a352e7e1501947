//! A breaker in Envoy: it trips, refuses, tests the recovery with one call, and closes.

use std::time::{Duration, Instant};

use fusewire_tests::envoy::steps::{also, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Load, Provider, Setup};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{self, header};
use fusewire_tests::upstream::{End, Reply, Upstream};
use serde_json::{Value, json};

async fn envoy(configuration: &Value, upstream: &Upstream) -> Envoy {
    let atlas = Provider::new("atlas", upstream.address());
    Setup::fusewire(configuration).provider(atlas).start().await
}

/// An answer that comes after a while.
fn slowly(pause: Duration) -> Reply {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    Reply::Bytes {
        parts: vec![answer.into()],
        pause,
        end: End::Close,
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_not_asked_any_more_and_the_others_are() {
    let (atlas, meridian) = (Upstream::start().await, Upstream::start().await);
    let envoy = Setup::fusewire(&trips_on_three("30s"))
        .provider(Provider::new("atlas", atlas.address()))
        .provider(Provider::new("meridian", meridian.address()))
        .start()
        .await;
    trip(&envoy, &atlas, "/atlas/search").await;

    let refused = envoy.get("/atlas/search").await;
    assert_eq!(refused.status(), 503);
    assert_eq!(header(&refused, "fusewire-refused"), "open");
    assert_eq!(header(&refused, "fusewire-domain"), "atlas");
    assert_eq!(header(&refused, "content-type"), "application/problem+json");
    let retry_after: u64 = header(&refused, "retry-after").parse().expect("seconds");
    assert!((25..=30).contains(&retry_after), "{retry_after}");
    let body: Value = refused.json().await.expect("a problem in JSON");
    assert_eq!(
        (&body["status"], &body["reason"]),
        (&json!(503), &json!("open"))
    );
    assert_eq!(body["domain"], "atlas");

    assert_eq!(atlas.received().len(), 3, "the refused call was not sent");
    assert_eq!(envoy.get("/meridian/search").await.status(), 200);
    assert_eq!(envoy.count("refused.open").await, 1);
    let streams = envoy.ended_streams(5).await;
    assert_eq!(streams[2].details, "via_upstream");
    assert_eq!(
        (streams[3].code, &*streams[3].details),
        (503, "fusewire_open")
    );
    let told = envoy.log();
    assert!(
        told.contains("fusewire: atlas: closed -> open for 30.0 s"),
        "one line says so"
    );
}

#[tokio::test]
async fn a_refusal_has_the_status_that_was_configured() {
    let upstream = Upstream::start().await;
    let configuration = also(trips_on_three("30s"), "reply", json!({"status": 429}));
    let envoy = envoy(&configuration, &upstream).await;
    trip(&envoy, &upstream, "/atlas").await;
    let refused = envoy.get("/atlas").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(header(&refused, "fusewire-refused"), "open");
}

#[tokio::test]
async fn traffic_returns_when_a_probe_has_passed() {
    let upstream = Upstream::start().await;
    let envoy = envoy(&trips_on_three("300ms"), &upstream).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::ok("here again"));
    until("a call passes", async || {
        envoy.get("/atlas").await.status() == 200
    })
    .await;
    envoy.counted("transition.to_closed", 1).await;
    assert_eq!(envoy.count("probe.passed").await, 1);
    assert_eq!(envoy.count("transition.to_half_open").await, 1);
    assert_eq!(upstream.received().len(), 4, "three failures and the probe");
    for _ in 0..5 {
        assert_eq!(envoy.get("/atlas").await.status(), 200);
    }
    assert_eq!(upstream.received().len(), 9);
}

#[tokio::test]
async fn one_call_of_all_workers_is_the_probe() {
    let upstream = Upstream::start().await;
    let envoy = envoy(&trips_on_three("300ms"), &upstream).await;
    trip(&envoy, &upstream, "/atlas").await;

    // Each probe takes long enough for hundreds of other calls to ask meanwhile.
    upstream.say(Reply::Bytes {
        parts: vec![b"HTTP/1.1 500 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()],
        pause: Duration::from_millis(400),
        end: End::Close,
    });
    let load = Load::start(&envoy.url("/atlas"), 20);
    until("a third probe is under way", async || {
        upstream.received().len() == 3 + 3
    })
    .await;
    envoy.counted("probe.failed", 2).await;
    assert!(envoy.count("refused.probe_in_flight").await > 0);
    upstream.say(slowly(Duration::from_millis(100)));
    envoy.counted("probe.failed", 3).await;
    until("the fourth probe has passed", async || {
        let asked = upstream.received().len();
        let closed = envoy.count("transition.to_closed").await == 1;
        assert!(closed || asked <= 3 + 4, "{asked} calls before it closed");
        closed
    })
    .await;
    let tally = load.stop().await;

    assert_eq!(
        tally.status(500),
        3,
        "each failed probe was one call: {tally:?}"
    );
    assert_eq!(envoy.count("probe.failed").await, 3);
    assert_eq!(envoy.count("probe.passed").await, 1);
    assert_eq!(envoy.count("transition.to_half_open").await, 4);
    assert_eq!(
        envoy.count("transition.to_open").await,
        4,
        "once tripped, and three times again"
    );
    let all = 3 + tally.status(500) + tally.status(200);
    assert_eq!(upstream.received().len() as u64, all, "{tally:?}");
    assert_eq!(tally.broken, 0);
    for worker in 0..2 {
        let name = format!("listener.127.0.0.1_0.worker_{worker}.downstream_cx_total");
        assert!(
            envoy.stat(&name).await > Some(0),
            "worker {worker} had calls"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_that_come_at_the_same_moment_one_is_the_probe() {
    // So many domains, each with so many calls at once, that two workers do meet.
    const DOMAINS: usize = 400;
    const CALLS: usize = 6;
    let upstream = Upstream::start().await;
    let configuration = json!({
        "policy": {"breaker": {
            "failures": {"count": 1, "window": "60s"},
            "cool-down": {"first": "1s", "jitter": 0},
        }},
        "target": {"provider": {"header": "x-provider"}},
    });
    let limits = json!({"circuit_breakers": {"thresholds": [
        {"max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000}
    ]}});
    let atlas = Provider::new("atlas", upstream.address()).cluster(limits);
    let setup = Setup::fusewire(&configuration).provider(atlas);
    let envoy = setup.start().await;
    let clients: Vec<_> = (0..CALLS).map(|_| gateway::client()).collect();
    let ask = |client: usize, domain: usize| {
        let request = clients[client].get(envoy.url("/atlas"));
        tokio::spawn(
            request
                .header("x-provider", format!("provider-{domain}"))
                .send(),
        )
    };
    upstream.say(Reply::status(500));
    for domain in 0..DOMAINS {
        let answer = ask(domain % CALLS, domain).await.expect("the task ends");
        assert_eq!(answer.expect("an answer").status(), 500);
    }
    envoy.counted("transition.to_open", DOMAINS as u64).await;
    let tripped = Instant::now();
    until("every cool-down is over", async || {
        tripped.elapsed() > Duration::from_secs(1)
    })
    .await;

    upstream.say(Reply::Hang);
    for domain in 0..DOMAINS {
        let calls: Vec<_> = (0..CALLS).map(|client| ask(client, domain)).collect();
        until("all but the probe are answered", async || {
            calls.iter().filter(|call| !call.is_finished()).count() <= 1
        })
        .await;
        let probe = DOMAINS + domain + 1;
        until("the probe is under way", async || {
            upstream.received().len() >= probe
        })
        .await;
        assert_eq!(
            upstream.received().len(),
            probe,
            "one call of provider-{domain}"
        );
        for call in calls {
            call.abort();
        }
    }
    assert_eq!(
        envoy.count("refused.probe_in_flight").await,
        (DOMAINS * (CALLS - 1)) as u64
    );
}

#[tokio::test]
async fn a_probe_whose_caller_goes_away_gives_its_place_to_another() {
    let upstream = Upstream::start().await;
    let envoy = envoy(&trips_on_three("300ms"), &upstream).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::Hang);
    let probe = tokio::spawn(envoy.request("/atlas").send());
    // What was asked too early is refused at once, so this is asked again.
    let mut asking = probe;
    until("a probe is under way", async || {
        if asking.is_finished() {
            asking = tokio::spawn(envoy.request("/atlas").send());
        }
        upstream.received().len() == 4
    })
    .await;
    assert_eq!(
        header(&envoy.get("/atlas").await, "fusewire-refused"),
        "probe-in-flight"
    );
    asking.abort();
    upstream.say(Reply::ok("here again"));
    until("another probe has passed", async || {
        envoy.get("/atlas").await.status() == 200
    })
    .await;
    envoy.counted("probe.passed", 1).await;
    assert_eq!(envoy.count("probe.failed").await, 0);
}

#[tokio::test]
async fn observing_refuses_nothing_and_says_what_it_would_have_refused() {
    let upstream = Upstream::start().await;
    let configuration = also(trips_on_three("30s"), "mode", json!("observe"));
    let envoy = envoy(&configuration, &upstream).await;
    trip(&envoy, &upstream, "/atlas").await;
    upstream.say(Reply::ok("fine"));
    for _ in 0..4 {
        let answer = envoy.get("/atlas").await;
        assert_eq!(answer.status(), 200);
        assert_eq!(header(&answer, "fusewire-would-refuse"), "open");
        assert_eq!(header(&answer, "fusewire-domain"), "atlas");
    }
    assert_eq!(upstream.received().len(), 7);
    assert_eq!(envoy.count("would_refuse").await, 4);
    assert_eq!(envoy.count("refused.open").await, 0);
}

#[tokio::test]
async fn a_domain_can_be_a_header_a_route_or_an_authority() {
    let upstream = Upstream::start().await;
    for (source, in_open, in_closed) in [
        (
            json!({"header": "x-provider"}),
            ("x-provider", "a"),
            ("x-provider", "b"),
        ),
        (
            json!({"from": "authority"}),
            ("host", "a.test"),
            ("host", "b.test"),
        ),
        (
            json!({"from": "route"}),
            ("x-any", "route-atlas"),
            ("x-any", "route-meridian"),
        ),
    ] {
        upstream.say(Reply::status(500));
        let target = json!({"provider": source});
        let envoy = Setup::fusewire(&also(trips_on_three("30s"), "target", target))
            .provider(Provider::new("atlas", upstream.address()))
            .provider(Provider::new("meridian", upstream.address()))
            .start()
            .await;
        let ask = async |path: &str, (name, value): (&str, &str)| {
            let answer = envoy.request(path).header(name, value).send().await;
            answer.expect("an answer")
        };
        for _ in 0..3 {
            assert_eq!(ask("/atlas", in_open).await.status(), 500);
        }
        envoy.counted("transition.to_open", 1).await;
        let refused = ask("/atlas", in_open).await;
        let domain = header(&refused, "fusewire-domain");
        assert_eq!(domain, in_open.1, "{source}");
        assert_eq!(ask("/meridian", in_closed).await.status(), 500, "{source}");
    }
}
