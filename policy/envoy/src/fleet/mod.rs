//! The exchange with a Fusewire host, which keeps what the fleet shares.
//!
//! Shared data is this Envoy's replica. A few times a second one of its workers, the leader, tells
//! the fleet what has changed here and learns what has changed there, in one HTTP call. Records
//! are proposed by compare-and-swap against what the fleet had last, and where the fleet has
//! something else by now, the fleet's word holds. Counts are added there, and what the fleet has
//! counted comes back. Without an answer this Envoy goes on by what it has.
//!
//! | module | subject |
//! |---|---|
//! | [`lease`] | which worker is the leader |
//! | [`message`] | the exchange's JSON |
//! | [`ask`] | what is told and asked |
//! | [`learn`] | what follows from the answer |
//! | [`clock`] | how far the fleet's clock is ahead |
//! | [`member`] | one worker's part, tick by tick |

pub mod ask;
pub mod clock;
pub mod learn;
pub mod lease;
pub mod member;
pub mod message;

pub use member::Member;

#[cfg(test)]
mod tests;
