//! The filter's settings, read from JSON as a whole: every problem is reported, each at its place.
//!
//! | module | subject |
//! |---|---|
//! | [`settings`] | what can be set, with defaults and bounds |
//! | [`rule`] | where a target's names come from |
//! | [`template`] | path templates |

pub mod rule;
pub mod settings;
pub mod template;

pub use rule::{AccountRule, OperationRule, ProviderRule, TargetRule};
pub use settings::{FleetSettings, Settings};
pub use template::Template;
