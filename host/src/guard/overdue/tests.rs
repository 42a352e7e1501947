//! Attempts that last, in real time and with limits of milliseconds.

use std::sync::Arc;
use std::time::Duration;

use fusewire_core::{
    Description, Limits, Observation, Response, Suspended, Target, Timing, Verdict,
};
use tokio::sync::mpsc;

use super::super::{Attempt, CallFacts, Candidate, Guard};
use crate::engine::{Answer, Call, Engine, Fault, NativeEngine, Tape};
use crate::store::MemoryStore;

/// How long a test waits for what is to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the policy was told of an attempt.
#[derive(Debug, PartialEq)]
enum Told {
    Overdue(Option<u64>),
    Settled(Timing, Option<u64>),
}

/// The policy, with these limits for every call, and what it is told.
struct Timed {
    policy: NativeEngine,
    limits: Limits,
    sets_limits: bool,
    told: mpsc::UnboundedSender<Told>,
}

impl Engine for Timed {
    fn describe(&self) -> &Description {
        self.policy.describe()
    }

    fn classify(&self, target: &Target, seen: &Observation) -> Result<Verdict, Fault> {
        self.policy.classify(target, seen)
    }

    fn sets_limits(&self) -> bool {
        self.sets_limits
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        let told = match call {
            Call::Overdue(_, context) => Some(Told::Overdue(context.fingerprint)),
            Call::Settle(_, _, timing, context) => {
                Some(Told::Settled(*timing, context.fingerprint))
            }
            _ => None,
        };
        let mut answer = self.policy.run(call, tape)?;
        if let Ok(Answer::Admission(admission)) = &mut answer {
            admission.limits = self.limits;
        }
        if let Some(told) = told {
            let _ = self.told.send(told);
        }
        Ok(answer)
    }
}

fn timed(limits: Limits) -> (Guard, mpsc::UnboundedReceiver<Told>) {
    let (told, heard) = mpsc::unbounded_channel();
    let engine = Timed {
        policy: NativeEngine::new("{}").expect("the defaults"),
        limits,
        sets_limits: true,
        told,
    };
    let guard = Guard::builder(Arc::new(engine), Arc::new(MemoryStore::new())).build();
    (guard, heard)
}

fn overdue_after(ms: u64) -> (Guard, mpsc::UnboundedReceiver<Told>) {
    timed(Limits {
        overdue_ms: Some(ms),
        ..Limits::default()
    })
}

const FACTS: CallFacts = CallFacts {
    limit: None,
    fingerprint: Some(7),
    deadline_ms: None,
};

async fn next(heard: &mut mpsc::UnboundedReceiver<Told>) -> Told {
    let told = tokio::time::timeout(PATIENCE, heard.recv());
    told.await.expect("it is told in time").expect("a policy")
}

fn good(guard: &Guard, target: &Target, latency_ms: u64) -> (Observation, Verdict) {
    let seen = Observation {
        latency_ms,
        ..Observation::response(Response::status(200), guard.now_ms())
    };
    let verdict = guard.classify(target, &seen);
    (seen, verdict)
}

/// How many attempts wait, and whether anybody watches them.
fn state(guard: &Guard) -> (usize, bool) {
    guard.inner.overdue.state()
}

#[tokio::test]
async fn a_call_that_goes_on_for_too_long_is_told_of_once_and_its_settling_says_so() {
    let (guard, mut heard) = overdue_after(20);
    let target = Target::provider("p");
    let admitted = guard.admit(&target, &FACTS).await.expect("closed");
    assert_eq!(state(&guard), (1, true));
    assert_eq!(next(&mut heard).await, Told::Overdue(Some(7)));
    assert_eq!(state(&guard).0, 0);
    let (_, verdict) = good(&guard, &target, 0);
    admitted.settle(verdict);
    guard.settled().await;
    let Told::Settled(timing, Some(7)) = next(&mut heard).await else {
        panic!("it is settled in the context of its admission");
    };
    assert!(timing.overdue);
    let latency = timing.latency_ms.expect("a latency");
    assert!(latency >= 20, "measured from its admission: {latency} ms");
    assert!(heard.try_recv().is_err(), "nothing else was told");
}

#[tokio::test]
async fn a_call_that_ends_in_time_or_is_dropped_takes_its_alarm_along() {
    let (guard, mut heard) = overdue_after(3_600_000);
    let target = Target::provider("p");
    let one = guard.admit(&target, &FACTS).await.expect("closed");
    let other = guard.admit(&target, &FACTS).await.expect("closed");
    assert_eq!(state(&guard), (2, true));
    let (_, verdict) = good(&guard, &target, 0);
    one.settle_timed(verdict, Duration::from_millis(7));
    drop(other);
    assert_eq!(state(&guard).0, 0);
    guard.settled().await;
    let timing = |latency_ms| Timing {
        latency_ms,
        overdue: false,
    };
    let settled = |latency| Told::Settled(timing(latency), Some(7));
    assert_eq!(next(&mut heard).await, settled(Some(7)));
    assert_eq!(next(&mut heard).await, settled(None), "a dropped one");
}

