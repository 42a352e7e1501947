//! Redis is killed while calls are made: none fails because of it, none waits longer than the
//! store's time limit, and sharing resumes when it is back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fusewire::guard::{CallFacts, Guard};
use fusewire::store::Mode;
use fusewire_core::{Observation, Phase, Response, Target};
use fusewire_tests::fleet::{self, QUICK};
use fusewire_tests::redis_server::RedisServer;

/// The store's time limit, as the guards here have it.
const LIMIT: Duration = Duration::from_millis(50);
/// What a busy machine may add to any measurement of time.
const NOISE: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Load {
    stop: AtomicBool,
    calls: AtomicU64,
    refused: AtomicU64,
    /// The longest that a call waited to be admitted, in µs.
    longest_us: AtomicU64,
}

async fn calls(guard: Guard, target: Target, load: Arc<Load>) {
    while !load.stop.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = guard.admit(&target, &CallFacts::default()).await;
        load.longest_us
            .fetch_max(asked.elapsed().as_micros() as u64, Ordering::Relaxed);
        load.calls.fetch_add(1, Ordering::Relaxed);
        match answer {
            Ok(admitted) => {
                let seen = Observation::response(Response::status(200), guard.now_ms());
                admitted.settle(guard.classify(&target, &seen));
            }
            Err(_) => {
                load.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_redis_is_gone_and_sharing_resumes_when_it_is_back() {
    let mut server = RedisServer::start();
    let make = async || {
        let store = fleet::redis(&server.url()).await;
        Guard::builder(fleet::engine(QUICK), store)
            .patience(LIMIT)
            .build()
    };
    let (one, two) = (make().await, make().await);
    let target = Target::provider("steady");
    let load = Arc::new(Load::default());
    let tasks: Vec<_> = (0..20)
        .map(|_| tokio::spawn(calls(one.clone(), target.clone(), Arc::clone(&load))))
        .collect();
    let made = |at_least: u64| {
        let load = Arc::clone(&load);
        async move || load.calls.load(Ordering::Relaxed) >= at_least
    };
    fleet::until("calls are made", made(500)).await;

    server.kill();
    fleet::until("the loss is noticed", async || {
        one.store().mode() == Mode::Down
    })
    .await;
    let before = load.calls.load(Ordering::Relaxed);
    fleet::until("calls go on without Redis", made(before + 2_000)).await;
    server.restart();
    for guard in [&one, &two] {
        fleet::until("sharing resumes", async || {
            guard.store().mode() == Mode::Shared
        })
        .await;
    }
    let before = load.calls.load(Ordering::Relaxed);
    fleet::until("calls go on with Redis", made(before + 500)).await;

    // A hang is worse than a death: nothing says no.
    server.pause();
    fleet::until("the hang is noticed", async || {
        one.store().mode() == Mode::Down
    })
    .await;
    let before = load.calls.load(Ordering::Relaxed);
    fleet::until("calls go on while Redis hangs", made(before + 2_000)).await;
    server.resume();
    for guard in [&one, &two] {
        fleet::until("sharing resumes", async || {
            guard.store().mode() == Mode::Shared
        })
        .await;
    }
    load.stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no call panics");
    }
    let longest = Duration::from_micros(load.longest_us.load(Ordering::Relaxed));
    println!(
        "{} calls, {} refused, the longest admitted after {longest:?}",
        load.calls.load(Ordering::Relaxed),
        load.refused.load(Ordering::Relaxed),
    );
    assert_eq!(load.refused.load(Ordering::Relaxed), 0);
    assert!(
        longest <= LIMIT + NOISE,
        "a call waited {longest:?} for its store"
    );

    let other = Target::provider("failing");
    fleet::trip(&one, &other).await;
    assert_eq!(
        fleet::state(&two, &other).await.phase,
        Phase::Open,
        "what one finds out, both know"
    );
}
