//! What goes wrong with an attempt has one name, and it is the right one.

use std::time::Duration;

use fusewire::core::TransportFailure;
use fusewire::gateway::upstream::{Asked, Body, Limits, Outgoing, Timer, Upstream as Client};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use fusewire_tests::upstream::{End, FullHouse, Reply, Upstream, nobody_there};

const SHORT: Duration = Duration::from_millis(80);
const LONG: Duration = Duration::from_secs(20);

const LIMITS: Limits = Limits {
    connect: LONG,
    read: LONG,
    total: LONG,
    probe: LONG,
};

async fn ask(url: &str, limits: Limits) -> Asked {
    ask_until(url, limits, None).await
}

async fn ask_until(url: &str, limits: Limits, deadline: Option<Duration>) -> Asked {
    let client = Client::new(url.starts_with("https"), limits, 5, 1024).expect("a client");
    let outgoing = Outgoing {
        method: http::Method::GET,
        url: url.parse().expect("a URL"),
        headers: http::HeaderMap::new(),
        body: Vec::new().into(),
    };
    client
        .ask(outgoing, Timer::new(limits.total, deadline), 0)
        .await
}

fn failure(asked: &Asked) -> Option<TransportFailure> {
    asked.body.as_ref().err().map(|failure| failure.kind)
}

#[tokio::test]
async fn each_limit_that_fires_has_its_own_name() {
    use TransportFailure as F;
    let full = FullHouse::start().await;
    let short_connect = Limits {
        connect: SHORT,
        ..LIMITS
    };
    let asked = ask(&full.url("/"), short_connect).await;
    assert_eq!(failure(&asked), Some(F::ConnectTimeout));

    let hanging = Upstream::start().await;
    hanging.say(Reply::Hang);
    let short_read = Limits {
        read: SHORT,
        ..LIMITS
    };
    let asked = ask(&hanging.url("/"), short_read).await;
    assert_eq!(failure(&asked), Some(F::ReadTimeout));
    let short_total = Limits {
        total: SHORT,
        ..LIMITS
    };
    let asked = ask(&hanging.url("/"), short_total).await;
    assert_eq!(failure(&asked), Some(F::TotalTimeout));
    assert!(asked.waited >= SHORT);
    let asked = ask_until(&hanging.url("/"), LIMITS, Some(SHORT)).await;
    assert_eq!(failure(&asked), Some(F::CallerDeadline));
}

#[tokio::test]
async fn the_read_limit_runs_from_one_byte_to_the_next_and_the_total_over_all() {
    let dripping = Upstream::start().await;
    let mut parts = vec![b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n".to_vec()];
    parts.extend((0..8).map(|_| b"x".to_vec()));
    let drip = |end| Reply::Bytes {
        parts: parts.clone(),
        pause: Duration::from_millis(60),
        end,
    };
    dripping.say(drip(End::Hang));
    let patient = Limits {
        read: Duration::from_millis(1_000),
        ..LIMITS
    };
    let asked = ask(&dripping.url("/"), patient).await;
    assert!(matches!(asked.body, Ok(Body::Whole(body)) if body.len() == 8));

    let hasty = Limits {
        total: Duration::from_millis(250),
        ..patient
    };
    let asked = ask(&dripping.url("/"), hasty).await;
    assert_eq!(failure(&asked), Some(TransportFailure::TotalTimeout));
    assert!(asked.head.is_some(), "the answer had begun");

    dripping.say(Reply::raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nx",
        End::Hang,
    ));
    let short_read = Limits {
        read: SHORT,
        ..LIMITS
    };
    let asked = ask(&dripping.url("/"), short_read).await;
    assert_eq!(failure(&asked), Some(TransportFailure::ReadTimeout));
    assert!(asked.head.is_some(), "the answer had begun");
}

/// A handshake that hangs was once reported as a provider that does not answer, since the read
/// limit is shorter than the one for connecting.
#[tokio::test]
async fn time_spent_connecting_is_not_time_spent_reading() {
    let silent = Upstream::start().await;
    silent.say(Reply::Hang);
    let limits = Limits {
        connect: Duration::from_millis(400),
        read: SHORT,
        ..LIMITS
    };
    let asked = ask(&silent.url("/").replace("http:", "https:"), limits).await;
    assert_eq!(failure(&asked), Some(TransportFailure::ConnectTimeout));
    assert!(asked.waited >= limits.connect);
}

