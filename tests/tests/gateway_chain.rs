//! What callers see of a chain: who answered, who was passed over and why, and who is left.

use fusewire::gateway::Gateway;
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{client, get, header, metric, raw, start};
use fusewire_tests::upstream::{End, Reply, Upstream, nobody_there};
use serde_json::Value;

/// No retries, and two failures open.
const POLICY: &str = "
[policy]
retry.attempts = 1
breaker.failures.count = 2
";

async fn two(first: &str, second: &str) -> Gateway {
    start(&format!(
        "{POLICY}
[providers.photon]
url = \"{first}\"
[providers.nominatim]
url = \"{second}\"
[[routes]]
path = \"/geocode\"
chain = [\"photon\", \"nominatim\"]
"
    ))
    .await
}

#[tokio::test]
async fn the_answer_says_who_gave_it_and_why_others_were_passed_over() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&photon.url("/a?q={q}"), &nominatim.url("/b?q={q}")).await;

    let answer = get(&gateway, "/geocode?q=M%C3%BCnchen%20%26%20so").await;
    assert_eq!(header(&answer, "fusewire-provider"), "photon");
    assert_eq!(header(&answer, "fusewire-attempts"), "1");
    assert!(!answer.headers().contains_key("fusewire-skipped"));
    assert_eq!(photon.received()[0].target, "/a?q=M%C3%BCnchen%20%26%20so");

    photon.say(Reply::status(503));
    for _ in 0..2 {
        let answer = get(&gateway, "/geocode?q=x").await;
        assert_eq!(header(&answer, "fusewire-provider"), "nominatim");
        assert_eq!(header(&answer, "fusewire-attempts"), "2");
        assert_eq!(
            header(&answer, "fusewire-skipped"),
            "photon;reason=provider-error"
        );
    }
    let answer = get(&gateway, "/geocode?q=x").await;
    let skipped = header(&answer, "fusewire-skipped");
    assert!(
        skipped.starts_with("photon;reason=breaker-open;retry-after=3"),
        "{skipped}"
    );
    assert_eq!(header(&answer, "fusewire-attempts"), "1");
    assert_eq!(
        photon.received().len(),
        3,
        "an open breaker lets nothing through"
    );
    gateway.stop().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_never_passed_on_as_a_success() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&photon.url("/"), &nominatim.url("/")).await;
    nominatim.say(Reply::ok("whole"));
    for end in [End::Close, End::Reset] {
        photon.say(Reply::half_body(end));
        let answer = get(&gateway, "/geocode").await;
        assert_eq!(
            header(&answer, "fusewire-skipped"),
            "photon;reason=provider-error"
        );
        assert_eq!(answer.text().await.unwrap(), "whole");
    }
    // Both were counted as failures, not as the 200 that their heads had.
    let answer = get(&gateway, "/geocode").await;
    assert!(header(&answer, "fusewire-skipped").starts_with("photon;reason=breaker-open"));
}

#[tokio::test]
async fn when_nobody_is_left_the_gateway_says_so_with_each_reason_and_when_to_come_back() {
    let photon = Upstream::start().await;
    let nobody = format!("http://{}/", nobody_there().await);
    let gateway = two(&photon.url("/"), &nobody).await;
    photon.say(Reply::status(503).with("retry-after", "7"));
    for reason in ["provider-error", "provider-error", "breaker-open"] {
        let answer = get(&gateway, "/geocode").await;
        assert_eq!(answer.status(), 503);
        assert_eq!(header(&answer, "content-type"), "application/problem+json");
        assert!(!answer.headers().contains_key("fusewire-provider"));
        let retry_after: u64 = header(&answer, "retry-after").parse().unwrap();
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["status"], 503);
        assert_eq!(problem["type"], "urn:fusewire:problem:no-provider");
        let providers = problem["providers"].as_array().unwrap();
        let names: Vec<&str> = providers
            .iter()
            .map(|p| p["provider"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["photon", "nominatim"]);
        for provider in providers {
            assert_eq!(provider["reason"], reason);
            assert!(!provider["detail"].as_str().unwrap().is_empty());
        }
        if reason == "provider-error" {
            assert_eq!(providers[0]["retry_after_ms"], 7_000);
            assert_eq!(retry_after, 1, "the other one may be back at any time");
        } else {
            assert!(retry_after > 20, "{problem}");
        }
    }
}

