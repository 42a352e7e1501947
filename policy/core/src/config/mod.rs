//! The settings of a policy, read from JSON as a whole: every problem is reported, each at its
//! place.
//!
//! | module | subject |
//! |---|---|
//! | [`reader`] | walks a JSON document, notes what was asked for and what is wrong |
//! | [`duration`] | "30s" and back |
//! | [`settings`] | what can be set, with defaults and bounds |
//! | [`breaker`] | the same, of the breaker |
//! | `reference` | what can be set, as data for editors and people |

pub mod breaker;
pub mod duration;
pub mod reader;
#[cfg(feature = "reference")]
pub mod reference;
pub mod settings;

pub use breaker::{
    BreakerSettings, CoolDown, FailureCount, FailureRatio, ProbeSettings, Quorum, Ramp, SlowRatio,
    StoreFailure,
};
pub use reader::{Problem, Reader};
pub use settings::{Config, HintSettings, Learnt, RetrySettings, Settings, SlowSettings};
