//! Who may call, and what became of it: admit, settle, inspect, override.
//!
//! | module | subject |
//! |---|---|
//! | [`types`] | permits, admissions, events: the vocabulary of `wit/breaker.wit` |
//! | `admit` | may this call be made now; the probe lease |
//! | `settle` | what an outcome does: counters, trip, close, reopen |
//! | `rules` | the windows that are read, and the rules that trip on them |
//! | `permit` | the text inside a permit |
//! | `inspect` | the state of domains, for people and gauges |
//! | `order` | operators' orders |
//!
//! Each is a straight line of store calls in which `?` leaves on suspension: the host calls
//! again, the answers are the same, and the line goes on where it stopped.

mod admit;
mod inspect;
mod order;
mod permit;
mod rules;
mod settle;
pub mod types;

pub use admit::admit;
pub use inspect::inspect;
pub use order::order;
pub use settle::settle;
pub use types::*;

/// How often a record that changes under a writer is read again before the writer gives up. Each
/// round lost means that somebody else made progress.
const ROUNDS: u32 = 4;
