//! What fuzzing the classifier needs: observations made of bytes, what must hold of each, and what
//! it may cost.
//!
//! | module | subject |
//! |---|---|
//! | [`adversary`] | answers that would be costly to look at, by whoever wants that |
//! | [`checks`] | what must hold of every answer, configuration and hint |
//! | [`memory`] | what a piece of work allocates |
//! | [`written`] | an answer as a text, so that a finding can be read, and written by hand |

pub mod adversary;
pub mod checks;
pub mod memory;
pub mod written;