#[tokio::test]
async fn a_hundred_calls_are_told_of_by_one_task_which_then_ends() {
    let (guard, mut heard) = overdue_after(10);
    let target = Target::provider("p");
    let mut under_way = Vec::new();
    for _ in 0..100 {
        under_way.push(guard.admit(&target, &FACTS).await.expect("closed"));
    }
    for _ in 0..100 {
        assert_eq!(next(&mut heard).await, Told::Overdue(Some(7)));
    }
    let ends = tokio::time::Instant::now() + PATIENCE;
    while state(&guard) != (0, false) {
        assert!(tokio::time::Instant::now() < ends, "nobody waits any more");
        tokio::task::yield_now().await;
    }
    // And another one comes where there are calls again.
    let later = guard.admit(&target, &FACTS).await.expect("closed");
    assert_eq!(next(&mut heard).await, Told::Overdue(Some(7)));
    drop((under_way, later));
}

#[tokio::test]
async fn where_nobody_wants_to_know_nobody_watches() {
    let (guard, _heard) = timed(Limits::default());
    let target = Target::provider("p");
    let admitted = guard.admit(&target, &FACTS).await.expect("closed");
    assert_eq!(state(&guard), (0, false));
    drop(admitted);
}

#[test]
fn a_runtime_that_ends_leaves_the_watch_to_the_next_one() {
    let (guard, mut heard) = overdue_after(20);
    let target = Target::provider("p");
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let first = runtime();
    let lost = first.block_on(guard.admit(&target, &FACTS));
    drop(first);
    assert!(!state(&guard).1, "its task is gone");
    let second = runtime();
    second.block_on(async {
        let admitted = guard.admit(&target, &FACTS).await.expect("closed");
        for _ in 0..2 {
            assert_eq!(next(&mut heard).await, Told::Overdue(Some(7)));
        }
        drop(admitted);
    });
    drop(lost);
}

#[tokio::test]
async fn the_chain_tells_the_latency_that_was_observed_and_keeps_the_policys_limit() {
    let (guard, mut heard) = timed(Limits {
        total_ms: Some(300),
        overdue_ms: None,
    });
    let target = Target::provider("p");
    for (own_ms, kept_ms) in [(8_000, 300), (200, 200)] {
        let chain = [Candidate {
            target: target.clone(),
            limit: Duration::from_millis(own_ms),
        }];
        let attempt = async |now: super::super::Try| {
            assert_eq!(now.limit, Duration::from_millis(kept_ms), "the shorter one");
            let (observation, _) = good(&guard, &target, 42);
            Attempt {
                observation,
                value: Some(()),
                still_coming: false,
            }
        };
        let called = guard.call(&chain, &FACTS, attempt).await;
        assert!(called.given.is_some());
        guard.settled().await;
        let timing = Timing {
            latency_ms: Some(42),
            overdue: false,
        };
        assert_eq!(next(&mut heard).await, Told::Settled(timing, Some(7)));
    }
}

#[tokio::test]
async fn an_answer_that_its_caller_reads_slowly_is_not_overdue() {
    let (guard, mut heard) = overdue_after(3_600_000);
    let target = Target::provider("p");
    let chain = [Candidate {
        target: target.clone(),
        limit: Duration::from_secs(8),
    }];
    let attempt = async |_| {
        assert_eq!(state(&guard).0, 1, "the provider is waited for");
        let (observation, _) = good(&guard, &target, 5);
        Attempt {
            observation,
            value: Some(()),
            still_coming: true,
        }
    };
    let called = guard.call(&chain, &FACTS, attempt).await;
    let given = called.given.expect("an answer");
    assert_eq!(state(&guard).0, 0, "now its caller is");
    let permit = given.unsettled.expect("it is still coming");
    permit.settle_timed(given.verdict, Duration::from_millis(9));
    guard.settled().await;
    let timing = Timing {
        latency_ms: Some(9),
        overdue: false,
    };
    assert_eq!(next(&mut heard).await, Told::Settled(timing, Some(7)));
}

#[tokio::test]
async fn the_probe_of_a_policy_that_sets_no_limits_gets_half_of_its_time() {
    let (told, _heard) = mpsc::unbounded_channel();
    let configuration = r#"{"breaker": {
        "failures": {"count": 1}, "cool-down": {"first": "10ms", "jitter": 0}
    }}"#;
    let engine = Timed {
        policy: NativeEngine::new(configuration).expect("a good configuration"),
        limits: Limits::default(),
        sets_limits: false,
        told,
    };
    let guard = Guard::builder(Arc::new(engine), Arc::new(MemoryStore::new())).build();
    let target = Target::provider("p");
    let facts = CallFacts {
        limit: Some(Duration::from_secs(8)),
        ..FACTS
    };
    let admitted = guard.admit(&target, &facts).await.expect("closed");
    assert_eq!(admitted.limits(), Limits::default(), "a probe's alone");
    let seen = Observation::response(Response::status(500), guard.now_ms());
    let verdict = guard.classify(&target, &seen);
    admitted.settle(verdict);
    let ends = tokio::time::Instant::now() + PATIENCE;
    let probe = loop {
        match guard.admit(&target, &facts).await {
            Ok(admitted) => break admitted,
            Err(refusal) => assert!(tokio::time::Instant::now() < ends, "{refusal:?}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert!(probe.is_probe());
    assert_eq!(probe.limits().total_ms, Some(4_000));
    assert_eq!(probe.limit(Duration::from_secs(1)), Duration::from_secs(1));
}
