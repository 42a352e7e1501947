//! One call through the policy: admit, attempt, classify, settle, next step.
//!
//! | module | subject |
//! |---|---|
//! | [`admitted`] | the permit as a guard object: dropping it reports a drop |
//! | `asking` | an admission while the store is waited for |
//! | [`generation`] | which policy decides a call |
//! | `evidence` | what to gather of an attempt |
//! | [`chain`] | a whole logical call over a chain of providers |
//! | `overdue` | calls that are still under way when they should be over |
//! | `question` | one question to the policy, and who is told of it |
//! | `fallback` | what is done where there is no policy to decide it |
//! | [`observer`] | what others may listen to: events, refusals, faults |
//!
//! A [`Guard`] is cheap to clone, and is all that a service needs:
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::sync::Arc;
//! use fusewire::core::{Observation, Response, Target};
//! use fusewire::engine::ComponentEngine;
//! use fusewire::guard::{CallFacts, Guard};
//! use fusewire::store::MemoryStore;
//!
//! let engine = ComponentEngine::built_in(r#"{"breaker": {"failures": {"count": 3}}}"#)?;
//! let guard = Guard::builder(Arc::new(engine), Arc::new(MemoryStore::new())).build();
//!
//! let target = Target::provider("geocoder");
//! match guard.admit(&target, &CallFacts::default()).await {
//!     Ok(admitted) => {
//!         // ... make the call ...
//!         // What else of the answer belongs in there: `Guard::wanted`.
//!         let seen = Observation::response(Response::status(200), guard.now_ms());
//!         let verdict = admitted.classify(&target, &seen);
//!         admitted.settle(verdict);
//!     }
//!     Err(refusal) => println!("not now: {}", refusal.detail),
//! }
//! # Ok::<(), fusewire::engine::LoadError>(()) }).unwrap();
//! ```

pub mod admitted;
mod asking;
pub mod chain;
mod entropy;
mod evidence;
mod fallback;
pub mod generation;
pub mod observer;
mod overdue;
mod question;
mod settling;

use std::sync::Arc;
use std::time::Duration;

use fusewire_core::{
    Context, Decision, DomainState, Event, Fact, Limits, Observation, OverrideError, OverrideOrder,
    Permit, Progress, Refusal, Step, Target, Verdict,
};

use crate::engine::{Answer, Call, Engine, Fault};
use crate::store::{LocalStore, Store};

pub use self::admitted::Admitted;
use self::asking::Asking;
pub use self::chain::{Attempt, Called, Candidate, Given, Skip, SkipReason, Try};
use self::entropy::Entropy;
use self::fallback::{NO_POLICY, without_planner, without_policy};
use self::generation::{Asked, Decided, Kind};
pub use self::generation::{Generation, Generations};
pub use self::observer::{Notice, Observer};
use self::overdue::Overdue;
use self::settling::Settling;

/// How long one operation of the store is waited for. Far below any provider's time limit, far
/// above a store's usual answer. Almost every question to the policy takes one.
pub const STORE_PATIENCE: Duration = Duration::from_millis(50);

/// The default prefix of every key.
pub const DEFAULT_PREFIX: &str = "fusewire";

/// The part of its time that a probe gets where the policy leaves that to the host, one in so many: as
/// the policy built in has it.
const PROBE_PART: u32 = 2;

/// What is told of a policy that answers something else than it was asked.
const ANOTHER_CALL: &str = "the policy answered another call";

/// What is known of a call before it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// The longest that one attempt may last; a probe's lease lasts at least as long.
    pub limit: Option<Duration>,
    /// A digest of the request, the same for equal requests.
    pub fingerprint: Option<u64>,
    /// The caller's own deadline, in ms on the fleet's clock.
    pub deadline_ms: Option<u64>,
}

/// Guards calls with a policy on a store.
#[derive(Clone)]
pub struct Guard {
    inner: Arc<Inner>,
    /// The generation that decides, whatever is put in place meanwhile; `None`: the present one.
    pinned: Option<Arc<Generation>>,
}

struct Inner {
    generations: Arc<Generations>,
    store: Arc<dyn Store>,
    prefix: Arc<str>,
    instance: String,
    patience: Duration,
    observers: Vec<Arc<dyn Observer>>,
    entropy: Entropy,
    settling: Arc<Settling>,
    overdue: Arc<Overdue>,
}

/// What a [`Guard`] is made with.
pub struct Builder {
    engine: Arc<dyn Engine>,
    store: Arc<dyn Store>,
    prefix: Arc<str>,
    instance: String,
    patience: Duration,
    observers: Vec<Arc<dyn Observer>>,
}

