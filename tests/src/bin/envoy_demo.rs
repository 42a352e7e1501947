//! An outage behind a real Envoy with the filter in it, from beginning to end: `make envoy-demo`.
//!
//! Two providers on this machine, one of which fails, hangs and recovers; an Envoy with two workers
//! in front of them; and callers who ask the other provider where Envoy refuses. Everything is
//! stopped at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fusewire_tests::envoy::setup::FUSEWIRE;
use fusewire_tests::envoy::{Envoy, Provider, Setup};
use fusewire_tests::gateway;
use fusewire_tests::upstream::{Reply, Upstream};
use serde_json::json;
use tokio::task::JoinSet;

/// When atlas begins to fail, to hang, and to be well again.
const FAILS: Duration = Duration::from_secs(3);
const HANGS: Duration = Duration::from_secs(8);
const RECOVERS: Duration = Duration::from_secs(12);
/// The demo goes on for this long after traffic has returned.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// When it ends whatever has happened by then.
const LATEST_END: Duration = Duration::from_secs(28);

const CALLERS: u64 = 6;
/// How long a caller waits from one look-up to the next.
const PAUSE: Duration = Duration::from_millis(150);
/// How often the story looks for what is new.
const GLANCE: Duration = Duration::from_millis(20);

/// What the callers were answered.
#[derive(Default)]
struct Tally {
    over: AtomicBool,
    atlas: AtomicU64,
    meridian: AtomicU64,
    nobody: AtomicU64,
    refused: AtomicU64,
}

#[tokio::main]
async fn main() {
    let (atlas, meridian) = (Upstream::start().await, Upstream::start().await);
    let envoy = start(&atlas, &meridian).await;
    let tally = Arc::new(Tally::default());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (tally, atlas, meridian) = (tally.clone(), envoy.url("/atlas"), envoy.url("/meridian"));
        callers.spawn(async move {
            // Not all at the same moment.
            tokio::time::sleep(PAUSE / 6 * u32::try_from(caller).unwrap_or(0)).await;
            call(
                &tally,
                &format!("{atlas}/search"),
                &format!("{meridian}/search"),
            )
            .await;
        });
    }
    let during_outage = story(&envoy, &atlas, &tally).await;
    tally.over.store(true, Ordering::SeqCst);
    callers.join_all().await;
    sum(&envoy, &tally, during_outage).await;
}

async fn start(atlas: &Upstream, meridian: &Upstream) -> Envoy {
    let configuration = json!({
        "policy": {"breaker": {
            "failures": {"count": 5, "window": "10s"},
            "cool-down": {"first": "2s"},
            "probes": {"needed": 2},
        }},
        "call-limit": "1s",
    });
    let limit = json!({"timeout": "1s"});
    let envoy = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", atlas.address()).route(limit.clone()))
        .provider(Provider::new("meridian", meridian.address()).route(limit))
        .start()
        .await;
    let size = std::fs::metadata(FUSEWIRE).map_or(0, |file| file.len() / 1_000);
    println!(
        "Envoy with two workers and Fusewire's filter ({size} KB) on {}",
        envoy.url("")
    );
    println!("  /atlas       a provider that will fail, hang, and recover");
    println!("  /meridian    another one, which callers ask where Envoy refuses");
    println!("The filter's configuration: {configuration}");
    println!(
        "Look for yourself meanwhile: curl -i {}",
        envoy.url("/atlas")
    );
    println!(
        "                             curl '{}'",
        envoy.admin_url("/stats?filter=fusewire")
    );
    println!();
    envoy
}

/// Someone who looks up one place after another, at atlas first.
async fn call(tally: &Tally, atlas: &str, meridian: &str) {
    let client = gateway::client();
    while !tally.over.load(Ordering::SeqCst) {
        let mut answered_by = &tally.atlas;
        let mut answer = client.get(atlas).send().await;
        if let Ok(first) = &answer
            && !first.status().is_success()
        {
            if first.headers().contains_key("fusewire-refused") {
                tally.refused.fetch_add(1, Ordering::SeqCst);
            }
            answered_by = &tally.meridian;
            answer = client.get(meridian).send().await;
        }
        let good = answer.is_ok_and(|answer| answer.status().is_success());
        let counter = if good { answered_by } else { &tally.nobody };
        counter.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Lets atlas do what it does, and tells what happens. Answers how many calls reached atlas during
/// its outage.
async fn story(envoy: &Envoy, atlas: &Upstream, tally: &Tally) -> usize {
    let started = Instant::now();
    let say = |text: &str| println!("{:>6.1} s  {text}", started.elapsed().as_secs_f64());
    say("atlas is well");
    let mut parts = vec![
        (RECOVERS, "atlas is well again", Reply::ok("a place")),
        (HANGS, "atlas takes requests and never answers", Reply::Hang),
        (FAILS, "atlas answers 503 to everything", Reply::status(503)),
    ];
    let (mut told, mut reached, mut closed, mut shown) = (0, Vec::new(), None, false);
    loop {
        if let Some((_, text, reply)) = parts.pop_if(|(at, ..)| *at <= started.elapsed()) {
            atlas.say(reply);
            reached.push(atlas.received().len());
            say(text);
        }
        let events = events(envoy);
        for event in &events[told..] {
            say(event);
            if event.contains("-> closed") {
                closed = Some(started.elapsed());
            }
        }
        told = events.len();
        if told > 0 && !shown {
            shown = true;
            show_a_refusal(envoy, tally).await;
        }
        let now = started.elapsed();
        if now > LATEST_END || closed.is_some_and(|at| now > at + AFTERWARDS) {
            return reached.last().unwrap_or(&0) - reached.first().unwrap_or(&0);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// What the filter has written to Envoy's log.
fn events(envoy: &Envoy) -> Vec<String> {
    let log = envoy.log();
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let events = whole
        .lines()
        .filter_map(|line| line.rsplit_once("fusewire: "));
    events.map(|(_, event)| event.to_owned()).collect()
}

/// Shows what a caller gets who is refused.
async fn show_a_refusal(envoy: &Envoy, tally: &Tally) {
    let answer = envoy.get("/atlas/search").await;
    if !answer.headers().contains_key("fusewire-refused") {
        return;
    }
    tally.refused.fetch_add(1, Ordering::SeqCst);
    println!("            a caller is now answered, without atlas being asked:");
    println!("              {:?} {}", answer.version(), answer.status());
    for name in ["retry-after", "fusewire-refused", "fusewire-domain"] {
        println!("              {name}: {}", gateway::header(&answer, name));
    }
}

async fn sum(envoy: &Envoy, tally: &Tally, during_outage: usize) {
    let [atlas, meridian, nobody, refused] =
        [&tally.atlas, &tally.meridian, &tally.nobody, &tally.refused]
            .map(|counter| counter.load(Ordering::SeqCst));
    println!();
    println!("{:>7}  places looked up", atlas + meridian + nobody);
    println!("{atlas:>7}  answered by atlas");
    println!("{meridian:>7}  answered by meridian instead");
    println!("{nobody:>7}  without an answer");
    println!("{refused:>7}  calls saved: Envoy refused them at once, and atlas was not asked");
    println!("{during_outage:>7}  calls reached atlas during its outage");
    println!();
    println!("Envoy counted:");
    for name in [
        "admitted",
        "outcome.success",
        "outcome.failure",
        "refused.open",
        "refused.probe_in_flight",
        "probe.failed",
        "probe.passed",
    ] {
        println!("{:>7}  fusewire.{name}", envoy.count(name).await);
    }
}
