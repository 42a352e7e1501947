//! A call keeps its promises where the policy, the store or the time fails, and where its caller
//! goes away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fusewire::engine::{Answer, Call, Engine, Fault, NativeEngine, Tape};
use fusewire::guard::{
    Attempt, CallFacts, Called, Candidate, Guard, STORE_PATIENCE, SkipReason, Try,
};
use fusewire::store::{Later, MemoryStore, Reply, Store, Tally, Window};
use fusewire_core::{
    Description, Observation, Phase, Response, Suspended, Target, TransportFailure, Verdict,
};
use fusewire_tests::fleet::{self, QUICK};

/// The policy, of which some exports trap.
struct Faulty {
    policy: NativeEngine,
    classify: bool,
    next: bool,
}

impl Engine for Faulty {
    fn describe(&self) -> &Description {
        self.policy.describe()
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        match self.classify {
            true => Err(Fault::Trap("on purpose".into())),
            false => self.policy.classify(target, observation),
        }
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        match call {
            Call::Next(..) if self.next => Err(Fault::Trap("on purpose".into())),
            call => self.policy.run(call, tape),
        }
    }
}

/// A store in this process that takes its time.
struct Slow {
    inner: Arc<MemoryStore>,
    takes: Duration,
    is_slow: AtomicBool,
}

impl Slow {
    fn taking(millis: u64) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::default(),
            takes: Duration::from_millis(millis),
            is_slow: true.into(),
        })
    }

    fn reply<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&MemoryStore) -> Reply<T> + Send + 'static,
    ) -> Reply<T> {
        if !self.is_slow.load(Ordering::Relaxed) {
            return operation(&self.inner);
        }
        let (inner, takes) = (Arc::clone(&self.inner), self.takes);
        let later: Later<T> = Box::pin(async move {
            // It takes effect, and the answer is long on its way.
            let answer = operation(&inner).wait().await;
            tokio::time::sleep(takes).await;
            answer
        });
        Reply::Later(later)
    }
}

impl Store for Slow {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.reply(move |inner| inner.get(keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.reply(move |inner| inner.swap(key, expected, replacement, ttl_ms))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.reply(move |inner| inner.count(windows))
    }

    fn ping(&self) -> Reply<()> {
        self.reply(|inner| inner.ping())
    }

    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }
}

fn guard(engine: impl Engine) -> Guard {
    Guard::builder(Arc::new(engine), Arc::new(MemoryStore::new())).build()
}

fn faulty(classify: bool, next: bool) -> Guard {
    guard(Faulty {
        policy: NativeEngine::new("{}").expect("a good configuration"),
        classify,
        next,
    })
}

fn two() -> [Candidate; 2] {
    ["first", "second"].map(|name| Candidate {
        target: Target::provider(name),
        limit: Duration::from_secs(1),
    })
}

/// A call over two providers, each of which ends it like this. The answer is who gave it.
async fn call(guard: &Guard, seen: &Observation, facts: &CallFacts) -> Called<usize> {
    let attempt = async |now: Try| Attempt {
        observation: seen.clone(),
        value: seen.response.as_ref().map(|_| now.candidate),
        still_coming: false,
    };
    guard.call(&two(), facts, attempt).await
}

fn answered(status: u16) -> Observation {
    Observation::response(Response::status(status), 1)
}

fn given(called: &Called<usize>) -> Option<usize> {
    called.given.as_ref().map(|given| given.value)
}

#[tokio::test]
async fn an_answer_that_the_policy_failed_to_judge_is_passed_on() {
    let called = call(&faulty(true, false), &answered(200), &CallFacts::default()).await;
    assert_eq!((given(&called), called.attempts), (Some(0), 1));
}

