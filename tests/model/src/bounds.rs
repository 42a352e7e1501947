//! How far a search goes.

use crate::call::{End, Order};
use crate::promises::Promises;
use crate::store::{Key, Perform, perform};
use crate::text::{FAR, Ms};

/// A small fleet, and what may befall it.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The configuration of the core, as JSON.
    pub(crate) config: String,
    /// How far each instance's clock is ahead, in ascending order: one an instance.
    pub(crate) skews: Vec<Ms>,
    /// One domain (a provider), or two (with an operation of it).
    pub(crate) domains: usize,
    /// Whether every domain is open at the start, and its cool-down over; or there is nothing yet.
    pub(crate) starts_open: bool,
    /// How many attempts there may be at once: in the fleet, and of one instance.
    pub(crate) attempts: usize,
    pub(crate) attempts_each: usize,
    /// How far time goes on in one step.
    pub(crate) tick: Ms,
    /// How long a call may wait for the store before its host gives it up.
    pub(crate) patience: Ms,
    /// How long after a call has begun its first operation may take effect.
    pub(crate) lag: Ms,
    /// How many instances, the last ones, may have any operation answered `unavailable`, whether it
    /// took effect or not.
    pub(crate) cut_off: usize,
    /// The keys that the store may lose at any time.
    pub(crate) lost: Vec<Key>,
    /// How attempts may end.
    pub(crate) ends: Vec<End>,
    /// What an operator may order.
    pub(crate) orders: Vec<Option<Order>>,
    pub(crate) promises: Promises,
    /// How the store does an operation.
    pub(crate) perform: Perform,
    // What follows from the configuration.
    pub(crate) quiet: Ms,
    pub(crate) window: Ms,
    pub(crate) lease: Ms,
    pub(crate) failures: u8,
    /// How often something must have happened (openings in a row, flaps) for more of it to make no
    /// difference.
    pub(crate) times: Ms,
    /// How many lots of random bits make a difference: two where there is a ramp.
    pub(crate) lots: u8,
}

impl Bounds {
    /// Whether this instance may be cut off from the store.
    pub(crate) fn is_cut_off(&self, instance: usize) -> bool {
        instance + self.cut_off >= self.skews.len()
    }

    /// Instances of one class are interchangeable.
    pub(crate) fn class(&self, instance: usize) -> (Ms, bool) {
        (self.skews[instance], self.is_cut_off(instance))
    }

    /// The most of a lane that makes a difference to any rule.
    pub(crate) fn enough(&self, lane: &str) -> u8 {
        match lane {
            "failure" => self.failures,
            // Who has seen a failure, and of which request, for a quorum.
            "u" => 1,
            lane if lane.starts_with("i-") => 1,
            _ => 0,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            config: String::new(),
            skews: vec![0; 3],
            domains: 1,
            starts_open: false,
            attempts: 3,
            attempts_each: 1,
            tick: 1_000,
            patience: 0,
            lag: 0,
            cut_off: 0,
            lost: Vec::new(),
            ends: vec![End::Passed, End::Failed, End::Dropped],
            orders: Vec::new(),
            promises: Promises::default(),
            perform,
            quiet: FAR,
            window: 1_000,
            lease: 2_000,
            failures: 2,
            times: 1,
            lots: 1,
        }
    }
}
