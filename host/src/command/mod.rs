//! The commands that are more than a few lines.
//!
//! | module | subject |
//! |---|---|
//! | [`policy`] | `fusewire policy`: a policy as a file, and the policy of a fleet |

pub(crate) mod policy;
