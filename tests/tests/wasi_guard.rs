//! The `wasi:http` component that guards a service, served as `wasmtime serve` does it: an instance
//! for each request, with nothing in common but the contents of `wasi:keyvalue`.

use std::time::{Duration, Instant};

use fusewire_tests::gateway::{client, header};
use fusewire_tests::upstream::{End, Reply, Upstream, nobody_there};
use fusewire_tests::wasi::artefacts;
use fusewire_tests::wasi::keyvalue::Contents;
use fusewire_tests::wasi::serve::Server;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Three failures open the breaker for a short while, and one clean probe closes it for all.
const POLICY: &str = r#"{"breaker": {
    "failures": {"count": 3},
    "cool-down": {"first": "400ms", "jitter": 0},
    "probes": {"needed": 1},
    "ramp": false
}}"#;

/// A guard before a service.
struct Guarded {
    service: Upstream,
    guard: Server,
    contents: Contents,
}

impl Guarded {
    async fn start() -> Self {
        Self::of(artefacts::GUARD, Contents::increment(), &[]).await
    }

    async fn of(component: &str, contents: Contents, more: &[(&str, &str)]) -> Self {
        let service = Upstream::start().await;
        let url = service.url("/base");
        let mut environment = vec![
            ("FUSEWIRE_UPSTREAM", url.as_str()),
            ("FUSEWIRE_PROVIDER", "service"),
            ("FUSEWIRE_POLICY", POLICY),
        ];
        environment.extend(more);
        let guard = Server::start(component, &environment, &contents).await;
        Self {
            service,
            guard,
            contents,
        }
    }

    async fn get(&self, path: &str) -> Response {
        client().get(self.guard.url(path)).send().await.unwrap()
    }

    /// Has three requests fail, and returns the refusal of the next.
    async fn open(&self) -> Value {
        self.service.say(Reply::status(503));
        for _ in 0..3 {
            let answer = self.get("/").await;
            assert_eq!(answer.status(), 503);
            assert_eq!(header(&answer, "fusewire-provider"), "service");
        }
        let refused = self.get("/").await;
        assert_eq!(header(&refused, "fusewire-provider"), "");
        refused.json().await.unwrap()
    }

    /// Waits until a refusal's time is over.
    async fn until_asked_again(refusal: &Value) {
        let ms = refusal["providers"][0]["retry_after_ms"].as_u64().unwrap();
        tokio::time::sleep(Duration::from_millis(ms + 5)).await;
    }
}

