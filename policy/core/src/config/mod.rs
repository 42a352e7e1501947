//! The settings of a policy, read from JSON as a whole: every problem is reported, each at its
//! place.
//!
//! | module | subject |
//! |---|---|
//! | [`reader`] | walks a JSON document, notes what was asked for and what is wrong |
//! | [`duration`] | "30s" and back |
//! | [`settings`] | what can be set, with defaults and bounds |
//! | [`breaker`] | the same, of the breaker |

pub mod breaker;
pub mod duration;
pub mod reader;
pub mod settings;

pub use breaker::{BreakerSettings, CoolDown, FailureCount, FailureRatio, ProbeSettings};
pub use reader::{Problem, Reader};
pub use settings::{Config, HintSettings, RetrySettings, Settings};
