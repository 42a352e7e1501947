//! A policy is shown what it looks at, and nothing else is gathered for it.

use std::time::Duration;

use fusewire::core::{Field, Observation, Phase, Response};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{breaker, chain, client, get};
use fusewire_tests::spy::{FAILED, Spy, deflate, gzip};
use fusewire_tests::upstream::{End, Reply, Upstream};

const TEXT: &str = r#"{"status": "OK", "results": []}"#;

fn one(upstream: &Upstream, more: &str) -> String {
    chain(&[("p", upstream.url("/"))], more)
}

/// The answer of the only observation since.
fn shown(spy: &Spy) -> Response {
    let seen = spy.seen();
    let [Observation { response, .. }] = &seen[..] else {
        panic!("one attempt: {seen:?}");
    };
    response.clone().expect("an answer")
}

fn coded(coding: &str, body: Vec<u8>) -> Reply {
    Reply::ok(body).with("content-encoding", coding)
}

#[tokio::test]
async fn an_answer_is_shown_as_far_as_it_is_looked_at_and_passed_on_whole() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(10, &["retry-after"]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    upstream.say(
        Reply::ok(TEXT)
            .with("retry-after", "7")
            .with("x-other", "1"),
    );
    let answer = get(&gateway, "/").await;
    assert!(answer.headers().contains_key("x-other"));
    assert_eq!(answer.text().await.unwrap(), TEXT);
    let shown = shown(&spy);
    assert_eq!(shown.body.as_deref(), TEXT.as_bytes().get(..10));
    let field = Field {
        name: "retry-after".into(),
        value: "7".into(),
    };
    assert_eq!(shown.headers, [field]);
}

#[tokio::test]
async fn no_body_is_copied_or_decoded_where_nobody_looks_at_it() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(0, &[]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    for reply in [Reply::ok(TEXT), coded("gzip", gzip(TEXT))] {
        upstream.say(reply);
        assert_eq!(get(&gateway, "/").await.status(), 200);
        let shown = shown(&spy);
        assert_eq!((shown.body, shown.headers), (None, vec![]));
    }
    let asked = client().get(format!("http://{}/", gateway.address()));
    let answer = asked.header("accept-encoding", "br, gzip").send().await;
    assert_eq!(answer.unwrap().status(), 200);
    let received = upstream.received();
    assert_eq!(received[2].header("accept-encoding"), Some("br, gzip"));
}

#[tokio::test]
async fn a_coded_answer_is_decoded_to_be_looked_at_and_passed_on_as_it_came() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(1_000, &[]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    let good = gzip(TEXT);
    let cut = good[..good.len() - 4].to_vec();
    for (coding, body, seen) in [
        ("gzip", good.clone(), Some(TEXT)),
        ("deflate", deflate(TEXT), Some(TEXT)),
        ("identity", TEXT.into(), Some(TEXT)),
        ("br", TEXT.into(), None),
        ("gzip", TEXT.into(), None),
        ("gzip", cut, None),
        ("gzip", Vec::new(), Some("")),
    ] {
        upstream.say(coded(coding, body.clone()));
        let answer = get(&gateway, "/").await;
        assert_eq!(answer.headers()["content-encoding"], coding);
        assert_eq!(answer.bytes().await.unwrap(), body, "{coding}");
        let shown = shown(&spy).body;
        assert_eq!(shown.as_deref(), seen.map(str::as_bytes), "{coding}");
    }
    let bomb = gzip(&"x".repeat(8 << 20));
    upstream.say(coded("gzip", bomb));
    assert_eq!(get(&gateway, "/").await.status(), 200);
    assert_eq!(shown(&spy).body.map(|body| body.len()), Some(1_000));
}

#[tokio::test]
async fn an_answer_that_is_looked_at_is_asked_for_in_a_coding_that_can_be_decoded() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(1_000, &[]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    let url = format!("http://{}/", gateway.address());
    for (asked, sent) in [
        (Some("gzip, deflate, br, zstd"), Some("gzip, deflate")),
        (Some("br"), Some("identity")),
        (None, None),
    ] {
        let mut request = client().get(&url);
        if let Some(asked) = asked {
            request = request.header("accept-encoding", asked);
        }
        assert_eq!(request.send().await.unwrap().status(), 200);
        let received = upstream.received();
        let last = received.last().expect("a request");
        assert_eq!(last.header("accept-encoding"), sent, "{asked:?}");
    }
}

#[tokio::test]
async fn an_answer_that_has_no_body_by_its_method_or_status_is_not_taken_for_an_empty_one() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(1_000, &[]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    let url = format!("http://{}/", gateway.address());
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n";
    for (method, reply, body) in [
        ("HEAD", Reply::raw(head, End::Close), None),
        (
            "GET",
            Reply::raw("HTTP/1.1 204 X\r\n\r\n", End::Close),
            None,
        ),
        (
            "GET",
            Reply::raw("HTTP/1.1 304 X\r\n\r\n", End::Close),
            None,
        ),
        ("GET", Reply::status(200), Some(Vec::new())),
        ("GET", Reply::status(404), Some(Vec::new())),
    ] {
        upstream.say(reply.clone());
        let method = method.parse().unwrap();
        let answer = client().request(method, &url).send().await.unwrap();
        assert!(!answer.headers().contains_key("fusewire-skipped"));
        assert_eq!(shown(&spy).body, body, "{reply:?}");
    }
}

#[tokio::test]
async fn at_the_end_of_a_long_answer_its_beginning_is_judged_with_the_end() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(30, &[]);
    let gateway = spy.gateway(&one(&upstream, "buffer = 10")).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n";
    let body = format!("0123456789ABCDEF{FAILED}{}", "x".repeat(38));
    let (early, late) = body.split_at(16);
    upstream.say(Reply::Bytes {
        parts: vec![format!("{head}{early}").into(), late.into()],
        pause: Duration::from_millis(50),
        end: End::Close,
    });
    let answer = get(&gateway, "/").await;
    assert_eq!(answer.text().await.unwrap(), body);
    until("the breaker is open", async || {
        breaker(&gateway, "p").await.phase == Phase::Open
    })
    .await;
    let seen = spy.seen();
    let bodies = seen.iter().map(|seen| {
        let body = seen.response.as_ref().and_then(|r| r.body.clone());
        (
            seen.delivered_partial,
            String::from_utf8(body.expect("a body")).expect("text"),
        )
    });
    let expected = [(false, early.to_owned()), (true, body[..30].to_owned())];
    assert_eq!(bodies.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn fields_after_the_body_are_shown() {
    let upstream = Upstream::start().await;
    let spy = Spy::looking_at(0, &[]);
    let gateway = spy.gateway(&one(&upstream, "")).await;
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-checked\r\n\r\n\
                  2\r\nok\r\n0\r\nx-checked: 8\r\n\r\n";
    upstream.say(Reply::raw(answer, End::Close));
    assert_eq!(get(&gateway, "/").await.text().await.unwrap(), "ok");
    let trailer = Field {
        name: "x-checked".into(),
        value: "8".into(),
    };
    assert_eq!(shown(&spy).trailers, [trailer]);
}
