//! Gateways that share a Redis share their breakers, and each gets by without it.

use fusewire::core::{Phase, Target};
use fusewire::gateway::Gateway;
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{get, header, metric, start};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::upstream::{Reply, Upstream};

async fn gateway(redis: &RedisServer, upstream: &Upstream) -> Gateway {
    let gateway = start(&format!(
        "[store]
url = \"{}\"
timeout = \"1s\"
[policy]
retry.attempts = 1
breaker.failures.count = 2
[providers.p]
url = \"{}\"
[[routes]]
path = \"/\"
chain = [\"p\"]
",
        redis.url(),
        upstream.url("/")
    ))
    .await;
    until("the store is in use", async || in_use(&gateway).await).await;
    gateway
}

async fn in_use(gateway: &Gateway) -> bool {
    let inspected = gateway.guard().inspect(&Target::provider("p")).await;
    let shared = metric(gateway, "fusewire_store_mode{mode=\"shared\"}").await;
    !inspected.is_empty() && shared == Some(1)
}

#[tokio::test]
async fn what_one_gateway_finds_out_the_other_knows() {
    let redis = RedisServer::start();
    let upstream = Upstream::start().await;
    let one = gateway(&redis, &upstream).await;
    let other = gateway(&redis, &upstream).await;
    upstream.say(Reply::status(500));
    for gateway in [&one, &other] {
        // A failure each: neither gateway alone has seen enough.
        assert_eq!(
            header(&get(gateway, "/").await, "fusewire-skipped"),
            "p;reason=provider-error"
        );
        gateway.guard().settled().await;
    }
    for gateway in [&one, &other] {
        let skipped = header(&get(gateway, "/").await, "fusewire-skipped").to_owned();
        assert!(
            skipped.starts_with("p;reason=breaker-open;retry-after="),
            "{skipped}"
        );
    }
    assert_eq!(upstream.received().len(), 2);
    for gateway in [&one, &other] {
        let open = "fusewire_domain_phase{domain=\"p\",phase=\"open\"}";
        assert_eq!(metric(gateway, open).await, Some(1));
    }
    let trips = async |gateway| {
        let labels = "domain=\"p\",before=\"closed\",after=\"open\",rule=\"failures\"";
        let series = format!("fusewire_transitions_total{{{labels}}}");
        metric(gateway, &series).await.unwrap_or(0)
    };
    assert_eq!(
        trips(&one).await + trips(&other).await,
        1,
        "one trip is told once"
    );
}

#[tokio::test]
async fn a_gateway_whose_store_is_gone_serves_on_and_says_so() {
    let mut redis = RedisServer::start();
    let upstream = Upstream::start().await;
    let gateway = gateway(&redis, &upstream).await;
    redis.kill();
    for _ in 0..3 {
        assert_eq!(get(&gateway, "/").await.status(), 200);
        gateway.guard().settled().await;
    }
    assert_eq!(
        metric(&gateway, "fusewire_store_mode{mode=\"shared\"}").await,
        Some(0)
    );
    assert_eq!(
        metric(&gateway, "fusewire_store_mode{mode=\"down\"}").await,
        Some(1)
    );
    assert!(metric(&gateway, "fusewire_store_errors_total").await >= Some(1));
    let health = get(&gateway, "/healthz").await;
    assert_eq!(health.status(), 200);
    assert!(health.text().await.unwrap().contains("\"store\":\"down\""));

    redis.restart();
    until("the store is in use again", async || in_use(&gateway).await).await;
    let states = gateway.guard().inspect(&Target::provider("p")).await;
    assert_eq!(states[0].phase, Phase::Closed);
}
