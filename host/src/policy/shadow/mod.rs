//! Two policies asked the same: what the one decides is compared with what the other would have.
//!
//! | module | subject |
//! |---|---|
//! | [`watch`] | chooses what is compared, and asks the other policy, off the caller's path |
//! | `view` | the store as the call found it, for the other policy |
//! | `permits` | the permits that the other policy would have given |
//! | `openings` | which openings are the serving policy's alone |
//! | [`comparison`] | differences by pair of decisions, with samples |
//!
//! The other policy is asked with the same arguments, on a store that answers it what the first was
//! answered. So one decision is compared at a time, and each difference can be read: its sample has
//! the question, what the store held, and both answers.
//!
//! A permit is understood by the policy that gave it: where both let a call through, each is told of
//! its end by its own. A policy of another kind is not told of calls that it never let through.
//!
//! Nothing that the other policy writes reaches the store. What it writes where the first one keeps
//! something is forgotten after the question, so its next one begins again from the state that is
//! really there. What it keeps under keys that the first one did not touch (another kind of policy
//! has other keys) is put aside in memory for as long as the comparison lasts; reads of such keys go
//! to the store itself.

pub mod comparison;
mod openings;
mod permits;
mod view;
pub mod watch;

pub use self::comparison::{Comparison, Pair};
pub use self::watch::{Role, Shadow};
