//! Generations of a policy: which one decides a call, behind one pointer.
//!
//! A logical call begins with one generation and ends with it, its retries, its outcome and all: a
//! guard takes the pointer once a call ([`Guard::pinned`](super::Guard::pinned)), and what it hands
//! out (an [`Admitted`](super::Admitted)) keeps it. So a replacement is one store of a pointer, no
//! call waits for it, and none is decided by two policies. An old generation is freed when the last
//! call that began with it has ended, or when it is taken away from calls that go on for too long
//! ([`Generation::retire`]): these are let through from then on.
//!
//! A [`Watcher`] may be told of what a generation decides, with all that it decided by.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use fusewire_core::{Decision, Description, Observation, Target, Verdict, Wanted};

use crate::engine::tape::Recording;
use crate::engine::{Answer, Call, Engine, Fault, evidence};

/// One policy as it serves: the calls that began with it have it to their end.
pub struct Generation {
    number: u64,
    description: Description,
    /// `None`: taken away. Behind two pointers, since one cannot be swapped that is wide.
    engine: ArcSwapOption<Arc<dyn Engine>>,
    tally: Tally,
}

impl Generation {
    /// Which one it is, from 1: the later has the larger number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Who the policy is.
    #[must_use]
    pub fn describe(&self) -> &Description {
        &self.description
    }

    /// The policy itself; `None`: it was taken away.
    #[must_use]
    pub fn engine(&self) -> Option<Arc<dyn Engine>> {
        self.engine.load().as_deref().map(Arc::clone)
    }

    /// What it has decided so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// Takes the policy away from the calls that still have it.
    pub fn retire(&self) {
        self.engine.store(None);
    }

    pub(super) fn asked(&self, answer: &Result<Answer, Fault>, refused_operations: u32) {
        self.tally.asked(answer, refused_operations);
    }

    pub(super) fn judged(&self, verdict: &Result<Verdict, Fault>) {
        if let Err(fault) = verdict {
            self.failed(fault);
        }
    }

    pub(super) fn failed(&self, fault: &Fault) {
        self.tally.fault(fault);
    }
}

/// What a generation has decided so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were let through.
    pub allowed: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// How often it trapped.
    pub traps: u64,
    /// How often it ran for longer than it may.
    pub deadlines: u64,
    /// How often it broke the contract.
    pub breaches: u64,
    /// Store operations that were refused to it, as those on keys that are not its own.
    pub store_refusals: u64,
}

#[derive(Default)]
struct Tally {
    allowed: AtomicU64,
    refused: AtomicU64,
    traps: AtomicU64,
    deadlines: AtomicU64,
    breaches: AtomicU64,
    store_refusals: AtomicU64,
}

impl Tally {
    fn asked(&self, answer: &Result<Answer, Fault>, refused_operations: u32) {
        let count = match answer {
            Ok(Answer::Admission(admission)) => match admission.decision {
                Decision::Allowed(_) => Some(&self.allowed),
                Decision::Refused(_) => Some(&self.refused),
            },
            Ok(_) => None,
            Err(fault) => {
                self.fault(fault);
                None
            }
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if refused_operations > 0 {
            self.store_refusals
                .fetch_add(refused_operations.into(), Ordering::Relaxed);
        }
    }

    fn fault(&self, fault: &Fault) {
        let count = match fault {
            Fault::Trap(_) | Fault::Memory(_) => &self.traps,
            Fault::Deadline(_) => &self.deadlines,
            Fault::Contract(_) => &self.breaches,
            Fault::Retired => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            allowed: read(&self.allowed),
            refused: read(&self.refused),
            traps: read(&self.traps),
            deadlines: read(&self.deadlines),
            breaches: read(&self.breaches),
            store_refusals: read(&self.store_refusals),
        }
    }
}

/// A question that a generation has answered, with all that it was answered by.
pub struct Decided {
    /// Which generation.
    pub generation: u64,
    /// What was asked, and answered.
    pub asked: Asked,
}

/// What was asked, and answered.
pub enum Asked {
    /// What may touch the store, and what it found there.
    Call(Call, Result<Answer, Fault>, Recording),
    /// The judgement of an attempt.
    Classify(Target, Observation, Result<Verdict, Fault>),
}

/// What kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Whether a call may be made.
    Admit,
    /// That a call is under way for longer than it should be.
    Overdue,
    /// How a call ended.
    Settle,
    /// What is next in a logical call.
    Next,
    /// What an attempt means.
    Classify,
    /// An operator's: no call depends on it.
    Operator,
}

impl Kind {
    pub(crate) fn of(call: &Call) -> Self {
        match call {
            Call::Admit(..) => Self::Admit,
            Call::Settle(..) => Self::Settle,
            Call::Overdue(..) => Self::Overdue,
            Call::Next(..) => Self::Next,
            Call::Inspect(..) | Call::Order(..) | Call::Explain(..) => Self::Operator,
        }
    }