#[tokio::test]
async fn where_the_planner_fails_the_verdict_decides_who_is_asked_next() {
    let guard = faulty(false, true);
    let called = call(&guard, &answered(404), &CallFacts::default()).await;
    assert_eq!(
        (given(&called), called.attempts),
        (Some(0), 1),
        "its own words"
    );
    let called = call(&guard, &answered(500), &CallFacts::default()).await;
    assert_eq!(
        (given(&called), called.attempts),
        (None, 2),
        "one attempt each"
    );
    let partly = Observation {
        delivered_partial: true,
        ..Observation::failure(TransportFailure::ResetMidBody, 1)
    };
    let called = call(&guard, &partly, &CallFacts::default()).await;
    assert_eq!(
        called.attempts, 1,
        "half an answer is not followed by another"
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_not_tried_elsewhere() {
    let guard = faulty(false, false);
    let seen = Observation::failure(TransportFailure::InvalidRequest, 1);
    let called = call(&guard, &seen, &CallFacts::default()).await;
    assert_eq!(
        (given(&called), called.attempts, called.skipped.len()),
        (None, 1, 1)
    );
}

#[tokio::test]
async fn nobody_is_asked_or_blamed_once_the_callers_deadline_is_over() {
    let guard = faulty(false, false);
    let facts = CallFacts {
        deadline_ms: Some(guard.now_ms()),
        ..CallFacts::default()
    };
    let called = call(&guard, &answered(200), &facts).await;
    assert_eq!((given(&called), called.attempts), (None, 0));
    let reasons: Vec<SkipReason> = called.skipped.iter().map(|skip| skip.reason).collect();
    assert_eq!(reasons, [SkipReason::Deadline]);
}

#[tokio::test]
async fn a_store_that_is_slow_but_within_its_limit_is_good_enough_for_the_breaker_to_open_and_probe()
 {
    let store = Slow::taking(30);
    let guard = Guard::builder(fleet::engine(QUICK), store).build();
    let target = Target::provider("p");
    fleet::trip(&guard, &target).await;
    fleet::cool_down_is_over(&guard, &target).await;
    let probe = guard.admit(&target, &CallFacts::default()).await;
    assert!(probe.is_ok_and(|admitted| admitted.is_probe()));
}

#[tokio::test]
async fn a_store_that_hangs_is_waited_for_once() {
    let store = Slow::taking(3_600_000);
    let guard = Guard::builder(fleet::engine(QUICK), store).build();
    let began = Instant::now();
    let admitted = guard
        .admit(&Target::provider("p"), &CallFacts::default())
        .await;
    assert!(admitted.is_ok());
    assert!(
        began.elapsed() < 4 * STORE_PATIENCE,
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn a_caller_who_goes_away_while_it_is_admitted_keeps_no_probe_lease() {
    let store = Slow::taking(20);
    store.is_slow.store(false, Ordering::Relaxed);
    let guard = Guard::builder(fleet::engine(QUICK), Arc::clone(&store) as _).build();
    let target = Target::provider("p");
    fleet::trip(&guard, &target).await;
    fleet::cool_down_is_over(&guard, &target).await;

    store.is_slow.store(true, Ordering::Relaxed);
    let facts = CallFacts::default();
    // Gone while the lease is being taken: after the first answer, before the second.
    let gone = tokio::time::timeout(Duration::from_millis(30), guard.admit(&target, &facts)).await;
    assert!(gone.is_err(), "it was not answered yet");
    guard.settled().await;
    store.is_slow.store(false, Ordering::Relaxed);
    let state = fleet::state(&guard, &target).await;
    assert_eq!((state.phase, state.lease), (Phase::HalfOpen, None));
    assert!(
        guard
            .admit(&target, &facts)
            .await
            .is_ok_and(|a| a.is_probe())
    );
}

/// Three failures that are told on a thread which tokio knows nothing of.
fn fail_elsewhere(guard: &Guard, admit: impl Fn() -> fusewire::guard::Admitted) {
    for _ in 0..3 {
        let (guard, admitted) = (guard.clone(), admit());
        std::thread::spawn(move || {
            let verdict = guard.classify(&Target::provider("p"), &answered(500));
            admitted.settle(verdict);
        })
        .join()
        .expect("it is told");
    }
}

#[test]
fn an_outcome_can_be_told_on_any_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let target = Target::provider("p");
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new()), Slow::taking(1)];
    for store in stores {
        let guard = Guard::builder(fleet::engine(QUICK), store).build();
        fail_elsewhere(&guard, || {
            let admitted = runtime.block_on(guard.admit(&target, &CallFacts::default()));
            admitted.expect("admitted")
        });
        let state = runtime.block_on(async {
            guard.settled().await;
            fleet::state(&guard, &target).await
        });
        assert_eq!(state.phase, Phase::Open);
    }
}

#[test]
fn a_store_that_answers_at_once_needs_no_runtime() {
    let target = Target::provider("p");
    let guard = Guard::builder(fleet::engine(QUICK), Arc::new(MemoryStore::new())).build();
    let facts = CallFacts::default();
    fail_elsewhere(&guard, || {
        at_once(guard.admit(&target, &facts)).expect("admitted")
    });
    assert_eq!(at_once(fleet::state(&guard, &target)).phase, Phase::Open);
}

/// What a future answers that does not wait.
fn at_once<T>(answer: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(answer).poll(&mut context) {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => panic!("it waits"),
    }
}
