//! What every store promises, as tests that your own store can run.
//!
//! | module | subject |
//! |---|---|
//! | `suite` | the list of promises, and running it |
//! | `values` | `get` and `swap`: order, absence, any bytes, the other kind |
//! | `counters` | `count`: lanes, buckets, epochs, limits |
//! | `lifetimes` | what ends when, and what never extends it |
//! | `races` | many clients at once |
//! | `probe` | what the promises are tested with |
//! | `delayed` | [`Delayed`]: any store, as one that answers later |
//!
//! The promises are those of `wit/keyvalue.wit`. Each uses keys of its own, under
//! `fusewire:contract:`, which expire; so a store that others use can be tested too.
//!
//! ```
//! use std::sync::Arc;
//! use fusewire::store::{MemoryStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // In a test of your own, with your own store.
//! if let Err(broken) = contract::check(Arc::new(MemoryStore::new())).await {
//!     panic!("{} promises are broken, first: {}", broken.len(), broken[0]);
//! }
//! # }
//! ```

mod counters;
mod delayed;
#[cfg(test)]
mod faults;
mod lifetimes;
mod probe;
mod races;
mod suite;
mod values;

pub use self::delayed::Delayed;
pub use self::suite::{Broken, CHECKS, Check, check};
