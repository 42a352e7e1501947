//! Running a policy.
//!
//! | module | subject |
//! |---|---|
//! | `compiled` | a component on its way to an engine |
//! | [`component`] | a policy as a WebAssembly component, in wasmtime |
//! | [`native`] | the core compiled into the host: for comparison, in tests and benchmarks |
//! | [`tape`] | the store as one call sees it: answers so far, and the one that is awaited |
//! | [`replay`] | calls a policy again until its store has answered everything |
//! | `runtime` | the wasmtime that all components share |
//! | `budget` | what one instance may take of this process's memory |
//! | `sense` | what of a policy's answers the contract leaves it no choice about |
//! | [`evidence`] | what a policy looks at |
//! | `contract` | which contract a component is of |
//! | `attempt` | questions about attempts, to policies with and without limits |
//! | `operator` | operators' questions, to policies with and without answers of their own |
//! | `instance` | one instance of a component, and the bindings that are made from `wit/` |
//! | `imports` | what a component's imports see |
//! | `convert` | the component's types and the core's |
//!
//! An engine runs one call at a time on the calling thread and never waits. A call is plain data,
//! so it can be made again with the same arguments: that is how a synchronous policy runs on an
//! asynchronous store (`wit/package.wit`, "Suspension").

mod attempt;
mod budget;
mod compiled;
pub mod component;
pub(crate) mod contract;
mod convert;
pub mod evidence;
mod imports;
mod instance;
pub mod native;
mod operator;
pub mod replay;
mod runtime;
mod sense;
pub mod tape;

use std::sync::Arc;

use fusewire_core::{
    Admission, Context, Description, DomainState, Ending, Event, Fact, Observation, OverrideError,
    OverrideOrder, Permit, Problem, Progress, Step, Suspended, Target, Timing, Verdict, Wanted,
};

pub use self::compiled::{Compiled, Started};
pub use self::component::{BUILT_IN, ComponentEngine, Limits};
pub use self::native::NativeEngine;
pub use self::replay::{ask, ask_on};
pub use self::tape::Tape;

/// One call of an export that may touch the store, with all its arguments.
#[derive(Debug, Clone)]
pub enum Call {
    /// `attempts.admit`, or `breaker.admit` of a policy without it.
    Admit(Target, Context),
    /// `attempts.settle`, or `breaker.settle` of a policy without it, which is told no timing.
    Settle(Permit, Ending, Timing, Context),
    /// `attempts.overdue`. A policy without it is not told, and nothing happens.
    Overdue(Permit, Context),
    /// `breaker.inspect`
    Inspect(Target, Context),
    /// `operator.set-order`, or `breaker.set-override` of a policy without it, for which an order
    /// with a share of enforcement is not valid.
    Order(String, Option<OverrideOrder>, Context),
    /// `operator.explain`, or what `breaker.inspect` says, of a policy without it.
    Explain(String, Context),
    /// `planner.next`
    Next(Progress, Verdict, Context),
}

/// What such a call answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Of [`Call::Admit`].
    Admission(Admission),
    /// Of [`Call::Settle`] and [`Call::Overdue`].
    Settled(Vec<Event>),
    /// Of [`Call::Inspect`].
    States(Vec<DomainState>),
    /// Of [`Call::Order`]. Never [`OverrideError::Suspended`]: that is a suspension.
    Ordered(Result<Vec<Event>, OverrideError>),
    /// Of [`Call::Explain`]. Never [`OverrideError::Suspended`]: that is a suspension.
    Facts(Result<Vec<Fact>, OverrideError>),
    /// Of [`Call::Next`].
    Step(Step),
}

/// What a policy did wrong. The instance is gone, and the call is let through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It trapped: the trap's name and where.
    #[error("the policy trapped: {0}")]
    Trap(String),
    /// It ran longer than a call may.
    #[error("the policy ran for longer than {0} ms")]
    Deadline(u64),
    /// It wanted more memory than it may have: how much that is, in bytes.
    #[error("the policy wanted more than its {0} bytes of memory")]
    Memory(usize),
    /// It broke the contract, as the text says.
    #[error("the policy broke its contract: {0}")]
    Contract(String),
    /// It was replaced so long ago that it was taken away from the calls that still had it.
    #[error("the policy that this call began with has been replaced for too long")]
    Retired,
}

impl Fault {
    /// The fault's kind, as in metrics.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trap(_) => "trap",
            Self::Deadline(_) => "deadline",
            Self::Memory(_) => "memory",
            Self::Contract(_) => "contract",
            Self::Retired => "retired",
        }
    }
}

/// Why a policy cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes are no component that this host can run.
    #[error("cannot load the policy: {0}")]
    Component(String),
    /// It wants more than the contract gives.
    #[error("the policy imports `{0}`, and may import nothing but `fusewire:policy/keyvalue`")]
    Import(String),
    /// It is built against a contract that this host does not have.
    #[error("the policy needs {0}")]
    Contract(String),
    /// It did not survive its first call.
    #[error("the policy failed while it was set up: {0}")]
    Setup(#[from] Fault),
    /// It does not accept its configuration.
    #[error("the policy does not accept its configuration:\n{}", lines(.0))]
    Configuration(Vec<Problem>),
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|p| format!("  {p}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A policy with its configuration, ready to be asked. Cheap to share behind an `Arc`.
pub trait Engine: Send + Sync + 'static {
    /// Who the policy is.
    fn describe(&self) -> &Description;

    /// What the policy looks at in answers of this target. It is asked once and that kept, so this
    /// is cheap to call for each attempt. An engine whose policy does not say answers
    /// [`evidence::unsaid`].
    ///
    /// # Errors
    /// The policy failed; see [`Fault`]. Use [`evidence::unsaid`] then: no call is lost for that.
    fn wanted(&self, target: &Target) -> Result<Arc<Wanted>, Fault> {
        let _ = target;
        Ok(evidence::unsaid())
    }

    /// Judges one attempt.
    ///
    /// # Errors
    /// The policy failed; see [`Fault`].
    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault>;

    /// Makes one call against a tape. The inner error is a suspension: the tape then holds the
    /// operation that is awaited.
    ///
    /// # Errors
    /// The policy failed; see [`Fault`].
    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault>;

    /// Whether the policy sets limits to attempts. Where it does not, a probe's is for the host to set.
    fn sets_limits(&self) -> bool {
        true
    }

    /// It has been replaced: what it keeps ready for later calls is of no more use. Calls that
    /// began with it still come.
    fn replaced(&self) {}
}
