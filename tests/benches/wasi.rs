//! What it costs to be a component of WASI: how large and how slow to start the parts are, what an
//! operation of the contract takes on `wasi:keyvalue`, and what the guard adds to a request.
//!
//! The contents are in this process, so this is what the adapters themselves cost; across a network
//! each step of theirs is a round trip. How many steps that is, `policy/wasi/README.md` says.

use std::fs;
use std::time::{Duration, Instant};

use fusewire::store::{Lane, Window};
use fusewire_tests::gateway::client;
use fusewire_tests::upstream::{Reply, Upstream};
use fusewire_tests::wasi::artefacts;
use fusewire_tests::wasi::clients::{Client, Clients};
use fusewire_tests::wasi::keyvalue::Contents;
use fusewire_tests::wasi::serve::Server;
use wasmtime::Engine;
use wasmtime::component::Component;

const ROUNDS: usize = 21;
const OPERATIONS_A_ROUND: u32 = 500;
const REQUESTS_A_ROUND: u32 = 100;

/// The median of what the rounds took, for one of so many.
fn median(mut rounds: Vec<Duration>, of: u32) -> Duration {
    rounds.sort();
    rounds[rounds.len() / 2] / of
}

fn parts() {
    println!("{:32} {:>9}  {:>11}", "component", "bytes", "compiled in");
    for (name, path) in [
        ("adapter, increment", artefacts::ADAPTER),
        ("adapter, compare and swap", artefacts::ADAPTER_CAS),
        ("policy on increment", artefacts::POLICY),
        ("policy on compare and swap", artefacts::POLICY_CAS),
        ("guard on increment", artefacts::GUARD),
        ("guard on compare and swap", artefacts::GUARD_CAS),
    ] {
        let bytes = fs::read(path).expect("a component");
        let engine = Engine::default();
        let began = Instant::now();
        Component::new(&engine, &bytes).expect("a component");
        println!("{name:32} {:>9}  {:>8.0?}", bytes.len(), began.elapsed());
    }
}

/// What one operation takes.
fn operation(client: &mut Client, operation: impl Fn(&mut Client)) -> Duration {
    let round = |_| {
        let began = Instant::now();
        for _ in 0..OPERATIONS_A_ROUND {
            operation(client);
        }
        began.elapsed()
    };
    median((0..ROUNDS).map(round).collect(), OPERATIONS_A_ROUND)
}

fn operations(way: &str, adapter: &str, contents: &Contents) {
    let clients = Clients::of(adapter, contents).expect("an adapter");
    let began = Instant::now();
    for _ in 0..ROUNDS {
        clients.client().expect("an instance");
    }
    let instance = began.elapsed() / ROUNDS as u32;
    let mut client = clients.client().expect("an instance");
    assert_eq!(client.swap("there", None, Some(b"value"), 0), Ok(true));
    let absent = operation(&mut client, |client| {
        assert_eq!(client.get(&["absent".to_owned()]), Ok(vec![None]));
    });
    let there = operation(&mut client, |client| {
        assert!(
            client
                .get(&["there".to_owned()])
                .is_ok_and(|held| held[0].is_some())
        );
    });
    let swap = operation(&mut client, |client| {
        assert_eq!(
            client.swap("there", Some(b"value"), Some(b"value"), 0),
            Ok(true)
        );
    });
    let window = Window {
        key: "counter".into(),
        epoch: 1,
        bucket: 1,
        add: vec![Lane {
            name: "success".into(),
            amount: 1,
        }],
        since: 0,
        ttl_ms: 60_000,
    };
    let count = operation(&mut client, |client| {
        assert!(client.count(std::slice::from_ref(&window)).is_ok());
    });
    println!("{way:32} {instance:>9.1?} {absent:>9.1?} {there:>9.1?} {swap:>9.1?} {count:>9.1?}");
}

/// What a request takes, one after the other on one connection.
async fn request(client: &reqwest::Client, url: &str) -> Duration {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..REQUESTS_A_ROUND {
            let answer = client.get(url).send().await.expect("an answer");
            answer.bytes().await.expect("a body");
        }
        rounds.push(began.elapsed());
    }
    median(rounds, REQUESTS_A_ROUND)
}

async fn requests() {
    let service = Upstream::start().await;
    service.say(Reply::ok("answer"));
    let url = service.url("");
    let environment = [("FUSEWIRE_UPSTREAM", url.as_str())];
    let contents = Contents::increment();
    let guard = Server::start(artefacts::GUARD, &environment, &contents).await;
    let client = client();
    println!(
        "{:32} {:>9.1?}",
        "a request, straight",
        request(&client, &url).await
    );
    let guarded = request(&client, &guard.url("/")).await;
    println!("{:32} {guarded:>9.1?}", "the same, guarded");
}

#[tokio::main]
async fn main() {
    parts();
    println!(
        "\n{:32} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "one of", "instance", "no value", "get", "swap", "count"
    );
    operations("increment", artefacts::ADAPTER, &Contents::increment());
    operations("compare and swap", artefacts::ADAPTER_CAS, &Contents::cas());
    println!();
    requests().await;
}
