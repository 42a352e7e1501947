//! The commands that are more than a few lines.
//!
//! | module | subject |
//! |---|---|
//! | [`classify`] | `fusewire classify`: what an answer means, and why |
//! | [`profile`] | `fusewire profile`: how services signal failure |
//! | [`breaker`] | `fusewire status`, `open`, `clear` and so on: the breakers of a fleet |
//! | [`policy`] | `fusewire policy`: a policy as a file, and the policy of a fleet |
//! | `output` | how all of them write |
//! | `environment` | which fleet, and who gives it orders, as the environment says |
//! | `settings` | a policy's configuration in a file |

pub(crate) mod breaker;
pub(crate) mod classify;
mod environment;
mod output;
pub(crate) mod policy;
pub(crate) mod profile;
pub(crate) mod reference;
mod settings;