impl Builder {
    /// What every key of the policy begins with; the same as in the policy's configuration.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// This host's id, distinct in the fleet. By default random.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = instance.into();
        self
    }

    /// How long one operation of the store is waited for; see
    /// [`ask`](crate::engine::ask) for several. By default
    /// [`STORE_PATIENCE`].
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Adds someone who is told what happens.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// The guard.
    #[must_use]
    pub fn build(self) -> Guard {
        Guard {
            inner: Arc::new(Inner {
                generations: Arc::new(Generations::new(self.engine)),
                store: Arc::new(LocalStore::new(self.store, &self.prefix)),
                prefix: self.prefix,
                instance: self.instance,
                patience: self.patience,
                observers: self.observers,
                entropy: Entropy::default(),
                settling: Arc::default(),
                overdue: Arc::default(),
            }),
            pinned: None,
        }
    }
}

impl Guard {
    /// Begins a guard with a policy and a store. A store that is not in this process belongs in a
    /// [`crate::store::WatchedStore`], so that it cannot slow calls down, and that in a
    /// [`crate::store::MergedStore`], so that it is not asked for each outcome.
    #[must_use]
    pub fn builder(engine: Arc<dyn Engine>, store: Arc<dyn Store>) -> Builder {
        Builder {
            engine,
            store,
            prefix: DEFAULT_PREFIX.into(),
            instance: format!("host-{:08x}", Entropy::default().next() >> 32),
            patience: STORE_PATIENCE,
            observers: Vec::new(),
        }
    }

