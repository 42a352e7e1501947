//! Fusewire's decisions: a failure classifier, a circuit breaker that a fleet shares, and a
//! planner for the next step of a call.
//!
//! This crate is the algorithm and nothing else: no I/O, no clock, no randomness, no threads and
//! no WebAssembly. The time and the random bits of a call come in as [`Context`]; what the fleet
//! remembers is behind [`KeyValue`]. The same inputs and the same store answers give the same
//! decision, bit for bit, wherever it runs. `wit/` describes the same contract for components.
//!
//! # The rooms
//!
//! | module | subject | may use |
//! |---|---|---|
//! | [`store`] | what the store is asked, and how a call is suspended | |
//! | [`target`] | providers, accounts, operations, and the domains they make | |
//! | [`observation`] | what was seen of an attempt, and what it means | |
//! | [`config`] | the settings, read from JSON with every problem at its place | target |
//! | [`mod@classify`] | observation to verdict; the profiles of services | observation, config |
//! | `record` | one domain's state in the store, and the pure changes between phases | config |
//! | [`breaker`] | admit, settle, inspect, override: records and counters in the store | all above |
//! | [`plan`] | retry, next provider, or give up | observation, config |
//! | [`policy`] | all of it behind one value | all |
//!
//! Nothing here panics, indexes or overflows: the lints below say so to the compiler, and the
//! property tests say so to everybody else.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

pub mod breaker;
pub mod classify;
pub mod config;
mod entropy;
pub mod observation;
pub mod plan;
pub mod policy;
mod record;
pub mod store;
pub mod target;

pub use breaker::{
    Admission, Context, Decision, DomainState, Ending, Event, EventKind, Fact, IgnoredReason,
    Lease, Limits, OverrideError, OverrideMode, OverrideOrder, Permit, Phase, ProbeOutcome,
    Refusal, RefusalReason, Timing, Transition,
};
pub use config::{Config, Problem};
pub use observation::{
    Blame, Effect, Field, Media, Observation, Outcome, Response, TransportFailure, Verdict, Wanted,
};
pub use plan::{Progress, Step};
pub use policy::{Description, Policy};
pub use store::{KeyValue, Lane, StoreError, Suspended, Tally, Window};
pub use target::{Domain, Target};
