//! The filter in Envoy, measured.
//!
//! What it costs: requests a second, the 99th percentile of their time, and Envoy's processor time
//! for one, without a filter, with an empty one, and with Fusewire's, whose breakers never trip.
//!
//! One worker, so that Envoy is what there is too little of: it has a core of its own, and wrk and
//! the provider share another. The provider answers on sockets of this process without looking at
//! more than the end of a request, so that it costs the least that a provider can. All three take
//! turns in one run, in an order that changes from round to round, and are compared within a
//! round.
//!
//! And before that: the filter is replaced again and again while wrk is at work, which must not cost
//! a call; and how long it takes from a trip on one Envoy to a refusal on another, which exchange
//! with one Fusewire host as often as they do by default.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use fusewire::gateway::Gateway;
use fusewire_tests::envoy::setup::{EMPTY, FUSEWIRE};
use fusewire_tests::envoy::{Envoy, Filter, Provider, Setup, Updates};
use fusewire_tests::upstream::{Reply, Upstream};
use fusewire_tests::{fleet, gateway, tools};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUNDS: usize = 7;
const SECONDS_A_TURN: u64 = 3;
const CONNECTIONS: u64 = 16;
const STARTS: usize = 5;
const TRIPS: usize = 40;

/// Throughput of the empty filter that Fusewire's has at least.
const THROUGHPUT_GOAL: f64 = 0.9;
/// How much longer than the empty filter's its 99th percentile may be.
const P99_GOAL: f64 = 1.1;

/// What wrk measured in one turn.
#[derive(Debug, Clone, Copy)]
struct Turn {
    per_second: f64,
    p99: Duration,
    /// Envoy's processor time for a request.
    processor: Duration,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let provider = provider().await;
    let setup = |filter: Option<Filter>| {
        let setup = filter.map_or_else(Setup::plain, Setup::with);
        setup.workers(1).provider(Provider::new("atlas", provider))
    };
    let setups = [
        ("no filter", setup(None)),
        ("empty filter", setup(Some(Filter::of(EMPTY, "")))),
        ("fusewire", setup(Some(Filter::of(FUSEWIRE, "{}")))),
    ];
    starts(&setups).await;
    replacements(provider).await;
    trips().await;
    // Last, since it keeps this process on one processor.
    traffic(&setups).await;
}

/// How long an Envoy takes to start.
async fn starts(setups: &[(&str, Setup)]) {
    println!("{:<16}{:>12}", "start-up", "ms");
    for (name, setup) in setups {
        let mut times = Vec::new();
        for _ in 0..STARTS {
            times.push(setup.start().await.started_in().as_secs_f64());
        }
        println!("{name:<16}{:>12.0}", 1_000.0 * median(times));
    }
}

async fn traffic(setups: &[(&str, Setup)]) {
    let mut envoys = Vec::new();
    for (_, setup) in setups {
        envoys.push(setup.start().await);
    }
    for envoy in &envoys {
        keep_on(0, envoy.id());
    }
    // wrk inherits it.
    keep_on(1, std::process::id());
    let mut turns = vec![Vec::new(); envoys.len()];
    for round in 0..=ROUNDS {
        for place in 0..envoys.len() {
            let whose = (place + round) % envoys.len();
            let turn = wrk(&envoys[whose]).await;
            // The first round warms up.
            if round > 0 {
                turns[whose].push(turn);
            }
        }
    }
    assert!(
        envoys[2].count("outcome.success").await > 0,
        "it was at work"
    );
    for nothing in ["outcome.failure", "store.error", "store.full", "host_error"] {
        assert_eq!(envoys[2].count(nothing).await, 0, "{nothing}");
    }

    println!(
        "\n{:<14}{:>10}{:>12}{:>14}{:>14}{:>12}{:>14}",
        "", "a second", "p99 in µs", "processor µs", "of empty's", "its p99", "its processor"
    );
    for (whose, (name, _)) in setups.iter().enumerate() {
        let [per_second, p99, processor]: [fn(&Turn) -> f64; 3] = [
            |turn| turn.per_second,
            |turn| 1e6 * turn.p99.as_secs_f64(),
            |turn| 1e6 * turn.processor.as_secs_f64(),
        ];
        let own = |of: fn(&Turn) -> f64| median(turns[whose].iter().map(of).collect());
        let of_empty = |of: fn(&Turn) -> f64| {
            let pairs = turns[whose].iter().zip(&turns[1]);
            median(pairs.map(|(turn, empty)| of(turn) / of(empty)).collect())
        };
        println!(
            "{name:<14}{:>10.0}{:>12.0}{:>14.1}{:>14.3}{:>12.3}{:>14.3}",
            own(per_second),
            own(p99),
            own(processor),
            of_empty(per_second),
            of_empty(p99),
            of_empty(processor),
        );
    }
    println!("goals: {THROUGHPUT_GOAL} or more, and {P99_GOAL} or less");
}

