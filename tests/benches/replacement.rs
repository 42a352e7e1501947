//! What replacing the policy costs the calls that go on meanwhile: 10,000 guarded calls a second on a
//! real Redis for a minute without a replacement and for a minute with one each second, in turns; and
//! what is left in memory of a thousand policies that were replaced.
//!
//! Calls begin at fixed moments, whether or not those before have ended, so that a moment in which
//! nothing goes on is seen by all the calls that fall into it. A call is admit, classify and settle;
//! its time runs from the moment at which it was to begin to its last answer. Every replacement goes
//! through all the stages: vetting with the scenarios that the policy carries, the shadow, the canary.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fusewire::engine::BUILT_IN;
use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire::policy::rollout::options::{Canarying, Options, Shadowing};
use fusewire::policy::rollout::{How, Rollout, Serving, Status};
use fusewire::policy::{Artefact, Cache, Terms, vet};
use fusewire_core::{Observation, Response, Target};
use fusewire_tests::fleet;
use fusewire_tests::memory::resident_kib;
use fusewire_tests::redis_server::RedisServer;
use tokio::time::{MissedTickBehavior, interval};

/// Each side has so many turns of so many seconds.
const TURNS: u32 = 4;
const TURN: Duration = Duration::from_secs(15);
/// So many calls begin each millisecond.
const CALLS_EACH_MS: u64 = 10;
/// So many policies are replaced for what they leave in memory.
const REPLACED: u64 = 1_000;

#[derive(Default)]
struct Side {
    times: Vec<Duration>,
    /// Calls that were refused, or that the policy failed at.
    failed: u64,
    replacements: u64,
}

impl Side {
    fn at(&self, share: f64) -> Duration {
        let last = self.times.len().saturating_sub(1);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let at = (last as f64 * share) as usize;
        self.times.get(at).copied().unwrap_or_default()
    }
}

/// The built-in policy as another artefact: with a section more, which means nothing.
fn build(mark: u64) -> Artefact {
    let mut bytes = BUILT_IN.to_vec();
    bytes.extend([0, 3, 1, b'n', u8::from(mark.is_multiple_of(2))]);
    Artefact::new(bytes, None, "a benchmark")
}

async fn replace(rollout: &Rollout, mark: u64) -> Status {
    let next = build(mark);
    let digest = next.digest();
    rollout.offer(next, How::Staged);
    let mut watch = rollout.watch();
    let decided = watch.wait_for(|status| {
        status.candidate.is_none() && (status.serving.digest == digest || status.refusals > 0)
    });
    let status = decided.await.expect("the rollout goes on").clone();
    assert_eq!(status.serving.digest, digest, "{:#?}", status.refused);
    status
}

/// One call: its time, and whether it failed.
async fn call(guard: &Guard, provider: u64, due: Instant) -> (Duration, bool) {
    let target = Target::provider(format!("p{provider}"));
    let Ok(admitted) = guard.admit(&target, &CallFacts::default()).await else {
        return (due.elapsed(), true);
    };
    let seen = Observation::response(Response::status(200), guard.now_ms());
    let verdict = admitted.classify(&target, &seen);
    admitted.settle(verdict);
    (due.elapsed(), false)
}

/// Ten calls each millisecond for one turn.
async fn turn(guard: &Guard, side: &mut Side) {
    let mut due = interval(Duration::from_millis(1));
    due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (started, mut calls) = (Instant::now(), Vec::new());
    let mut n = 0;
    while started.elapsed() < TURN {
        let due = due.tick().await.into_std();
        for _ in 0..CALLS_EACH_MS {
            n += 1;
            let guard = guard.clone();
            calls.push(tokio::spawn(async move { call(&guard, n % 50, due).await }));
        }
    }
    for call in calls {
        let (time, failed) = call.await.expect("the task ends");
        side.times.push(time);
        side.failed += u64::from(failed);
    }
    guard.settled().await;
}

