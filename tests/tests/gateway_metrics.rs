//! What is happening is to be seen at `/metrics`, from the first moment.

use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{client, get, header, metric, start};
use fusewire_tests::upstream::{Reply, Upstream};

fn phase(domain: &str, phase: &str) -> String {
    format!("fusewire_domain_phase{{domain=\"{domain}\",phase=\"{phase}\"}}")
}

#[tokio::test]
async fn every_phase_of_every_domain_is_0_or_1_from_the_start_and_always_one_of_them_is_1() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "[policy]
retry.attempts = 1
breaker.failures.count = 1
breaker.cool-down = {{ first = \"200ms\", jitter = 0.0 }}
breaker.probes.needed = 1
[providers.p]
url = \"{}\"
account = \"key-1\"
operation = \"search\"
[[routes]]
path = \"/\"
chain = [\"p\"]
",
        upstream.url("/")
    ))
    .await;
    let phases = async |domain: &str| {
        let mut phases = Vec::new();
        for name in ["closed", "open", "half-open"] {
            phases.push(metric(&gateway, &phase(domain, name)).await);
        }
        phases
    };
    for domain in ["p", "p@key-1", "p/search"] {
        assert_eq!(
            phases(domain).await,
            [Some(1), Some(0), Some(0)],
            "{domain}"
        );
    }

    upstream.say(Reply::status(500));
    get(&gateway, "/").await;
    gateway.guard().settled().await;
    assert_eq!(phases("p").await, [Some(0), Some(1), Some(0)]);
    assert_eq!(phases("p/search").await, [Some(1), Some(0), Some(0)]);
    let refused = get(&gateway, "/").await;
    assert_eq!(refused.status(), 503);
    // Nobody calls: that the cool-down is over is seen all the same.
    let half_open = async || phases("p").await == [Some(0), Some(0), Some(1)];
    until("half-open is seen", half_open).await;

    upstream.say(Reply::ok("well again"));
    assert_eq!(get(&gateway, "/").await.status(), 200);
    gateway.guard().settled().await;
    assert_eq!(phases("p").await, [Some(1), Some(0), Some(0)]);

    for (series, value) in [
        (
            "fusewire_transitions_total{domain=\"p\",before=\"closed\",after=\"open\",rule=\"failures\"}",
            1,
        ),
        ("fusewire_probes_total{domain=\"p\",outcome=\"passed\"}", 1),
        ("fusewire_probes_total{domain=\"p\",outcome=\"failed\"}", 0),
        ("fusewire_refusals_total{domain=\"p\",reason=\"open\"}", 1),
        ("fusewire_refusals_total{domain=\"p\",reason=\"ramp\"}", 0),
        (
            "fusewire_attempts_total{provider=\"p\",outcome=\"transient\",effect=\"failure\"}",
            1,
        ),
        (
            "fusewire_attempts_total{provider=\"p\",outcome=\"success\",effect=\"success\"}",
            1,
        ),
        ("fusewire_answers_total{route=\"/\",provider=\"p\"}", 1),
        ("fusewire_answers_total{route=\"/\",provider=\"none\"}", 2),
        (
            "fusewire_fallbacks_total{route=\"/\",provider=\"p\",reason=\"breaker-open\"}",
            1,
        ),
        (
            "fusewire_fallbacks_total{route=\"/\",provider=\"p\",reason=\"provider-error\"}",
            1,
        ),
    ] {
        assert_eq!(metric(&gateway, series).await, Some(value), "{series}");
    }
}

#[tokio::test]
async fn each_limit_that_fires_is_counted_by_itself() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "policy.retry.attempts = 1
[providers.hasty]
url = \"{url}\"
total = \"50ms\"
[providers.strict]
url = \"{url}\"
read = \"50ms\"
[[routes]]
path = \"/\"
chain = [\"hasty\", \"strict\"]
",
        url = upstream.url("/")
    ))
    .await;
    upstream.say(Reply::Hang);
    get(&gateway, "/").await;
    for (provider, limit) in [("hasty", "total"), ("strict", "read")] {
        let series =
            format!("fusewire_timeouts_total{{provider=\"{provider}\",limit=\"{limit}\"}}");
        assert_eq!(metric(&gateway, &series).await, Some(1), "{series}");
    }
}

#[tokio::test]
async fn metrics_are_in_the_prometheus_format_and_where_they_are_configured() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "admin = \"127.0.0.1:0\"
[providers.p]
url = \"{}\"
[[routes]]
path = \"/*\"
chain = [\"p\"]
",
        upstream.url("/{path}")
    ))
    .await;
    let admin = gateway.admin().expect("an address");
    let answer = client()
        .get(format!("http://{admin}/metrics"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        header(&answer, "content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = answer.text().await.unwrap();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let sentence = help.split_once(' ').map_or("", |(_, sentence)| sentence);
            assert!(
                sentence.ends_with('.') && !sentence.ends_with(".."),
                "{line}"
            );
        } else if !line.starts_with('#') {
            let value = line.rsplit(' ').next().unwrap_or_default();
            assert!(
                line.starts_with("fusewire_") && value.parse::<f64>().is_ok(),
                "{line}"
            );
        }
    }
    assert!(
        text.contains("# TYPE fusewire_refusals_total counter\n"),
        "{text}"
    );
    assert!(
        text.contains("fusewire_store_mode{mode=\"shared\"} 1\n"),
        "{text}"
    );

    // The callers' side has a route for everything, and none of it is the gateway's.
    let answer = get(&gateway, "/metrics").await;
    assert_eq!(header(&answer, "fusewire-provider"), "p");
    let health = get(&gateway, "/healthz")
        .await
        .json::<serde_json::Value>()
        .await
        .unwrap();
    assert_eq!(
        (&health["status"], &health["store"]),
        (&"ok".into(), &"shared".into())
    );
}