#[tokio::test]
async fn failures_below_http_are_told_apart() {
    use TransportFailure as F;
    let refused = format!("http://{}/", nobody_there().await);
    assert_eq!(
        failure(&ask(&refused, LIMITS).await),
        Some(F::ConnectRefused)
    );

    let upstream = Upstream::start().await;
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (reply, expected, begun) in [
        (Reply::Reset, F::Reset, false),
        (Reply::raw("", End::Close), F::Reset, false),
        (Reply::raw("HTTP/1.1 200", End::Close), F::Reset, false),
        (
            Reply::raw("SSH-2.0-OpenSSH_9.2\r\n\r\n", End::Close),
            F::Protocol,
            false,
        ),
        (Reply::half_body(End::Close), F::IncompleteBody, true),
        (Reply::half_body(End::Reset), F::ResetMidBody, true),
        (
            Reply::raw(format!("{chunked}4\r\nhalf\r\n"), End::Close),
            F::IncompleteBody,
            true,
        ),
        (
            Reply::raw(format!("{chunked}zz\r\n"), End::Close),
            F::Protocol,
            true,
        ),
    ] {
        upstream.say(reply.clone());
        let asked = ask(&upstream.url("/"), LIMITS).await;
        assert_eq!(
            (failure(&asked), asked.head.is_some()),
            (Some(expected), begun),
            "{reply:?}"
        );
    }

    let greeter = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls = format!("https://{}/", greeter.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut guest, _) = greeter.accept().await.unwrap();
        guest
            .write_all(b"220 mail.example ESMTP\r\n")
            .await
            .unwrap();
        guest.read_to_end(&mut Vec::new()).await
    });
    assert_eq!(failure(&ask(&not_tls, LIMITS).await), Some(F::TlsHandshake));
}

/// The name is reserved for this (RFC 6761). Where there is no resolver at all the failure is
/// temporary, and so is its name.
#[tokio::test]
async fn a_name_that_does_not_resolve_is_not_a_provider_that_refuses() {
    let asked = ask("http://no-such-host.invalid/", LIMITS).await;
    let failure = failure(&asked).expect("a failure");
    let names = [
        TransportFailure::DnsNotFound,
        TransportFailure::DnsTemporary,
    ];
    assert!(names.contains(&failure), "{failure}: {:?}", asked.body);
}

#[tokio::test]
async fn redirects_are_followed_at_the_same_origin_alone_and_not_for_ever() {
    let (upstream, elsewhere) = (Upstream::start().await, Upstream::start().await);
    upstream.say_once(Reply::status(302).with("location", "/moved"));
    let asked = ask(&upstream.url("/"), LIMITS).await;
    assert_eq!(asked.head.map(|head| head.status.as_u16()), Some(200));
    assert_eq!(upstream.received()[1].target, "/moved");

    upstream.say(Reply::status(302).with("location", &elsewhere.url("/")));
    let asked = ask(&upstream.url("/"), LIMITS).await;
    assert_eq!(asked.head.map(|head| head.status.as_u16()), Some(302));
    assert!(elsewhere.received().is_empty(), "a key went along");

    upstream.say(Reply::status(302).with("location", "/again"));
    let asked = ask(&upstream.url("/"), LIMITS).await;
    assert_eq!(failure(&asked), Some(TransportFailure::TooManyRedirects));
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_attempt() {
    let upstream = Upstream::start().await;
    let client = Client::new(false, LIMITS, 5, 1024).expect("a client");
    upstream.say_once(Reply::ok("first"));
    upstream.say_once(Reply::raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond",
        End::Close,
    ));
    for _ in 0..3 {
        let outgoing = Outgoing {
            method: http::Method::GET,
            url: upstream.url("/").parse().expect("a URL"),
            headers: http::HeaderMap::new(),
            body: Vec::new().into(),
        };
        let asked = client.ask(outgoing, Timer::new(LONG, None), 0).await;
        assert!(asked.body.is_ok(), "{:?}", asked.body);
    }
    assert_eq!(
        upstream.connections(),
        2,
        "one was kept, and one had been closed"
    );
}
