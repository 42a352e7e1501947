//! A stream of events is kept back until it has said something, and no longer.

use std::time::Duration;

use fusewire::core::Phase;
use fusewire::gateway::Gateway;
use fusewire_tests::fleet::{DEADLINE, until};
use fusewire_tests::gateway::{breaker, chain, get, header};
use fusewire_tests::spy::Spy;
use fusewire_tests::upstream::{End, Reply, Upstream};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
const TOKEN: &str = "data: {\"token\": \"a\"}\n\n";
const ERROR: &str = "event: error\ndata: {\"error\": \"FAILED\"}\n\n";
const PING: &str = ": keep-alive\n\nevent: ping\ndata: {}\n\n";

/// A stream of these parts, one after another.
fn stream(parts: &[&str], end: End) -> Reply {
    let parts = std::iter::once(HEAD).chain(parts.iter().copied());
    Reply::Bytes {
        parts: parts.map(Into::into).collect(),
        pause: Duration::from_millis(20),
        end,
    }
}

/// A gateway for two providers, whose policy looks at bodies.
async fn two(first: &Upstream, second: &Upstream) -> Gateway {
    let providers = [("first", first.url("/")), ("second", second.url("/"))];
    let spy = Spy::looking_at(1 << 10, &["content-type"]);
    spy.gateway(&chain(&providers, "")).await
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_is_the_next_providers_turn() {
    let (first, second) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&first, &second).await;
    // It goes on after that: nobody waits for its end.
    first.say(stream(&[PING, ERROR], End::Hang));
    second.say(stream(&[PING, TOKEN], End::Close));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "second");
    assert!(header(&answer, "fusewire-skipped").starts_with("first;reason=provider-error"));
    assert_eq!(answer.text().await.unwrap(), format!("{PING}{TOKEN}"));
    assert_eq!(breaker(&gateway, "first").await.phase, Phase::Open);
}

#[tokio::test]
async fn the_first_token_is_there_while_the_stream_goes_on() {
    let (first, second) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&first, &second).await;
    first.say(stream(&[TOKEN], End::Hang));
    let first_token = async {
        let mut answer = get(&gateway, "/").await;
        assert_eq!(header(&answer, "fusewire-provider"), "first");
        let mut all = Vec::new();
        while all.len() < TOKEN.len() {
            all.extend(answer.chunk().await.unwrap().expect("a part"));
        }
        (all, answer)
    };
    let (all, answer) = tokio::time::timeout(DEADLINE, first_token)
        .await
        .expect("a token");
    assert_eq!(all, TOKEN.as_bytes());
    assert_eq!(breaker(&gateway, "first").await.successes, 0, "it goes on");
    drop(answer);
    until("the provider is let go", async || first.left_alone() == 1).await;
}

#[tokio::test]
async fn an_error_in_the_midst_of_a_stream_is_a_failure_of_the_provider() {
    let (first, second) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&first, &second).await;
    first.say(stream(&[TOKEN, TOKEN, ERROR], End::Close));
    let answer = get(&gateway, "/").await;
    assert_eq!(header(&answer, "fusewire-provider"), "first");
    assert_eq!(
        answer.text().await.unwrap(),
        format!("{TOKEN}{TOKEN}{ERROR}")
    );
    until("the breaker is open", async || {
        breaker(&gateway, "first").await.phase == Phase::Open
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_ends_well_is_a_success_once_it_has_ended() {
    let (first, second) = (Upstream::start().await, Upstream::start().await);
    let gateway = two(&first, &second).await;
    for (n, parts) in [&[TOKEN, PING, TOKEN][..], &[PING], &[]]
        .into_iter()
        .enumerate()
    {
        first.say(stream(parts, End::Close));
        let answer = get(&gateway, "/").await;
        assert_eq!(answer.text().await.unwrap(), parts.concat());
        until("the success is counted", async || {
            breaker(&gateway, "first").await.successes == n as u64 + 1
        })
        .await;
    }
}
