//! A real Envoy with the filter in it, on free ports of the loopback.
//!
//! | module | subject |
//! |---|---|
//! | [`setup`] | what an Envoy is started with: providers, the filter, how it is updated |
//! | [`recorded`] | recorded answers and failures, played by real providers |
//! | [`server`] | an Envoy that runs: calls through it, its counters, its log |
//! | [`http2`] | a provider that speaks HTTP/2 |
//! | [`load`] | many callers at once, and what each was answered |
//! | [`steps`] | configurations, and the steps that tests take |

pub mod http2;
pub mod load;
pub mod recorded;
pub mod server;
pub mod setup;
pub mod steps;

pub use http2::Http2;
pub use load::{Load, Tally};
pub use recorded::Recorded;
pub use server::{Envoy, Logged};
pub use setup::{Filter, Provider, Setup, Updates};
