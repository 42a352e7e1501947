//! Fusewire's policy as an HTTP filter in Envoy, by the Proxy-Wasm ABI (0.2.1).
//!
//! The filter asks the policy before a request is routed, answers itself where the policy refuses,
//! and tells the policy how each stream ended. It knows no rule of the policy: what it knows is
//! Envoy. What the policy remembers is in Envoy's shared data, which all workers see.
//!
//! # The rooms
//!
//! | module | subject | may use |
//! |---|---|---|
//! | [`host`] | what the filter asks of Envoy, as a trait, and the numbers of the ABI | |
//! | `abi` | the same over the ABI itself: the only unsafe code | host, pairs, vm |
//! | [`pairs`] | lists of header fields, as the ABI writes them | |
//! | [`config`] | the filter's settings, read from JSON with every problem at its place | |
//! | [`target`] | whom a request is made to | config, host |
//! | [`store`] | the policy's key-value store on shared data | host |
//! | [`evidence`] | what is looked at in the answers of each provider | |
//! | [`facts`] | what Envoy knows of a stream's end, as an observation | host, pairs |
//! | [`reply`] | the filter's own answer | |
//! | [`entropy`] | random bits where there is no source of them | |
//! | [`metrics`] | the fixed set of counters and gauges | host |
//! | [`holding`] | admissions that hold | |
//! | [`deferred`] | good answers, which are judged a few at a time | facts |
//! | [`root`] | one configuration at work: what its streams share | all above |
//! | [`fleet`] | the exchange with a Fusewire host | store, root |
//! | [`stream`] | one request, from admission to settlement | root |
//! | [`vm`] | all configurations and streams of one worker, and Envoy's callbacks | all |
//! | `drive` | the door for tests, with the feature `drive` alone | store |
//!
//! Nothing here panics, indexes or overflows, and no answer of Envoy's is taken for granted: the
//! lints below say so to the compiler.

#![deny(unsafe_code)]
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

#[cfg(any(target_arch = "wasm32", test))]
mod abi;
pub mod config;
pub mod deferred;
#[cfg(feature = "drive")]
mod drive;
pub mod entropy;
pub mod evidence;
pub mod facts;
#[cfg(test)]
mod fake_host;
pub mod fleet;
pub mod holding;
pub mod host;
pub mod metrics;
pub mod pairs;
pub mod reply;
pub mod root;
pub mod store;
pub mod stream;
pub mod target;
pub mod vm;
