//! Exactly one call in the fleet holds the probe lease.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use fusewire::guard::{CallFacts, Guard};
use fusewire_core::{RefusalReason, Target};
use fusewire_tests::fleet::{self, QUICK};
use fusewire_tests::redis_server::RedisServer;
use tokio::sync::Barrier;

/// A process of the fleet that was started by the test, and ends with it.
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(url: &str, provider: &str, instance: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fleet_worker"))
            .args([url, provider, instance])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut worker = Self {
            child,
            input,
            output,
        };
        assert_eq!(worker.line(), "ready");
        worker
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the worker speaks");
        line.trim_end().to_owned()
    }

    fn go(&mut self) {
        let input = self.input.as_mut().expect("its input");
        input
            .write_all(b"go\n")
            .and_then(|()| input.flush())
            .expect("the worker listens");
    }

    /// Probes, calls allowed, calls refused.
    fn counts(&mut self) -> [u32; 3] {
        let line = self.line();
        let numbers: Vec<u32> = line
            .split(' ')
            .filter_map(|part| part.split_once('=')?.1.parse().ok())
            .collect();
        numbers
            .try_into()
            .unwrap_or_else(|_| panic!("an odd line of the worker: {line:?}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn guard(server: &RedisServer, instance: &str) -> Guard {
    let store = fleet::redis(&server.url()).await;
    Guard::builder(fleet::engine(QUICK), store)
        .instance(instance)
        .build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_tasks_exactly_one_probes() {
    let server = RedisServer::start();
    let guard = guard(&server, "one").await;
    for round in 0..10 {
        let target = Target::provider(format!("geocoder-{round}"));
        fleet::trip(&guard, &target).await;
        fleet::cool_down_is_over(&guard, &target).await;
        let barrier = Arc::new(Barrier::new(20));
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (guard, target, barrier) =
                    (guard.clone(), target.clone(), Arc::clone(&barrier));
                tokio::spawn(async move {
                    barrier.wait().await;
                    guard.admit(&target, &CallFacts::default()).await
                })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.expect("the task ends"));
        }
        let probes = answers
            .iter()
            .flatten()
            .filter(|admitted| admitted.is_probe())
            .count();
        let refused: Vec<_> = answers
            .iter()
            .filter_map(|answer| answer.as_ref().err())
            .collect();
        assert_eq!((probes, refused.len()), (1, 19), "round {round}");
        assert!(
            refused
                .iter()
                .all(|refusal| refusal.reason == RefusalReason::ProbeInFlight)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_processes_with_twenty_tasks_each_exactly_one_task_probes() {
    let server = RedisServer::start();
    let guard = guard(&server, "watcher").await;
    let target = Target::provider("geocoder");
    let mut workers: Vec<Worker> = (0..8)
        .map(|n| Worker::start(&server.url(), "geocoder", &format!("worker-{n}")))
        .collect();
    fleet::trip(&guard, &target).await;
    fleet::cool_down_is_over(&guard, &target).await;
    for worker in &mut workers {
        worker.go();
    }
    let counts: Vec<[u32; 3]> = workers.iter_mut().map(Worker::counts).collect();
    let sum = |at: usize| counts.iter().map(|c| c[at]).sum::<u32>();
    assert_eq!([sum(0), sum(1), sum(2)], [1, 1, 159], "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_owner_is_killed_another_takes_over_after_the_lease_and_not_before() {
    let server = RedisServer::start();
    let guard = guard(&server, "survivor").await;
    let target = Target::provider("geocoder");
    fleet::trip(&guard, &target).await;
    let mut owner = Worker::start(&server.url(), "geocoder", "owner");
    fleet::cool_down_is_over(&guard, &target).await;
    owner.go();
    assert_eq!(owner.counts()[0], 1, "the owner probes");
    let lease = fleet::state(&guard, &target)
        .await
        .lease
        .expect("there is a lease");
    assert_eq!(lease.owner, "owner");
    // Killed, not stopped: it tells nobody.
    drop(owner);

    let mut refused = 0;
    let taken_at = loop {
        let asked_at = guard.now_ms();
        match guard.admit(&target, &CallFacts::default()).await {
            Ok(admitted) => {
                assert!(admitted.is_probe());
                break asked_at;
            }
            Err(refusal) => {
                assert_eq!(refusal.reason, RefusalReason::ProbeInFlight);
                assert!(
                    asked_at < lease.expires_ms + 5_000,
                    "the lease of a dead owner was never freed"
                );
                refused += 1;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    };
    assert!(refused > 0, "it was refused while the lease held");
    // The clock may have been asked just before the policy was.
    assert!(
        taken_at + 5 >= lease.expires_ms,
        "taken {} ms early",
        lease.expires_ms - taken_at
    );
}
