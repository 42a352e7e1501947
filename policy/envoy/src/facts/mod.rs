//! What Envoy knows of a stream's end, as the policy's observation.
//!
//! | module | subject |
//! |---|---|
//! | [`flags`] | Envoy's response flags |
//! | [`mod@ended`] | from response code details and flags to what went wrong, if anything did |
//! | [`gather`] | reading the facts, and the observation made of them |

pub mod ended;
pub mod flags;
pub mod gather;

pub use ended::{Ended, ended};
pub use gather::{Good, Noted, observation};
