//! `fusewire demo`: an outage from beginning to end, with nothing simulated but the outage.
//!
//! Two real HTTP providers on loopback, one of which fails, hangs and recovers by a script; a
//! gateway in front of them with the built-in policy; and place names looked up through it at a
//! steady rate. With `--redis` several processes share one breaker: the first brings the
//! providers, the others find them through Redis.
//!
//! | module | subject |
//! |---|---|
//! | `script` | what the failing provider does when |
//! | `providers` | the two providers |
//! | `places` | what is looked up |
//! | `traffic` | the lookups |
//! | `tally` | what is counted, and the lines of events |
//! | `meeting` | several processes around one Redis |
//! | `stage` | the pieces put together |
//! | `view` | the live view on a terminal, plain lines elsewhere |

mod meeting;
mod places;
mod providers;
mod script;
mod stage;
mod tally;
mod traffic;
mod view;

pub use self::stage::{DemoError, Options, run};
