//! A host under traffic whose policy somebody wants to replace with a hostile one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fusewire::engine::Limits;
use fusewire::guard::{Attempt, CallFacts, Candidate, Guard};
use fusewire::policy::rollout::options::{Canarying, Shadowing};
use fusewire::policy::rollout::{How, Options, Rollout, Serving, Turned};
use fusewire::policy::{Artefact, Terms, vet};
use fusewire::store::Store;
use fusewire_core::{Observation, Response, Target};
use tokio::task::JoinHandle;

use crate::fleet::{fail, state, until};
use crate::hostile::{self, Mode};

/// How long a policy may run at a time.
pub const RUN_MAX: Duration = Duration::from_millis(200);

/// How long a call may wait for all that a policy does to it. A machine that builds and tests is
/// busy; a call that waits for a policy without end is not among what this is short for.
pub const WAIT_MAX: Duration = Duration::from_secs(2);

/// What a policy may use here.
pub const LIMITS: Limits = Limits {
    deadline: RUN_MAX,
    memory: 16 << 20,
    spare_instances: 4,
};

/// The provider whose breaker the serving policy has opened.
pub const BROKEN: &str = "broken";

/// Where the terms of trust are the test's own.
#[must_use]
pub fn terms() -> Terms {
    Terms {
        configuration: r#"{"breaker": {"failures": {"count": 3},
            "cool-down": {"first": "1h", "max": "1h", "jitter": 0}}}"#
            .into(),
        limits: LIMITS,
        ..Terms::default()
    }
}

/// Straight from the scenarios to serving.
#[must_use]
pub fn at_once() -> Options {
    Options {
        terms: terms(),
        shadow: Shadowing {
            share: 0.0,
            ..Shadowing::default()
        },
        canary: Canarying {
            share: 0.0,
            ..Canarying::default()
        },
        ..Options::default()
    }
}

/// In the shadow until it fails, or until so many decisions can be compared.
#[must_use]
pub fn in_the_shadow(decisions: u64) -> Options {
    Options {
        shadow: Shadowing {
            share: 1.0,
            span: Duration::from_millis(10),
            decisions,
            at_most: Duration::from_secs(3_600),
            differences: 0.02,
            faults: 0,
        },
        ..at_once()
    }
}

/// A host that begins with the built-in policy.
pub struct Attacked {
    /// What guards its calls.
    pub guard: Guard,
    /// What replaces its policy.
    pub rollout: Rollout,
}

impl Attacked {
    /// Starts the host, and opens the breaker of [`BROKEN`].
    ///
    /// # Panics
    /// The built-in policy does not load.
    pub async fn start(options: Options, store: Arc<dyn Store>) -> Self {
        let vetted = vet(Artefact::built_in(), &options.terms, |_| {}).await;
        let serving = Serving::from(vetted.expect("the built-in policy may run"));
        let guard = Guard::builder(Arc::clone(&serving.engine) as _, store)
            .instance("attacked")
            .patience(WAIT_MAX)
            .build();
        let broken = Target::provider(BROKEN);
        for _ in 0..3 {
            fail(&guard, &broken).await;
        }
        let rollout = Rollout::begin(&guard, serving, options);
        Self { guard, rollout }
    }

    /// What the store has of the breaker of [`BROKEN`].
    pub async fn broken(&self) -> Option<String> {
        state(&self.guard, &Target::provider(BROKEN)).await.stored
    }

    /// Offers a policy, and waits until it is refused or taken back.
    ///
    /// # Panics
    /// It is neither.
    pub async fn turned(&self, artefact: Artefact) -> Turned {
        let turned = || {
            let status = self.rollout.status();
            status.refusals + status.rollbacks
        };
        let (before, digest) = (turned(), artefact.digest());
        self.rollout.offer(artefact, How::Staged);
        until("the policy is refused or taken back", async || {
            turned() > before
        })
        .await;
        let turned = self.rollout.status().refused.expect("what was turned");
        assert_eq!(turned.digest, digest);
        turned
    }

    /// Offers the hostile policy under traffic. Answers what became of it, and of the calls
    /// meanwhile; the built-in policy serves, and the breaker that it had opened is as it was.
    ///
    /// # Panics
    /// Anything else.
    pub async fn withstands(&self, harm: Mode) -> (Turned, Seen) {
        let (serving, broken) = (self.rollout.status().serving, self.broken().await);
        let traffic = Traffic::begin(&self.guard);
        let artefact = Artefact::new(hostile::policy(harm), None, format!("{harm:?}"));
        let turned = self.turned(artefact).await;
        let seen = traffic.end().await;
        assert_eq!(self.rollout.status().serving.digest, serving.digest);
        assert_eq!(self.broken().await, broken, "{harm:?}: its breaker's state");
        let afterwards = Traffic::begin(&self.guard).end().await;
        assert!(afterwards.calls > 0);
        assert_eq!(afterwards.failed, 0, "{harm:?}: calls afterwards");
        (turned, seen)
    }
}

/// What became of the calls of some time.
#[derive(Debug, Default)]
pub struct Seen {
    /// Calls that were made.
    pub calls: u64,
    /// Calls without an answer, though their provider gives one.
    pub failed: u64,
    /// The most attempts of one call.
    pub attempts: u32,
    /// The longest call.
    pub longest: Duration,
    /// Calls to [`BROKEN`] that were let through.
    pub let_through: u64,
}

/// Calls without end: to eight providers that answer well, and sometimes to [`BROKEN`].
pub struct Traffic {
    over: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Seen>>,
}

impl Traffic {
    /// Begins to call.
    #[must_use]
    pub fn begin(guard: &Guard) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let caller = |_| tokio::spawn(call(guard.clone(), Arc::clone(&over)));
        let callers = (0..2).map(caller).collect();
        Self { over, callers }
    }

    /// Ends, after each caller has made a call at least.
    ///
    /// # Panics
    /// A call panicked.
    pub async fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for caller in self.callers {
            let seen = caller.await.expect("the calls come to their end");
            all.calls += seen.calls;
            all.failed += seen.failed;
            all.attempts = all.attempts.max(seen.attempts);
            all.longest = all.longest.max(seen.longest);
            all.let_through += seen.let_through;
        }
        all
    }
}

async fn call(guard: Guard, over: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    loop {
        let chain = [Candidate {
            target: Target::provider(format!("provider-{}", seen.calls % 8)),
            limit: Duration::from_secs(1),
        }];
        let began = Instant::now();
        let called = guard
            .call(&chain, &CallFacts::default(), |_| async {
                let observation = Observation::response(Response::status(200), guard.now_ms());
                Attempt {
                    observation,
                    value: Some(()),
                    still_coming: false,
                }
            })
            .await;
        seen.longest = seen.longest.max(began.elapsed());
        seen.calls += 1;
        seen.failed += u64::from(called.given.is_none());
        seen.attempts = seen.attempts.max(called.attempts);
        if seen.calls.is_multiple_of(10) {
            let broken = Target::provider(BROKEN);
            let admitted = guard.admit(&broken, &CallFacts::default()).await;
            seen.let_through += u64::from(admitted.is_ok());
        }
        if over.load(Ordering::Relaxed) {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}
