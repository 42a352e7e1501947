//! Guarded calls a second on one Redis, against what teams write by hand: a `GET` of the open
//! state before each call and a `DEL` of four keys after it, over the same connection settings.
//!
//! The calls themselves take no time, so this is the cost of guarding alone. Both sides take turns
//! in one run, with the same number of tasks; a side's time ends when all its outcomes are in
//! Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fusewire::guard::{CallFacts, Guard};
use fusewire_core::{Observation, Response, Target};
use fusewire_tests::fleet;
use fusewire_tests::redis_server::RedisServer;
use redis::aio::MultiplexedConnection;

const ROUNDS: usize = 7;
const CALLS: u64 = 40_000;

/// Takes calls off a counter until there are none.
struct Work(AtomicU64);

impl Work {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(CALLS)))
    }

    fn take(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }
}

async fn in_tasks<F: Future<Output = ()> + Send + 'static>(tasks: usize, task: impl Fn() -> F) {
    let running: Vec<_> = (0..tasks).map(|_| tokio::spawn(task())).collect();
    for task in running {
        task.await.expect("the task ends");
    }
}

/// The time, and how many calls the policy did not see through the store.
async fn fusewire(guard: &Guard, tasks: usize) -> Duration {
    let (work, started) = (Work::new(), Instant::now());
    in_tasks(tasks, || {
        let (guard, work) = (guard.clone(), Arc::clone(&work));
        async move {
            let target = Target::provider("geocoder");
            while work.take() {
                let Ok(admitted) = guard.admit(&target, &CallFacts::default()).await else {
                    continue;
                };
                let seen = Observation::response(Response::status(200), guard.now_ms());
                admitted.settle(guard.classify(&target, &seen));
            }
        }
    })
    .await;
    guard.settled().await;
    started.elapsed()
}

async fn by_hand(connection: &MultiplexedConnection, tasks: usize) -> Duration {
    let (work, started) = (Work::new(), Instant::now());
    in_tasks(tasks, || {
        let (mut connection, work) = (connection.clone(), Arc::clone(&work));
        async move {
            while work.take() {
                let open: redis::RedisResult<Option<String>> = redis::cmd("GET")
                    .arg("breaker:geocoder:open")
                    .query_async(&mut connection)
                    .await;
                assert!(open.expect("Redis answers").is_none());
                let keys =
                    ["open", "failures", "last", "probe"].map(|k| format!("breaker:geocoder:{k}"));
                let gone: redis::RedisResult<u64> = redis::cmd("DEL")
                    .arg(&keys)
                    .query_async(&mut connection)
                    .await;
                gone.expect("Redis answers");
            }
        }
    })
    .await;
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

#[tokio::main]
async fn main() {
    let server = RedisServer::start();
    let store = fleet::redis(&server.url()).await;
    let lost = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lost);
    let guard = Guard::builder(fleet::engine("{}"), store)
        .observer(Arc::new(move |notice: &fusewire::guard::Notice<'_>| {
            if let fusewire::guard::Notice::Event(event) = notice
                && matches!(event.kind, fusewire_core::EventKind::Store(_))
            {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        }))
        .build();
    let client = redis::Client::open(server.url()).expect("a good URL");
    let connection = client
        .get_multiplexed_async_connection()
        .await
        .expect("Redis answers");

    println!(
        "{:<12}{:>16}{:>16}{:>8}{:>22}",
        "tasks", "by hand /s", "fusewire /s", "ratio", "without the store"
    );
    for tasks in [1, 16, 128] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        lost.store(0, Ordering::Relaxed);
        for round in 0..=ROUNDS {
            let (hand, wire) = (
                by_hand(&connection, tasks).await,
                fusewire(&guard, tasks).await,
            );
            // The first round warms up.
            if round > 0 {
                theirs.push(hand);
                ours.push(wire);
            }
        }
        let (theirs, ours) = (CALLS as f64 / median(theirs), CALLS as f64 / median(ours));
        println!(
            "{tasks:<12}{theirs:>16.0}{ours:>16.0}{:>8.2}{:>22}",
            ours / theirs,
            format!(
                "{} of {}",
                lost.load(Ordering::Relaxed),
                CALLS * (ROUNDS as u64 + 1)
            ),
        );
    }
}
