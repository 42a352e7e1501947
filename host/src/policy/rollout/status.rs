//! How a replacement stands, as data.

use fusewire_core::Description;
use serde::{Deserialize, Serialize};

use crate::policy::shadow::Comparison;
use crate::policy::{Digest, Evidence, Stage};

/// How it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// The policy that serves.
    pub serving: Served,
    /// The one that a rollback would put in its place.
    pub previous: Option<Served>,
    /// The one on its way.
    pub candidate: Option<Candidate>,
    /// The last one that did not make it, or was taken back.
    pub refused: Option<Turned>,
    /// Whether candidates are kept from going on under traffic.
    pub paused: bool,
    /// How many policies have begun to serve, the first one included.
    pub activations: u64,
    /// How many did not make it to that.
    pub refusals: u64,
    /// How many were taken back after that.
    pub rollbacks: u64,
    /// How many replaced policies there are that calls still have.
    pub lingering: usize,
}

/// A policy that serves, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Served {
    /// Its digest.
    pub digest: Digest,
    /// The digest of its configuration.
    pub configuration: Digest,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The newest record schema that it reads and writes.
    pub record_schema: u32,
    /// Which one it is of this process, from 1.
    pub generation: u64,
    /// Since when it serves, in ms on the fleet's clock.
    pub since_ms: u64,
    /// Whether it would still be taken back by itself.
    pub on_probation: bool,
    /// Where it came from, for people.
    pub origin: String,
    /// What was seen on its way.
    pub evidence: Vec<Evidence>,
}

/// A policy on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Candidate {
    /// Its digest.
    pub digest: Digest,
    /// Its name; empty until it has said so.
    pub name: String,
    /// Its version; empty until it has said so.
    pub version: String,
    /// The stage that it is at.
    pub stage: Stage,
    /// Since when it is on its way, in ms on the fleet's clock.
    pub since_ms: u64,
    /// Where it came from, for people.
    pub origin: String,
    /// What was seen at the stages that it has passed.
    pub evidence: Vec<Evidence>,
    /// What has come of comparing it with the serving policy so far.
    pub comparison: Comparison,
}

/// A policy that did not make it, or was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Turned {
    /// Its digest.
    pub digest: Digest,
    /// Its name; empty where it never said so.
    pub name: String,
    /// Its version; empty where it never said so.
    pub version: String,
    /// The stage at which it was stopped; [`Stage::Active`]: it had begun to serve.
    pub stage: Stage,
    /// Why, as a sentence.
    pub why: String,
    /// When, in ms on the fleet's clock.
    pub at_ms: u64,
    /// What was seen at its stages.
    pub evidence: Vec<Evidence>,
    /// Whether it had begun to serve.
    pub rolled_back: bool,
    /// What came of comparing it.
    pub comparison: Comparison,
}

impl Served {
    /// The policy in a few words: `fusewire 0.1.0 (ba7816bf8f01)`.
    #[must_use]
    pub fn words(&self) -> String {
        words(&self.name, &self.version, self.digest)
    }
}

impl Candidate {
    /// The policy in a few words, as far as they are known.
    #[must_use]
    pub fn words(&self) -> String {
        words(&self.name, &self.version, self.digest)
    }

    pub(super) fn is_called(&mut self, description: &Description) {
        self.name.clone_from(&description.name);
        self.version.clone_from(&description.version);
    }
}

fn words(name: &str, version: &str, digest: Digest) -> String {
    let digest = digest.short();
    match name.is_empty() {
        true => digest,
        false => format!("{name} {version} ({digest})"),
    }
}