/// Keeps all threads of a process on one processor.
fn keep_on(processor: u32, process: u32) {
    let kept = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", &processor.to_string()])
        .arg(process.to_string())
        .output();
    if !kept.is_ok_and(|output| output.status.success()) {
        println!("process {process} is not kept on a processor of its own: the figures vary more");
    }
}

/// One turn of load on an Envoy.
async fn wrk(envoy: &Envoy) -> Turn {
    let mut wrk = Command::new(tools::wrk());
    wrk.args(["--threads", "1", "--latency"])
        .args(["--connections", &CONNECTIONS.to_string()])
        .args(["--duration", &format!("{SECONDS_A_TURN}s")])
        .arg(envoy.url("/atlas/search"));
    let before = envoy.processor_time();
    let output = tokio::task::spawn_blocking(move || wrk.output());
    let output = output.await.expect("wrk ends").expect("wrk starts");
    let processor = envoy.processor_time() - before;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !report.contains("Non-2xx"),
        "every request is answered:\n{report}"
    );
    assert!(
        !report.contains("Socket errors"),
        "no connection breaks:\n{report}"
    );
    let after = |what: &str| {
        let line = report
            .lines()
            .find_map(|line| line.trim().strip_prefix(what));
        line.unwrap_or_else(|| panic!("wrk says {what:?}:\n{report}"))
            .trim()
            .to_owned()
    };
    let requests: u32 = report
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())
        .unwrap_or_else(|| panic!("wrk says how many requests:\n{report}"));
    Turn {
        per_second: after("Requests/sec:").parse().expect("a number"),
        p99: span(&after("99%")),
        processor: processor / requests,
    }
}

/// A span as wrk writes it: `1.23ms`.
fn span(text: &str) -> Duration {
    let at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .expect("a unit");
    let (number, unit) = text.split_at(at);
    let unit = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        other => panic!("wrk's unit {other:?}"),
    };
    Duration::from_secs_f64(number.parse::<f64>().expect("a number") * unit)
}

/// Replaces the filter under load. `wrk` sees to it that every request is answered.
async fn replacements(provider: SocketAddr) {
    const TIMES: u64 = 5;
    let setup = Setup::with(Filter::of(FUSEWIRE, "{}"))
        .provider(Provider::new("atlas", provider))
        .updates(Updates::Filter);
    let envoy = setup.start().await;
    let reloads = async || {
        let name = "extension_config_discovery.http_filter.fusewire.config_reload";
        envoy.stat(name).await.expect("Envoy counts them")
    };
    let before = reloads().await;
    let replace = async {
        for n in 1..=TIMES {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let changed = json!({"keys": 1_000 + n});
            envoy.update(&setup.replaced(Filter::fusewire(&changed)));
        }
    };
    let (turn, ()) = tokio::join!(wrk(&envoy), replace);
    assert_eq!(reloads().await - before, TIMES, "each was put in force");
    println!(
        "\nreplaced {TIMES} times under {:.0} requests a second: every request was answered",
        turn.per_second
    );
}

/// Trips breakers on one Envoy, and sees when the other refuses.
async fn trips() {
    let upstream = Upstream::start().await;
    let host = gateway::start("[exchange]\n").await;
    let [one, other] = [
        member("one", &host, &upstream),
        member("other", &host, &upstream),
    ];
    let (one, other) = (one.await, other.await);
    let mut times = Vec::new();
    for trip in 0..TRIPS {
        let provider = format!("provider-{trip}");
        let ask = async |envoy: &Envoy| {
            let request = envoy.request("/atlas").header("x-provider", &provider);
            let answer = request.send().await.expect("an answer");
            answer.headers().contains_key("fusewire-refused")
        };
        upstream.say(Reply::status(500));
        while !ask(&one).await {}
        let tripped = Instant::now();
        // The other one sees no failure of its own.
        upstream.say(Reply::ok(""));
        fleet::until("the other one refuses", async || ask(&other).await).await;
        times.push(1_000.0 * tripped.elapsed().as_secs_f64());
    }
    let longest = times.iter().copied().fold(0.0, f64::max);
    println!("\nfrom a trip on one Envoy to a refusal on another, {TRIPS} times:");
    println!("median {:.0} ms, longest {longest:.0} ms", median(times));
}

/// An Envoy of a fleet whose domains are named by a header.
async fn member(instance: &str, host: &Gateway, upstream: &Upstream) -> Envoy {
    Setup::fusewire(&json!({
        "instance": instance,
        "target": {"provider": {"header": "x-provider"}},
        "fleet": {"cluster": "fusewire"},
    }))
    .provider(Provider::new("atlas", upstream.address()))
    .provider(Provider::new("fusewire", host.address()))
    .start()
    .await
}

/// A provider that always answers the same.
async fn provider() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let mut pending = Vec::with_capacity(4096);
    while stream.read_buf(&mut pending).await? > 0 {
        // Envoy has one request on a connection at a time.
        if pending.ends_with(b"\r\n\r\n") {
            pending.clear();
            stream.write_all(ANSWER).await?;
        }
    }
    Ok(())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
