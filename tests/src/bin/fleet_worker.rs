//! One process of a fleet, for tests: twenty tasks that all ask at once.
//!
//! `fleet_worker REDIS_URL PROVIDER INSTANCE`. Says `ready`, waits for a line on standard input,
//! lets twenty tasks ask for one call each, says `probes=N allowed=N refused=N`, and holds what it
//! was given until standard input ends.

use std::io::{BufRead, Write};
use std::sync::Arc;

use fusewire::guard::{CallFacts, Guard};
use fusewire_core::Target;
use fusewire_tests::fleet;
use tokio::sync::Barrier;

/// How many tasks ask at once.
const TASKS: usize = 20;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, provider, instance] = arguments.as_slice() else {
        panic!("usage: fleet_worker REDIS_URL PROVIDER INSTANCE");
    };
    let store = fleet::redis(url).await;
    let guard = Guard::builder(fleet::engine(fleet::QUICK), store)
        .instance(instance)
        .build();
    let target = Target::provider(provider);

    println!("ready");
    std::io::stdout().flush().expect("standard output");
    let mut lines = std::io::stdin().lock().lines();
    let _ = lines.next();

    let barrier = Arc::new(Barrier::new(TASKS));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (guard, target, barrier) = (guard.clone(), target.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                guard.admit(&target, &CallFacts::default()).await
            })
        })
        .collect();
    let mut held = Vec::new();
    let (mut probes, mut refused) = (0, 0);
    for task in tasks {
        match task.await.expect("the task ends") {
            Ok(admitted) => {
                probes += usize::from(admitted.is_probe());
                held.push(admitted);
            }
            Err(_) => refused += 1,
        }
    }
    println!("probes={probes} allowed={} refused={refused}", held.len());
    std::io::stdout().flush().expect("standard output");
    let _ = lines.next();
}