async fn turn_with_replacements(guard: &Guard, rollout: &Rollout, side: &mut Side) {
    let replacing = {
        let (rollout, made) = (rollout.clone(), side.replacements);
        tokio::spawn(async move {
            let mut each_second = interval(Duration::from_secs(1));
            let mut n = made;
            loop {
                each_second.tick().await;
                n += 1;
                replace(&rollout, n).await;
            }
        })
    };
    let before = rollout.status().activations;
    turn(guard, side).await;
    replacing.abort();
    side.replacements += rollout.status().activations - before;
    // The one under way, if there is one, comes to its end before the other side's turn.
    let mut watch = rollout.watch();
    let _ = watch.wait_for(|status| status.candidate.is_none()).await;
}

fn report(without: &mut Side, with: &mut Side) {
    println!("{:<28}{:>14}{:>14}{:>9}", "", "without", "with", "ratio");
    without.times.sort_unstable();
    with.times.sort_unstable();
    for (name, share) in [
        ("p50", 0.5),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("longest", 1.0),
    ] {
        let (a, b) = (without.at(share), with.at(share));
        let ratio = b.as_secs_f64() / a.as_secs_f64();
        println!("{name:<28}{a:>14.1?}{b:>14.1?}{ratio:>9.2}");
    }
    for (name, a, b) in [
        ("calls", without.times.len() as u64, with.times.len() as u64),
        ("failed or refused", without.failed, with.failed),
        ("policies replaced", without.replacements, with.replacements),
    ] {
        println!("{name:<28}{a:>14}{b:>14}");
    }
}

#[tokio::main]
async fn main() {
    let redis = RedisServer::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cache = Cache::open(folder.path()).expect("a cache");
    let options = Options {
        terms: Terms {
            cache: Some(Arc::new(cache)),
            ..Terms::default()
        },
        shadow: Shadowing {
            share: 0.1,
            span: Duration::from_millis(200),
            // Thousands are compared in that time; none where a turn has just ended.
            decisions: 0,
            ..Shadowing::default()
        },
        canary: Canarying {
            share: 0.1,
            span: Duration::from_millis(200),
        },
        ..Options::default()
    };
    let vetted = vet(Artefact::built_in(), &options.terms, |_| {}).await;
    let serving = Serving::from(vetted.unwrap_or_else(|refused| panic!("{refused}")));
    let faults = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&faults);
    let guard = Guard::builder(
        Arc::clone(&serving.engine) as _,
        fleet::redis(&redis.url()).await,
    )
    .observer(Arc::new(move |notice: &Notice<'_>| {
        if matches!(notice, Notice::Fault { .. }) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    }))
    .build();
    let rollout = Rollout::begin(&guard, serving, options.clone());

    println!("10,000 calls a second on one Redis, {TURNS} turns of {TURN:?} for each side\n");
    let (mut without, mut with) = (Side::default(), Side::default());
    // Both builds compiled and kept, and everything warm.
    let mut warm = Side::default();
    turn_with_replacements(&guard, &rollout, &mut warm).await;
    for n in 1..=TURNS {
        turn(&guard, &mut without).await;
        turn_with_replacements(&guard, &rollout, &mut with).await;
        eprintln!("turn {n} of {TURNS} is over");
    }
    with.failed += faults.load(Ordering::Relaxed);
    report(&mut without, &mut with);
    drop((without, with, warm, rollout));

    println!("\nMemory of this process, while {REPLACED} policies are replaced\n");
    // One after the other as fast as they go: without traffic, so without the shadow and the canary.
    let options = Options {
        shadow: Shadowing {
            share: 0.0,
            ..options.shadow
        },
        canary: Canarying {
            share: 0.0,
            ..options.canary
        },
        ..options
    };
    let vetted = vet(Artefact::built_in(), &options.terms, |_| {}).await;
    let serving = Serving::from(vetted.unwrap_or_else(|refused| panic!("{refused}")));
    guard
        .generations()
        .set(fusewire::guard::generation::Lineup {
            active: guard.generations().make(Arc::clone(&serving.engine) as _),
            canary: None,
            watchers: Vec::new(),
        });
    let rollout = Rollout::begin(&guard, serving, options);
    for n in 1..=REPLACED {
        replace(&rollout, n).await;
        call(&guard, n % 50, Instant::now()).await;
        if n.is_multiple_of(REPLACED / 10) {
            println!("{n:>6} replaced {:>9} KiB", resident_kib());
        }
    }
}
