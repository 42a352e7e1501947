//! Who may call, and what became of it: admit, settle, inspect, override.
//!
//! | module | subject |
//! |---|---|
//! | [`types`] | permits, admissions, events: the vocabulary of `wit/` |
//! | `admit` | may this call be made now; the probe lease; the ramp |
//! | `settle` | what an outcome does: counters, trip, close, reopen, hold |
//! | `rules` | the windows that are read, the rules that trip on them, the quorum |
//! | `slow` | from when on a call is slow, and how that is learnt |
//! | `permit` | the text inside a permit |
//! | `inspect` | the state of domains, for people and gauges |
//! | `explain` | why a domain stands as it does, for people |
//! | `order` | operators' orders |
//!
//! Each is a straight line of store calls in which `?` leaves on suspension: the host calls
//! again, the answers are the same, and the line goes on where it stopped.
//!
//! # The fleet's breaker and an instance's own
//!
//! Each domain has one record and one counter for the fleet. Beside them an instance has a record
//! and a counter of its own (`Side::Own`), of the same form and under the same rules, which are
//! used in two cases alone: where a failure takes a quorum to open the breaker for all, and while
//! the store is out of reach. A host keeps those in its own process, so they answer always.

mod admit;
mod explain;
mod inspect;
mod order;
mod permit;
mod rules;
mod settle;
mod slow;
#[cfg(test)]
mod tests;
pub mod types;

pub use admit::admit;
pub use explain::explain;
pub use inspect::inspect;
pub use order::order;
pub use settle::{overdue, settle};
pub use types::*;

use crate::config::Config;
use crate::target::Domain;

/// How often a record that changes under a writer is read again before the writer gives up. Each
/// round lost means that somebody else made progress.
const ROUNDS: u32 = 4;

/// Whose breaker of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Fleet,
    Own,
}

impl Side {
    fn record_key(self, domain: &Domain<'_>, config: &Config, instance: &str) -> String {
        match self {
            Self::Fleet => domain.record_key(&config.prefix),
            Self::Own => domain.own_record_key(&config.prefix, instance),
        }
    }

    fn window_key(self, domain: &Domain<'_>, config: &Config, instance: &str) -> String {
        match self {
            Self::Fleet => domain.window_key(&config.prefix),
            Self::Own => domain.own_window_key(&config.prefix, instance),
        }
    }

    fn transition(self, transition: Transition) -> EventKind {
        match self {
            Self::Fleet => EventKind::Transition(transition),
            Self::Own => EventKind::Alone(transition),
        }
    }

    /// What is added to a sentence.
    fn aside(self) -> &'static str {
        match self {
            Self::Fleet => "",
            Self::Own => ", for this instance alone",
        }
    }
}

fn event_of(domain: &Domain<'_>, context: &Context, kind: EventKind, detail: String) -> Event {
    Event {
        domain: domain.name(),
        at_ms: context.now_ms,
        kind,
        detail,
    }
}