/// Waits for something that happens soon.
async fn until(what: &str, happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{what} did not happen"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_on_as_it_is_and_so_does_the_answer() {
    let guarded = Guarded::start().await;
    let body: Vec<u8> = (0..300_000_u32).map(|i| (i * 7 % 251) as u8).collect();
    guarded.service.say(
        Reply::ok(body.clone())
            .with("x-theirs", "1")
            .with("x-theirs", "2")
            .with("fusewire-provider", "forged"),
    );
    let answer = client()
        .put(guarded.guard.url("/a%20b?q=c&q=d"))
        .header("x-mine", "3")
        .header("te", "trailers")
        .body(body.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let theirs: Vec<_> = answer.headers().get_all("x-theirs").iter().collect();
    assert_eq!(theirs, ["1", "2"]);
    let providers: Vec<_> = answer
        .headers()
        .get_all("fusewire-provider")
        .iter()
        .collect();
    assert_eq!(providers, ["service"]);
    assert!(
        answer.bytes().await.unwrap() == body,
        "another body came back"
    );

    let received = guarded.service.received().remove(0);
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("PUT", "/base/a%20b?q=c&q=d")
    );
    assert_eq!(received.header("x-mine"), Some("3"));
    assert_eq!(received.header("te"), None);
    assert_eq!(received.header("via"), Some("1.1 fusewire"));
    assert_eq!(
        received.header("host"),
        Some(guarded.service.address().to_string().as_str())
    );
    assert!(received.body == body, "another body arrived");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_streams_through_while_it_is_under_way() {
    let guarded = Guarded::start().await;
    let first = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: first\n\n";
    guarded.service.say(Reply::raw(first, End::Hang));
    let mut answer = guarded.get("/events").await;
    let chunk = answer.chunk().await.unwrap().unwrap();
    assert_eq!(chunk, "data: first\n\n");
    // The service has not ended it, and learns that nobody listens any more.
    assert_eq!(guarded.service.left_alone(), 0);
    drop(answer);
    until("that the service was left", || {
        guarded.service.left_alone() == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_body_has_none() {
    let guarded = Guarded::start().await;
    guarded.service.say(Reply::raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n",
        End::Close,
    ));
    let answer = client().head(guarded.guard.url("/")).send().await.unwrap();
    assert_eq!(header(&answer, "content-length"), "1000");
    guarded
        .service
        .say(Reply::raw("HTTP/1.1 204 No Content\r\n\r\n", End::Close));
    let answer = guarded.get("/").await;
    assert_eq!(
        (answer.status(), answer.text().await.unwrap().as_str()),
        (StatusCode::NO_CONTENT, "")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_breaker_trips_across_instances_and_what_is_refused_does_not_reach_the_service() {
    for (component, contents) in [
        (artefacts::GUARD, Contents::increment()),
        (artefacts::GUARD_CAS, Contents::cas()),
    ] {
        let guarded = Guarded::of(component, contents, &[]).await;
        let refusal = guarded.open().await;
        let provider = &refusal["providers"][0];
        assert_eq!(refusal["type"], "urn:fusewire:problem:no-provider");
        assert_eq!(
            (&provider["provider"], &provider["reason"]),
            (&"service".into(), &"breaker-open".into())
        );
        for _ in 0..5 {
            let refused = guarded.get("/").await;
            assert_eq!(refused.status(), 503);
            assert_eq!(header(&refused, "content-type"), "application/problem+json");
            assert_eq!(header(&refused, "retry-after"), "1");
            assert_eq!(
                header(&refused, "fusewire-skipped"),
                "service;reason=breaker-open;retry-after=1"
            );
        }
        assert_eq!(guarded.service.received().len(), 3);
        assert_eq!(guarded.guard.instances(), 9);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_requests_after_a_cool_down_one_is_the_probe_and_then_traffic_returns() {
    for (component, contents) in [
        (artefacts::GUARD, Contents::increment()),
        (artefacts::GUARD_CAS, Contents::cas()),
    ] {
        let guarded = Guarded::of(component, contents, &[]).await;
        let refusal = guarded.open().await;
        // Long enough for all the others to be refused while the probe is under way.
        guarded.service.say(Reply::Bytes {
            parts: vec![b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()],
            pause: Duration::from_secs(1),
            end: End::Close,
        });
        Guarded::until_asked_again(&refusal).await;
        let url = guarded.guard.url("/");
        let mut requests: JoinSet<_> = (0..20)
            .map(|_| {
                let request = client().get(&url).send();
                async move { request.await.unwrap().status() }
            })
            .collect();
        let mut statuses = Vec::new();
        while let Some(status) = requests.join_next().await {
            statuses.push(status.unwrap());
        }
        let passed = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!((passed, statuses.len()), (1, 20), "{statuses:?}");
        assert_eq!(guarded.service.received().len(), 4);

        guarded.service.say(Reply::ok("back"));
        let answer = guarded.get("/").await;
        assert_eq!(answer.text().await.unwrap(), "back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_serves_many_requests_remembers_on_wasmtimes_own_keyvalue() {
    let service = Upstream::start().await;
    let url = service.url("");
    let environment = [
        ("FUSEWIRE_UPSTREAM", url.as_str()),
        ("FUSEWIRE_POLICY", POLICY),
    ];
    let guard = Server::start_with_one(artefacts::GUARD, &environment).await;
    service.say(Reply::status(503));
    for attempts in ["", "", "", "0", "0"] {
        let answer = client().get(guard.url("/")).send().await.unwrap();
        assert_eq!(header(&answer, "fusewire-attempts"), attempts);
    }
    assert_eq!((service.received().len(), guard.instances()), (3, 1));
}

/// The same, where two have to see it.
const QUORUM: &str = r#"{"breaker": {
    "failures": {"count": 3},
    "cool-down": {"first": "10m"},
    "quorum": {"instances": 2}
}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_serves_many_requests_opens_for_itself_where_it_takes_two() {
    let service = Upstream::start().await;
    let url = service.url("");
    let environment = [
        ("FUSEWIRE_UPSTREAM", url.as_str()),
        ("FUSEWIRE_POLICY", QUORUM),
    ];
    let guard = Server::start_with_one(artefacts::GUARD, &environment).await;
    service.say(Reply::status(503));
    for attempts in ["", "", "", "0"] {
        let answer = client().get(guard.url("/")).send().await.unwrap();
        assert_eq!(header(&answer, "fusewire-attempts"), attempts);
        if attempts == "0" {
            let refused = answer.text().await.unwrap();
            assert!(refused.contains("for this instance alone"), "{refused}");
        }
    }
    assert_eq!((service.received().len(), guard.instances()), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_have_one_name_are_one_in_a_quorum() {
    let service = Upstream::start().await;
    let url = service.url("");
    let contents = Contents::increment();
    let mut guards = Vec::new();
    for name in ["guard-1", "guard-2"] {
        let environment = [
            ("FUSEWIRE_UPSTREAM", url.as_str()),
            ("FUSEWIRE_PROVIDER", "service"),
            ("FUSEWIRE_INSTANCE", name),
            ("FUSEWIRE_POLICY", QUORUM),
        ];
        guards.push(Server::start(artefacts::GUARD, &environment, &contents).await);
    }
    service.say(Reply::status(503));
    let attempts = async |guard: &Server| {
        let answer = client().get(guard.url("/")).send().await.unwrap();
        header(&answer, "fusewire-attempts").to_owned()
    };
    for _ in 0..4 {
        assert_eq!(attempts(&guards[0]).await, "", "one of them has seen it");
    }
    assert_eq!(attempts(&guards[1]).await, "");
    for guard in &guards {
        assert_eq!(attempts(guard).await, "0", "both have");
    }
    assert_eq!(service.received().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_be_reached_or_does_not_answer_counts_as_failed() {
    let nobody = format!("http://{}", nobody_there().await);
    let contents = Contents::increment();
    let environment = [
        ("FUSEWIRE_UPSTREAM", nobody.as_str()),
        ("FUSEWIRE_POLICY", POLICY),
    ];
    let guard = Server::start(artefacts::GUARD, &environment, &contents).await;
    for attempts in ["1", "1", "1", "0"] {
        let answer = client().get(guard.url("/")).send().await.unwrap();
        assert_eq!(header(&answer, "fusewire-attempts"), attempts);
        assert_eq!(answer.status(), if attempts == "1" { 502 } else { 503 });
    }

    for (reply, status) in [
        (Reply::Hang, 504),
        (Reply::Reset, 502),
        (Reply::raw("nonsense", End::Close), 502),
    ] {
        let contents = Contents::increment();
        let limit = [("FUSEWIRE_TOTAL_MS", "300"), ("FUSEWIRE_PROBE_MS", "300")];
        let guarded = Guarded::of(artefacts::GUARD, contents, &limit).await;
        guarded.service.say(reply.clone());
        for _ in 0..3 {
            assert_eq!(guarded.get("/").await.status(), status, "{reply:?}");
        }
        let refused = guarded.get("/").await;
        assert_eq!(header(&refused, "fusewire-attempts"), "0", "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_seen_to_break_off_and_counts_as_failed() {
    let guarded = Guarded::start().await;
    for end in [End::Close, End::Reset, End::Close] {
        guarded.service.say(Reply::half_body(end));
        let answer = guarded.get("/").await;
        assert_eq!(answer.status(), 200);
        let body = answer.bytes().await;
        assert!(body.is_err(), "{body:?}");
    }
    guarded.service.say(Reply::ok("whole"));
    let refused = guarded.get("/").await;
    assert_eq!(header(&refused, "fusewire-attempts"), "0");
    assert_eq!(guarded.service.received().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_goes_away_is_not_the_services_failure() {
    let guarded = Guarded::start().await;
    let first = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: first\n\n";
    guarded.service.say(Reply::raw(first, End::Hang));
    for left in 1..=4 {
        let mut answer = guarded.get("/").await;
        answer.chunk().await.unwrap();
        drop(answer);
        until("that the service was left", || {
            guarded.service.left_alone() == left
        })
        .await;
    }
    guarded.service.say(Reply::ok("still asked"));
    assert_eq!(guarded.get("/").await.text().await.unwrap(), "still asked");
}

/// Reads up to the end of a head.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_streams_on_and_an_answer_before_its_end_is_passed_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let environment = [("FUSEWIRE_UPSTREAM", url.as_str())];
    let guard = Server::start(artefacts::GUARD, &environment, &Contents::increment()).await;

    let address = guard.url("").replace("http://", "");
    let mut caller = TcpStream::connect(address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n";
    caller.write_all(head.as_bytes()).await.unwrap();
    caller.write_all(b"the first part").await.unwrap();

    let (mut service, _) = listener.accept().await.unwrap();
    let head = read_head(&mut service).await;
    assert!(head.contains("content-length: 100"), "{head}");
    let mut part = [0; 14];
    service.read_exact(&mut part).await.unwrap();
    assert_eq!(&part, b"the first part");
    // The rest never comes.
    service
        .write_all(b"HTTP/1.1 413 X\r\ncontent-length: 8\r\n\r\ntoo much")
        .await
        .unwrap();
    let head = read_head(&mut caller).await;
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    let mut body = [0; 8];
    caller.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"too much");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_out_of_reach_refuses_nobody() {
    let guarded = Guarded::start().await;
    guarded.contents.set_up(false);
    guarded.service.say(Reply::status(503));
    for sent in 1..=6 {
        assert_eq!(guarded.get("/").await.status(), 503);
        assert_eq!(guarded.service.received().len(), sent);
    }
    // It is back, and what was not counted was not counted.
    guarded.contents.set_up(true);
    guarded.open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_in_the_environment_is_said() {
    let start = async |environment: &[(&str, &str)]| {
        let guard = Server::start(artefacts::GUARD, environment, &Contents::increment()).await;
        let answer = client().get(guard.url("/")).send().await.unwrap();
        assert_eq!(answer.status(), 500);
        answer.json::<Value>().await.unwrap()
    };
    let said = start(&[]).await;
    assert!(
        said["detail"]
            .as_str()
            .unwrap()
            .contains("FUSEWIRE_UPSTREAM is not set"),
        "{said}"
    );
    let policy = r#"{"breaker": {"failures": {"count": 0}}, "x": 1}"#;
    let said = start(&[
        ("FUSEWIRE_UPSTREAM", "http://127.0.0.1"),
        ("FUSEWIRE_POLICY", policy),
    ])
    .await;
    let problems = said["problems"].as_array().unwrap();
    let paths: Vec<&str> = problems
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["/breaker/failures/count", "/x"], "{said}");
}
