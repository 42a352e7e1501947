//! The policy's key-value store on Envoy's shared data, which all workers of one Envoy see.
//!
//! | module | subject |
//! |---|---|
//! | [`shared`] | shared data as a trait, and what of it is relied on |
//! | [`group`] | the values of many keys in one shared value, as bytes |
//! | [`value`] | a value that is swapped, and what the fleet has for it |
//! | [`slices`] | amounts by bucket and lane |
//! | [`counter`] | a windowed counter, and which of it the fleet was told |
//! | [`change`] | compare-and-swap on groups: bounded tries, bounded space |
//! | [`company`] | group commit for counts |
//! | [`keyvalue`] | the policy's import on top |
//! | [`sweep`] | giving back what is gone |
//!
//! # How it is laid out
//!
//! Shared data has compare-and-swap by a version number, no lifetimes, and no removal: a key that
//! was once written stays for as long as the VM's id is in use. So keys of the policy are not keys
//! there. They are spread by a hash over a fixed number of groups, each one shared value that holds
//! a few entries; what is changed is the group as a whole, so an operation on a key is atomic, a
//! removed entry is gone, and the memory is bounded whatever keys there ever were.
//!
//! Lifetimes are moments on this host's own clock inside the entries. Workers of one Envoy share
//! it, so none sees a value that another sees expired.

pub mod change;
pub mod company;
pub mod counter;
pub mod group;
pub mod keyvalue;
pub mod shared;
pub mod slices;
pub mod sweep;
pub mod value;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub use change::{Notes, Scope};
pub use company::Company;
pub use keyvalue::SharedStore;
pub use shared::SharedData;
