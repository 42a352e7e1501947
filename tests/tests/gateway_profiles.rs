//! Answers that say in their body that they are none are judged by the profile of their service.

use fusewire::core::{Phase, Target};
use fusewire::gateway::Gateway;
use fusewire_tests::gateway::{breaker, chain, client, get, header, start};
use fusewire_tests::spy::gzip;
use fusewire_tests::upstream::{End, Reply, Upstream};

const GOOGLE_FAILED: &str = r#"{"error_message": "", "results": [], "status": "UNKNOWN_ERROR"}"#;
const ARCGIS_FAILED: &str = r#"{"error": {"code": 500, "message": "Unable to complete operation.",
    "details": []}}"#;

/// A gateway that asks a provider of this profile, and then another. One failure opens.
async fn of(profile: &str, upstream: &Upstream, other: &Upstream) -> Gateway {
    let providers = [("service", upstream.url("/")), ("other", other.url("/"))];
    start(&format!(
        "[policy]
retry.attempts = 1
breaker.failures.count = 1
providers.service.profile = \"{profile}\"
{}",
        chain(&providers, "")
    ))
    .await
}

fn json(body: impl Into<Vec<u8>>) -> Reply {
    Reply::ok(body).with("content-type", "application/json")
}

#[tokio::test]
async fn an_error_within_a_200_opens_the_breaker_and_another_provider_answers() {
    for (profile, reply) in [
        ("google-geocoding", json(GOOGLE_FAILED)),
        ("arcgis", json(ARCGIS_FAILED)),
        (
            "google-geocoding",
            json(gzip(GOOGLE_FAILED)).with("content-encoding", "gzip"),
        ),
    ] {
        let (service, other) = (Upstream::start().await, Upstream::start().await);
        let gateway = of(profile, &service, &other).await;
        service.say(reply);
        let answer = get(&gateway, "/").await;
        assert_eq!(header(&answer, "fusewire-provider"), "other", "{profile}");
        assert_eq!(
            breaker(&gateway, "service").await.phase,
            Phase::Open,
            "{profile}"
        );
    }
}

#[tokio::test]
async fn a_good_answer_of_the_same_service_is_passed_on() {
    let (service, other) = (Upstream::start().await, Upstream::start().await);
    let gateway = of("google-geocoding", &service, &other).await;
    let good = r#"{"results": [{"place_id": "x"}], "status": "OK"}"#;
    service.say(json(good));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "service");
    assert_eq!(answer.text().await.unwrap(), good);
    assert_eq!(breaker(&gateway, "service").await.successes, 1);
}

#[tokio::test]
async fn an_answer_to_head_is_not_judged_by_the_body_that_it_does_not_have() {
    let (service, other) = (Upstream::start().await, Upstream::start().await);
    let gateway = of("google-geocoding", &service, &other).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 70\r\n\r\n";
    service.say(Reply::raw(head, End::Close));
    let url = format!("http://{}/", gateway.address());
    let answer = client().head(url).send().await.unwrap();
    assert_eq!(header(&answer, "fusewire-provider"), "service");
    assert_eq!(breaker(&gateway, "service").await.successes, 1);
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_event_is_judged_by_it() {
    let (service, other) = (Upstream::start().await, Upstream::start().await);
    let gateway = of("anthropic", &service, &other).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let error =
        r#"{"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}"#;
    let stream = format!("{head}event: ping\ndata: {{}}\n\nevent: error\ndata: {error}\n\n");
    service.say(Reply::raw(stream, End::Hang));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "other");
    assert_eq!(breaker(&gateway, "service").await.phase, Phase::Open);
}

#[tokio::test]
async fn bodies_are_looked_at_for_the_providers_alone_whose_profile_does() {
    let (service, other) = (Upstream::start().await, Upstream::start().await);
    let gateway = of("google-geocoding", &service, &other).await;
    let look = |provider: &str| {
        gateway
            .guard()
            .wanted(&Target::provider(provider))
            .body_bytes
    };
    assert!(look("service") > 0);
    assert_eq!(look("other"), 0);
}

#[tokio::test]
async fn a_policy_that_does_not_say_what_it_looks_at_serves_as_before() {
    let (service, other) = (Upstream::start().await, Upstream::start().await);
    let providers = [("service", service.url("/")), ("other", other.url("/"))];
    let first = env!("FUSEWIRE_FIRST_POLICY_WASM");
    let gateway = start(&format!(
        "[policy]\ncomponent = {first:?}\n{}",
        chain(&providers, "")
    ))
    .await;
    service.say(json(GOOGLE_FAILED));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "service");
    assert_eq!(answer.text().await.unwrap(), GOOGLE_FAILED);
    service.say(Reply::status(503));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "other");
}
