//! The commands that are more than a few lines.
//!
//! | module | subject |
//! |---|---|
//! | [`classify`] | `fusewire classify`: what an answer means, and why |
//! | [`profile`] | `fusewire profile`: how services signal failure |
//! | [`policy`] | `fusewire policy`: a policy as a file, and the policy of a fleet |
//! | `output` | how all of them write |
//! | `settings` | a policy's configuration in a file |

pub(crate) mod classify;
mod output;
pub(crate) mod policy;
pub(crate) mod profile;
mod settings;
