//! A long answer is judged by its end, and a caller who goes away blames nobody.

use std::time::Duration;

use fusewire::core::{DomainState, Phase, Target};
use fusewire::gateway::Gateway;
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::{client, get, start};
use fusewire_tests::upstream::{End, Reply, Upstream};

/// One failure opens; nothing is kept back beyond 10 bytes.
async fn guarding(upstream: &Upstream) -> Gateway {
    start(&format!(
        "[policy]
retry.attempts = 1
breaker.failures.count = 1
[providers.p]
url = \"{}\"
buffer = 10
[[routes]]
path = \"/\"
chain = [\"p\"]
",
        upstream.url("/")
    ))
    .await
}

async fn state(gateway: &Gateway) -> DomainState {
    gateway.guard().settled().await;
    let states = gateway.guard().inspect(&Target::provider("p")).await;
    states.into_iter().next().expect("a domain")
}

#[tokio::test]
async fn a_long_answer_is_passed_on_while_it_comes_and_counted_when_it_has_ended() {
    let upstream = Upstream::start().await;
    let gateway = guarding(&upstream).await;
    for head in [
        "content-length: 40\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n",
    ] {
        let chunked = head.starts_with('t');
        let part = |text: &str| match chunked {
            true => format!("{:x}\r\n{text}\r\n", text.len()).into_bytes(),
            false => text.into(),
        };
        let mut parts = vec![format!("HTTP/1.1 200 OK\r\n{head}").into_bytes()];
        parts.extend([part("0123456789012345678X"), part("and the other twenty")]);
        if chunked {
            parts.push("0\r\n\r\n".into());
        }
        let before = state(&gateway).await.successes;
        upstream.say(Reply::Bytes {
            parts,
            pause: Duration::from_millis(50),
            end: End::Close,
        });
        let mut answer = get(&gateway, "/").await;
        let first = answer.chunk().await.unwrap().expect("a part");
        assert!(first.starts_with(b"0123456789"), "{first:?}");
        assert_eq!(
            state(&gateway).await.successes,
            before,
            "it has not ended yet"
        );
        let mut rest = first.to_vec();
        while let Some(part) = answer.chunk().await.unwrap() {
            rest.extend_from_slice(&part);
        }
        assert_eq!(rest.len(), 40);
        until("the success is counted", async || {
            state(&gateway).await.successes == before + 1
        })
        .await;
    }
}

#[tokio::test]
async fn a_long_answer_that_breaks_off_is_broken_for_the_caller_and_a_failure_of_the_provider() {
    let upstream = Upstream::start().await;
    let gateway = guarding(&upstream).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    upstream.say(Reply::raw(format!("{head}more than ten bytes"), End::Close));
    let answer = get(&gateway, "/").await;
    assert_eq!(answer.status(), 200, "it had begun well");
    assert!(
        answer.bytes().await.is_err(),
        "half an answer passed for all of it"
    );
    until("the breaker is open", async || {
        state(&gateway).await.phase == Phase::Open
    })
    .await;
}

#[tokio::test]
async fn a_caller_who_goes_away_is_a_drop_and_not_a_failure() {
    let upstream = Upstream::start().await;
    let gateway = guarding(&upstream).await;
    let url = format!("http://{}/", gateway.address());
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    let begun = Reply::raw(format!("{head}more than ten bytes"), End::Hang);
    for (times, reply) in [(1, Reply::Hang), (2, begun)] {
        upstream.say(reply);
        let (client, url) = (client(), url.clone());
        let calling = tokio::spawn(async move { client.get(url).send().await?.bytes().await });
        until("the provider is asked", async || {
            upstream.received().len() == times
        })
        .await;
        calling.abort();
        until("the attempt is given up", async || {
            upstream.left_alone() == times
        })
        .await;
        let state = state(&gateway).await;
        assert_eq!(
            (state.phase, state.failures, state.successes),
            (Phase::Closed, 0, 0)
        );
    }
}

#[tokio::test]
async fn a_gateway_that_is_stopped_lets_what_is_in_flight_end_and_takes_nothing_new() {
    let upstream = Upstream::start().await;
    let gateway = guarding(&upstream).await;
    let guard = gateway.guard().clone();
    let url = format!("http://{}/", gateway.address());
    let parts = vec!["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".into()];
    upstream.say(Reply::Bytes {
        parts,
        pause: Duration::from_millis(300),
        end: End::Close,
    });
    let calling = tokio::spawn(client().get(&url).send());
    until("the provider is asked", async || {
        !upstream.received().is_empty()
    })
    .await;
    gateway.stop().await;
    assert!(client().get(&url).send().await.is_err(), "it still listens");
    assert_eq!(calling.await.unwrap().unwrap().status(), 200);
    let states = guard.inspect(&Target::provider("p")).await;
    assert_eq!(
        states[0].successes, 1,
        "the outcome was told before it ended"
    );
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_is_given_up_and_reported_as_dropped() {
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "grace = \"50ms\"
[policy]
breaker.failures.count = 1
[providers.p]
url = \"{}\"
[[routes]]
path = \"/\"
chain = [\"p\"]
",
        upstream.url("/")
    ))
    .await;
    let guard = gateway.guard().clone();
    upstream.say(Reply::Hang);
    let url = format!("http://{}/", gateway.address());
    let calling = tokio::spawn(client().get(url).send());
    until("the provider is asked", async || {
        !upstream.received().is_empty()
    })
    .await;
    gateway.stop().await;
    let answer = calling.await.unwrap().unwrap();
    assert_eq!(answer.status(), 503);
    assert!(!answer.headers().contains_key("fusewire-provider"));
    let states = guard.inspect(&Target::provider("p")).await;
    assert_eq!((states[0].phase, states[0].failures), (Phase::Closed, 0));
}
