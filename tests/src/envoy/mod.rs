//! A real Envoy with the filter in it, on free ports of the loopback.
//!
//! | module | subject |
//! |---|---|
//! | [`setup`] | what an Envoy is started with: providers, the filter, how it is updated |
//! | [`server`] | an Envoy that runs: calls through it, its counters, its log |
//! | [`load`] | many callers at once, and what each was answered |
//! | [`steps`] | configurations, and the steps that tests take |

pub mod load;
pub mod server;
pub mod setup;
pub mod steps;

pub use load::{Load, Tally};
pub use server::{Envoy, Logged};
pub use setup::{Filter, Provider, Setup, Updates};
