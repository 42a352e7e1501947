//! A fleet that is killed, paused and cut off at random, and what its journals must say.
//!
//! | module | subject |
//! |---|---|
//! | [`director`] | does to a fleet what the schedule says, and lets it come to rest |
//! | [`schedule`] | what is done when |
//! | [`crew`] | the processes |
//! | [`look`] | a look into the store, from outside of the fleet |
//! | [`provider`] | whom they call |
//! | [`orders`] | what a process is told, and the settings of the fleet |
//! | [`lane`] | one caller in a process |
//! | [`caller`] | its HTTP |
//! | [`noted`] | its store, which writes down what becomes of the records |
//! | [`journal`] | what a process writes down |
//! | [`check`] | what all journals together must say |
//! | [`report`] | a run as a table |
//! | [`random`] | random numbers that a seed brings back |

pub mod caller;
pub mod check;
pub mod crew;
pub mod director;
pub mod journal;
pub mod lane;
pub mod look;
pub mod noted;
pub mod orders;
pub mod provider;
pub mod random;
pub mod report;
pub mod schedule;