    /// The kind's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Overdue => "overdue",
            Self::Settle => "settle",
            Self::Next => "next",
            Self::Classify => "classify",
            Self::Operator => "operator",
        }
    }
}

/// Someone who is told of decisions. Called on the caller's path: it must not block.
pub trait Watcher: Send + Sync + 'static {
    /// Whether the question of this kind that is about to be asked of this generation is to be told
    /// afterwards. `bits` are random.
    fn wants(&self, generation: &Generation, kind: Kind, bits: u64) -> bool;

    /// What it looks at itself in answers of this target, as far as that is known: it is gathered as
    /// well.
    fn wanted(&self, target: &Target) -> Option<Arc<Wanted>> {
        let _ = target;
        None
    }

    /// A question that was wanted has been answered.
    fn decided(&self, decided: &Arc<Decided>);
}

/// Which generation decides a call.
pub struct Lineup {
    /// The one that decides.
    pub active: Arc<Generation>,
    /// Another one that decides for a share of the providers.
    pub canary: Option<Canary>,
    /// Who is told of decisions.
    pub watchers: Vec<Arc<dyn Watcher>>,
}

/// A generation that decides for a share of the providers.
#[derive(Clone)]
pub struct Canary {
    /// The generation.
    pub generation: Arc<Generation>,
    /// The share, from 0 to 1.
    pub share: f64,
}

impl Lineup {
    fn for_provider(&self, provider: &str) -> &Arc<Generation> {
        match &self.canary {
            Some(canary) if falls_into(provider, canary.share) => &canary.generation,
            _ => &self.active,
        }
    }
}

/// Whether something of this name falls into a share, always the same.
#[must_use]
pub fn falls_into(name: &str, share: f64) -> bool {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    is_below(hasher.finish(), share)
}

/// Whether random bits fall into a share.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a share is not that precise")]
pub fn is_below(bits: u64, share: f64) -> bool {
    (bits >> 11) as f64 / (1_u64 << 53) as f64 <= share && share > 0.0
}

/// The generations of one guard, and the pointer to those that decide.
pub struct Generations {
    lineup: ArcSwap<Lineup>,
    made: AtomicU64,
}

impl Generations {
    /// Begins with this policy.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        let made = AtomicU64::new(0);
        let lineup = Lineup {
            active: next(&made, engine),
            canary: None,
            watchers: Vec::new(),
        };
        Self {
            lineup: ArcSwap::from_pointee(lineup),
            made,
        }
    }

    /// Makes a generation of a policy. It decides nothing yet.
    pub fn make(&self, engine: Arc<dyn Engine>) -> Arc<Generation> {
        next(&self.made, engine)
    }

    /// Which generations decide now.
    #[must_use]
    pub fn lineup(&self) -> Arc<Lineup> {
        self.lineup.load_full()
    }

    /// The generation that decides for this provider now.
    #[must_use]
    pub fn deciding(&self, provider: &str) -> Arc<Generation> {
        Arc::clone(self.lineup.load().for_provider(provider))
    }

    /// The generation that decides where no canary does.
    #[must_use]
    pub fn active(&self) -> Arc<Generation> {
        Arc::clone(&self.lineup.load().active)
    }

    /// Lets others decide from now on. Calls that began before keep what they have.
    pub fn set(&self, lineup: Lineup) {
        self.lineup.store(Arc::new(lineup));
    }

    /// What is looked at by the one that decides, and by those who are told.
    pub(super) fn wanted_beside(&self, target: &Target, decides: Arc<Wanted>) -> Arc<Wanted> {
        let lineup = self.lineup.load();
        let watchers = lineup.watchers.iter();
        let beside = watchers.filter_map(|watcher| watcher.wanted(target));
        beside.fold(decides, |all, one| evidence::both(&all, &one))
    }

    /// Who is to be told of the question that is about to be asked.
    pub(super) fn watchers(
        &self,
        generation: &Generation,
        kind: Kind,
        bits: impl Fn() -> u64,
    ) -> Vec<Arc<dyn Watcher>> {
        let lineup = self.lineup.load();
        let watchers = lineup.watchers.iter();
        watchers
            .filter(|watcher| watcher.wants(generation, kind, bits()))
            .map(Arc::clone)
            .collect()
    }
}

/// Tells everyone who wanted it.
pub(super) fn tell(watchers: &[Arc<dyn Watcher>], decided: impl FnOnce() -> Decided) {
    if watchers.is_empty() {
        return;
    }
    let decided = Arc::new(decided());
    for watcher in watchers {
        watcher.decided(&decided);
    }
}

fn next(made: &AtomicU64, engine: Arc<dyn Engine>) -> Arc<Generation> {
    Arc::new(Generation {
        number: made.fetch_add(1, Ordering::Relaxed) + 1,
        description: engine.describe().clone(),
        engine: ArcSwapOption::from_pointee(engine),
        tally: Tally::default(),
    })
}