    /// The present time on the fleet's clock, in ms since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.inner.store.now_ms()
    }

    /// This host's id.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.inner.instance
    }

    /// What every key of the policy begins with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.inner.prefix
    }

    /// The policies of this guard, to replace one by another.
    #[must_use]
    pub fn generations(&self) -> &Arc<Generations> {
        &self.inner.generations
    }

    /// This guard with the policy that decides for this provider now, whatever is put in place
    /// later: one logical call is decided by one policy. A guard that is pinned stays as it is.
    #[must_use]
    pub fn pinned(&self, provider: &str) -> Self {
        let pinned = self.generation(provider);
        Self {
            inner: Arc::clone(&self.inner),
            pinned: Some(pinned),
        }
    }

    /// The number of the generation that decides.
    fn decided_by(&self) -> u64 {
        match &self.pinned {
            Some(pinned) => pinned.number(),
            None => self.inner.generations.active().number(),
        }
    }

    /// The policy that decides for this provider.
    fn generation(&self, provider: &str) -> Arc<Generation> {
        match &self.pinned {
            Some(pinned) => Arc::clone(pinned),
            None => self.inner.generations.deciding(provider),
        }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    fn context(&self, facts: &CallFacts) -> Context {
        Context {
            now_ms: self.now_ms(),
            entropy: self.inner.entropy.next(),
            instance: self.inner.instance.clone(),
            call_limit_ms: facts.limit.map(millis),
            fingerprint: facts.fingerprint,
        }
    }

    /// Tells the observers.
    pub(crate) fn notice(&self, notice: &Notice<'_>) {
        for observer in &self.inner.observers {
            observer.notice(notice);
        }
    }

    fn events(&self, events: &[Event]) {
        for event in events {
            self.notice(&Notice::Event(event));
        }
    }

    fn fault(&self, during: &'static str, fault: &Fault) {
        self.notice(&Notice::Fault { during, fault });
    }

    /// Asks whether a call to this target may be made now. The answer is to be settled, or
    /// dropped, which is reported as a drop. Where the policy or the store fails, the call is let
    /// through. Cancel-safe: dropped before its answer, the question is asked to its end, and the
    /// call that it was for reported as dropped.
    ///
    /// # Errors
    /// The refusal, with its reason and when to ask again.
    pub async fn admit(&self, target: &Target, facts: &CallFacts) -> Result<Admitted, Refusal> {
        self.inner.settling.settle_here();
        let call = Call::Admit(target.clone(), self.context(facts));
        let guard = self.pinned(&target.provider);
        let admission = match Asking::new(&guard, call, facts).await {
            Ok(Answer::Admission(admission)) => admission,
            Ok(_) => {
                let fault = Fault::Contract("it answered another call".into());
                return Ok(guard.unguarded("admit", &fault));
            }
            Err(fault) => return Ok(guard.unguarded("admit", &fault)),
        };
        self.events(&admission.events);
        match admission.decision {
            Decision::Allowed(permit) => {
                let limits = guard.limits(admission.limits, &permit, facts);
                Ok(Admitted::new(guard, permit, facts.clone(), limits))
            }
            Decision::Refused(refusal) => {
                self.notice(&Notice::Refused {
                    target,
                    refusal: &refusal,
                });
                Err(refusal)
            }
        }
    }

    fn unguarded(&self, during: &'static str, fault: &Fault) -> Admitted {
        self.fault(during, fault);
        Admitted::unguarded(self.clone())
    }

    /// What this call's time is limited to. A policy that knows nothing of limits leaves a probe's to
    /// the host.
    fn limits(&self, set: Limits, permit: &Permit, facts: &CallFacts) -> Limits {
        let generation = self.generation(&permit.target.provider);
        let is_known = || generation.engine().is_none_or(|it| it.sets_limits());
        if !permit.probe || set.total_ms.is_some() || is_known() {
            return set;
        }
        let share = facts.limit.map(|limit| millis(limit / PROBE_PART).max(1));
        Limits {
            total_ms: share,
            ..set
        }
    }

    /// Judges one attempt by the policy that decides now; [`Admitted::classify`] does so by the one
    /// that the call was admitted by. Where the policy fails, an answer is taken as it is and a failure goes
    /// to the next provider, and neither is counted.
    #[must_use]
    pub fn classify(&self, target: &Target, observation: &Observation) -> Verdict {
        let generation = self.generation(&target.provider);
        let generations = &self.inner.generations;
        let bits = || self.inner.entropy.next();
        let watchers = generations.watchers(&generation, Kind::Classify, bits);
        let verdict = match generation.engine() {
            Some(engine) => {
                // It is asked by the way, where nobody has asked before: a failure is to be told.
                let _ = self.looked_at(&generation, &*engine, target);
                engine.classify(target, observation)
            }
            None => Err(Fault::Retired),
        };
        generation.judged(&verdict);
        generation::tell(&watchers, || Decided {
            generation: generation.number(),
            asked: Asked::Classify(target.clone(), observation.clone(), verdict.clone()),
        });
        verdict.unwrap_or_else(|fault| {
            self.fault("classify", &fault);
            without_policy(observation)
        })
    }

    /// Decides the next step of a logical call. Where the policy fails, or failed to judge the
    /// attempt, nothing is tried again, and the verdict decides alone. Cancel-safe.
    pub async fn next(&self, progress: Progress, verdict: Verdict, facts: &CallFacts) -> Step {
        let fallback = without_planner(&progress, &verdict);
        if verdict.rule == NO_POLICY {
            return fallback;
        }
        match self
            .ask(&Call::Next(progress, verdict, self.context(facts)))
            .await
        {
            Ok(Answer::Step(step)) => step,
            Ok(_) => fallback,
            Err(fault) => {
                self.fault("next", &fault);
                fallback
            }
        }
    }

    /// Reads the state of a target's domains; those that the store does not answer for are left
    /// out. Cancel-safe.
    pub async fn inspect(&self, target: &Target) -> Vec<DomainState> {
        match self
            .ask(&Call::Inspect(
                target.clone(),
                self.context(&CallFacts::default()),
            ))
            .await
        {
            Ok(Answer::States(states)) => states,
            Ok(_) => Vec::new(),
            Err(fault) => {
                self.fault("inspect", &fault);
                Vec::new()
            }
        }
    }

    /// Gives an operator's order for one domain; `None` clears it. Dropping it may or may not
    /// leave the order given.
    ///
    /// # Errors
    /// A sentence that says why the order was not carried out.
    pub async fn order(&self, domain: &str, order: Option<OverrideOrder>) -> Result<(), String> {
        let call = Call::Order(domain.into(), order, self.context(&CallFacts::default()));
        match self.ask(&call).await {
            Ok(Answer::Ordered(Ok(events))) => {
                self.events(&events);
                Ok(())
            }
            Ok(Answer::Ordered(Err(error))) => Err(not_done(error)),
            Ok(_) => Err(ANOTHER_CALL.into()),
            Err(fault) => {
                self.fault("set-override", &fault);
                Err(fault.to_string())
            }
        }
    }

    /// Tells why a domain (`provider`, `provider@account`, `provider/operation`) stands as it does,
    /// the most important first. Changes nothing. Cancel-safe.
    ///
    /// # Errors
    /// A sentence that says why there is no answer: the name is not valid, or the store is out of
    /// reach.
    pub async fn explain(&self, domain: &str) -> Result<Vec<Fact>, String> {
        let call = Call::Explain(domain.into(), self.context(&CallFacts::default()));
        match self.ask(&call).await {
            Ok(Answer::Facts(Ok(facts))) => Ok(facts),
            Ok(Answer::Facts(Err(error))) => Err(not_done(error)),
            Ok(_) => Err(ANOTHER_CALL.into()),
            Err(fault) => {
                self.fault("explain", &fault);
                Err(fault.to_string())
            }
        }
    }

    /// Waits until everything that was settled or dropped so far has been told to the policy.
    /// Cancel-safe.
    pub async fn settled(&self) {
        self.inner.settling.idle().await;
    }
}

/// A span in whole milliseconds.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Why a policy did not do what an operator asked for.
fn not_done(error: OverrideError) -> String {
    match error {
        OverrideError::Store(why) | OverrideError::Invalid(why) => why,
        OverrideError::Contended => {
            "the record changed each time it was about to be written; try again".into()
        }
        OverrideError::Suspended(_) => "the store has not answered".into(),
    }
}
