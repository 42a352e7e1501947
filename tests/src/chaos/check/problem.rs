//! What may be found wrong.

use std::fmt;

/// What was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broken {
    /// A record was replaced that nobody has written.
    ChainBroken,
    /// One record was replaced twice.
    ChainForked,
    /// A swap took effect that was answered as not done.
    Resurrected,
    /// A record is gone before its time, and the store has not lost it.
    Forgotten,
    /// A lease was taken while another was in force.
    TwoProbes,
    /// A lease was made to last longer.
    LeaseExtended,
    /// A call that was to be refused changed the record.
    RefusedTakerWrote,
    /// A probe was let through before the cool-down was over.
    EarlyProbe,
    /// An opening did not grow the cool-down by its one step, or grew it more than once.
    Growth,
    /// The record went from one state to another that does not follow it.
    UnlawfulChange,
    /// The outcome of a call changed a record whose lease was another's.
    ForeignOutcome,
    /// A close did not begin a later epoch, or an epoch was begun without a close.
    Epoch,
    /// An outcome from an earlier epoch opened a later one.
    StaleOutcome,
    /// It opened on fewer failures of its epoch than the rule wants.
    TooFewFailures,
    /// A call was let through while the breaker was not closed, and was no probe.
    AdmittedWhileTripped,
    /// A probe was made without a lease.
    ProbeWithoutLease,
    /// A call reached the provider without having been admitted.
    Unadmitted,
    /// A call was refused because the store was out of reach.
    RefusedByTheStore,
    /// An event was not told, or told more than once.
    EventUntold,
    /// An event was told that nothing stands behind.
    EventUnfounded,
    /// Clocks that follow the store's do not agree.
    ClocksDisagree,
    /// The policy failed.
    PolicyFailed,
    /// A breaker did not close, though its provider was healthy and there was traffic.
    NeverClosed,
}

/// Something that was found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What was broken.
    pub broken: Broken,
    /// When, on the machine's monotonic clock, in us.
    pub at_us: u64,
    /// What happened, as sentences a person can read.
    pub says: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at_us as f64 / 1e6;
        write!(f, "{:?} at {seconds:.3} s: {}", self.broken, self.says)
    }
}

/// What has been found wrong so far.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, broken: Broken, at_us: u64, says: impl Into<String>) {
        let says = says.into();
        self.0.push(Problem {
            broken,
            at_us,
            says,
        });
    }
}