#[tokio::test]
async fn a_providers_own_refusal_is_the_answer_and_not_its_failure() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&photon.url("/"), &nominatim.url("/")).await;
    photon.say(Reply::status(404));
    for _ in 0..4 {
        let answer = get(&gateway, "/geocode").await;
        assert_eq!(answer.status(), 404);
        assert_eq!(header(&answer, "fusewire-provider"), "photon");
    }
    assert!(nominatim.received().is_empty());
}

#[tokio::test]
async fn a_request_is_passed_on_with_what_is_meant_for_the_provider() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "request-limit = 10
[providers.tiles]
url = \"{}\"
headers = {{ x-key = \"secret\" }}
[[routes]]
path = \"/tiles/*\"
chain = [\"tiles\"]
methods = [\"GET\", \"POST\", \"HEAD\"]
",
        upstream.url("/v1/{path}?{query}")
    ))
    .await;
    upstream.say(
        Reply::ok("tile")
            .with("x-cache", "hit")
            .with("fusewire-provider", "forged")
            .with("connection", "keep-alive, x-hop")
            .with("x-hop", "1"),
    );
    let url = |path: &str| format!("http://{}{path}", gateway.address());
    let answer = client()
        .post(url("/tiles/3/4%2F5.png?a=b&c=%20"))
        .header("x-key", "mine")
        .header("x-other", "kept")
        .header("connection", "x-drop")
        .header("x-drop", "1")
        .header("fusewire-skipped", "forged")
        .body("0123456789")
        .send()
        .await
        .unwrap();
    assert_eq!(header(&answer, "x-cache"), "hit");
    assert_eq!(header(&answer, "x-hop"), "");
    let providers = answer.headers().get_all("fusewire-provider").iter().count();
    assert_eq!(
        (header(&answer, "fusewire-provider"), providers),
        ("tiles", 1)
    );
    assert_eq!(answer.text().await.unwrap(), "tile");

    let sent = &upstream.received()[0];
    assert_eq!(sent.method, "POST");
    assert_eq!(sent.target, "/v1/3/4%2F5.png?a=b&c=%20");
    assert_eq!(sent.body, b"0123456789");
    assert_eq!(sent.header("x-key"), Some("secret"));
    assert_eq!(sent.header("x-other"), Some("kept"));
    assert_eq!(sent.header("via"), Some("1.1 fusewire"));
    for dropped in ["x-drop", "fusewire-skipped"] {
        assert_eq!(sent.header(dropped), None);
    }
    assert!(upstream.url("").ends_with(sent.header("host").unwrap()));

    let head = client().head(url("/tiles/x")).send().await.unwrap();
    assert_eq!(header(&head, "content-length"), "4");
    let too_long = client()
        .post(url("/tiles/x"))
        .body("01234567890")
        .send()
        .await
        .unwrap();
    assert_eq!(too_long.status(), 413);
    // A well-behaved client resolves this by itself.
    let climbing = raw(&gateway, "GET /tiles/%2e%2e/admin HTTP/1.0\r\n\r\n").await;
    assert!(climbing.starts_with("HTTP/1.0 400 "), "{climbing}");
}

#[tokio::test]
async fn what_no_route_takes_is_refused_by_the_gateway_with_what_would_be_taken() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "[providers.p]
url = \"{}\"
[[routes]]
path = \"/geocode\"
chain = [\"p\"]
methods = [\"GET\"]
",
        upstream.url("/?q={q}")
    ))
    .await;
    let answer = get(&gateway, "/geocod").await;
    assert_eq!(answer.status(), 404);
    assert!(!answer.headers().contains_key("fusewire-provider"));
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["routes"], serde_json::json!(["/geocode"]));

    let url = format!("http://{}/geocode?q=x", gateway.address());
    let answer = client().post(url).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "allow")),
        (405, "GET")
    );

    let answer = get(&gateway, "/geocode").await;
    assert_eq!(answer.status(), 400);
    let problem: Value = answer.json().await.unwrap();
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("`q` is missing")
    );
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn a_routes_deadline_ends_the_call_and_is_not_the_providers_failure() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = start(&format!(
        "{POLICY}
[providers.photon]
url = \"{}\"
[providers.nominatim]
url = \"{}\"
[[routes]]
path = \"/geocode\"
chain = [\"photon\", \"nominatim\"]
deadline = \"100ms\"
",
        photon.url("/"),
        nominatim.url("/")
    ))
    .await;
    photon.say(Reply::Hang);
    for _ in 0..3 {
        let answer = get(&gateway, "/geocode").await;
        assert_eq!(answer.status(), 503);
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["providers"][0]["reason"], "deadline", "{problem}");
    }
    assert_eq!(photon.received().len(), 3, "its breaker stayed closed");
}

