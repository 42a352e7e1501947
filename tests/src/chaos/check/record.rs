//! A domain's record, as far as the checks look at it.

use fusewire_core::{Lease, Phase};
use serde::Deserialize;

/// A record, read from the text that is in the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Record {
    /// Its phase.
    pub phase: Phase,
    /// The moment of the last close, in ms; zero: none.
    pub epoch: u64,
    /// Until when it is open, in ms.
    #[serde(default)]
    pub until: u64,
    /// Openings in a row.
    #[serde(default)]
    pub openings: u32,
    /// Clean probes in a row.
    #[serde(default)]
    pub passed: u32,
    /// The probe lease.
    #[serde(default)]
    pub lease: Option<Lease>,
    /// From when on it counts as absent, in ms; zero: never.
    #[serde(default)]
    pub expires: u64,
}

impl Record {
    /// What a text says; none where it is no record.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether it still counts at this time.
    #[must_use]
    pub fn counts(&self, now_ms: u64) -> bool {
        self.expires == 0 || now_ms < self.expires
    }

    /// What a domain without a record is.
    #[must_use]
    pub fn none() -> Self {
        Self {
            phase: Phase::Closed,
            epoch: 0,
            until: 0,
            openings: 0,
            passed: 0,
            lease: None,
            expires: 0,
        }
    }

    /// The token of the lease.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.lease.as_ref().map(|lease| lease.token.as_str())
    }

    /// Whether the other says the same, but for how long it lives.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        let lasting = |record: &Self| Self {
            expires: 0,
            ..record.clone()
        };
        lasting(self) == lasting(other)
    }
}
