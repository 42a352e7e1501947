//! What the checks are given: all journals, and what was done to whom.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::journal::Line;
use super::super::provider::Visit;

/// The settings that the fleet decides by, as far as the checks know them. Times in ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How many failures trip.
    pub failures: usize,
    /// Within what time.
    pub window_ms: u64,
    /// How coarse that is.
    pub bucket_ms: u64,
    /// The first cool-down.
    pub first_ms: u64,
    /// What each further one in a row is longer by: a factor.
    pub growth: u64,
    /// The longest.
    pub longest_ms: u64,
    /// How long it must have been closed before an opening counts as the first again.
    pub quiet_ms: u64,
    /// Clean probes that close.
    pub probes: u32,
    /// How long a lease lasts.
    pub lease_ms: u64,
}

impl Rules {
    /// How long the `openings`-th opening in a row lasts, in ms.
    #[must_use]
    pub fn cool_down_ms(&self, openings: u32) -> u64 {
        let mut length = self.first_ms.min(self.longest_ms);
        for _ in 1..openings.min(64) {
            length = length.saturating_mul(self.growth).min(self.longest_ms);
        }
        length
    }
}

/// One journal.
#[derive(Debug, Clone)]
pub struct Journalled {
    /// Who wrote it: an instance of the fleet, or a process.
    pub instance: String,
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

/// The end of the disturbances: from then on every provider is healthy, everybody runs, and the
/// store is there.
#[derive(Debug, Clone)]
pub struct Calm {
    /// Its beginning, on the machine's monotonic clock, in us.
    pub from_us: u64,
    /// When everybody must have seen every breaker closed, likewise.
    pub until_us: u64,
    /// The processes that were there.
    pub instances: Vec<String>,
}

/// Everything that is known of a run.
#[derive(Debug, Clone)]
pub struct Story {
    /// What the fleet decided by.
    pub rules: Rules,
    /// The journals of all that ever ran.
    pub journals: Vec<Journalled>,
    /// The calls that reached the providers.
    pub visits: Vec<Visit>,
    /// When the store lost everything: from when it was killed until it was there again, on the
    /// machine's monotonic clock, in us.
    pub losses: Vec<Range<u64>>,
    /// The domains that somebody decides about by a clock of his own, each with how wrong that
    /// clock may be, in ms.
    pub apart: BTreeMap<String, u64>,
    /// `None`: the run was cut off before it came to that.
    pub calm: Option<Calm>,
}

impl Story {
    /// How far apart the clocks may be by which a domain's records are written, in ms.
    #[must_use]
    pub(super) fn apart_ms(&self, domain: &str) -> u64 {
        self.apart.get(domain).copied().unwrap_or(0) + super::CLOCKS_AGREE_MS
    }

    /// Whether the store lost everything at some time between these two.
    #[must_use]
    pub(super) fn lost_between(&self, from_us: u64, to_us: u64) -> bool {
        let touches = |loss: &Range<u64>| loss.start <= to_us && from_us <= loss.end;
        self.losses.iter().any(touches)
    }
}