#[tokio::test]
async fn once_the_routes_deadline_is_over_nobody_is_asked_and_nobody_is_blamed() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = start(&format!(
        "{POLICY}
[providers.photon]
url = \"{}\"
read = \"50ms\"
[providers.nominatim]
url = \"{}\"
[[routes]]
path = \"/geocode\"
chain = [\"photon\", \"nominatim\"]
deadline = \"100ms\"
",
        photon.url("/"),
        nominatim.url("/")
    ))
    .await;
    // Photon fails by its own read limit; what is then left is too little for nominatim.
    photon.say(Reply::Hang);
    nominatim.say(Reply::Hang);
    let problem: Value = get(&gateway, "/geocode").await.json().await.unwrap();
    let reasons: Vec<&str> = problem["providers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["provider-error", "deadline"], "{problem}");
    let blamed = metric(
        &gateway,
        "fusewire_fallbacks_total{route=\"/geocode\",provider=\"nominatim\",reason=\"provider-error\"}",
    );
    assert_eq!(blamed.await, None);
}

#[tokio::test]
async fn a_provider_that_is_held_back_is_passed_over_for_that_and_not_for_its_health() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&photon.url("/"), &nominatim.url("/")).await;
    photon.say(Reply::status(429).with("retry-after", "40"));
    let answer = get(&gateway, "/geocode").await;
    assert_eq!(header(&answer, "fusewire-provider"), "nominatim");
    let answer = get(&gateway, "/geocode").await;
    assert_eq!(header(&answer, "fusewire-provider"), "nominatim");
    let skipped = header(&answer, "fusewire-skipped");
    assert!(
        skipped.starts_with("photon;reason=hold;retry-after="),
        "{skipped}"
    );
    assert_eq!(photon.received().len(), 1, "it was told to wait");

    // Both are: whoever may be asked first says when to come back.
    nominatim.say(Reply::status(429).with("retry-after", "20"));
    get(&gateway, "/geocode").await;
    let answer = get(&gateway, "/geocode").await;
    assert_eq!(answer.status(), 503);
    let retry_after: u64 = header(&answer, "retry-after").parse().expect("seconds");
    assert!(
        (1..=20).contains(&retry_after),
        "the shorter one: {retry_after}"
    );
    let problem: Value = answer.json().await.expect("problem details");
    for provider in problem["providers"].as_array().expect("providers") {
        assert_eq!(provider["reason"], "hold");
        let detail = provider["detail"].as_str().expect("a sentence");
        assert!(detail.starts_with("held back: "), "{detail}");
    }
}

#[tokio::test]
async fn a_provider_that_has_closed_a_moment_ago_takes_a_share_and_the_rest_is_told_why() {
    let (photon, nominatim) = (Upstream::start().await, Upstream::start().await);
    let gateway = start(&format!(
        "[policy]
retry.attempts = 1
breaker.failures.count = 1
breaker.cool-down = {{ first = \"50ms\", jitter = 0 }}
breaker.probes.needed = 1
breaker.ramp = {{ time = \"60s\", first-share = 0.1 }}
[providers.photon]
url = \"{}\"
[providers.nominatim]
url = \"{}\"
[[routes]]
path = \"/geocode\"
chain = [\"photon\", \"nominatim\"]
",
        photon.url("/"),
        nominatim.url("/")
    ))
    .await;
    photon.say_once(Reply::status(503));
    get(&gateway, "/geocode").await;
    until("a probe has closed it", async || {
        header(&get(&gateway, "/geocode").await, "fusewire-provider") == "photon"
    })
    .await;
    let mut ramped = 0;
    for _ in 0..200 {
        let answer = get(&gateway, "/geocode").await;
        match header(&answer, "fusewire-skipped") {
            "" => assert_eq!(header(&answer, "fusewire-provider"), "photon"),
            skipped => {
                assert_eq!(skipped, "photon;reason=ramp;retry-after=1");
                assert_eq!(header(&answer, "fusewire-provider"), "nominatim");
                ramped += 1;
            }
        }
    }
    // Nine in ten are passed over at first. All of them, or hardly any, would be no share.
    assert!((20..200).contains(&ramped), "{ramped}");
}
