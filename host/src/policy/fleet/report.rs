//! What a host says of itself, and the list of hosts.

use serde::{Deserialize, Serialize};

use super::access::{Unreadable, read_json};
use super::plain::{id, plain};
use super::wanted::{NAME_MAX, Wanted};
use crate::policy::{Digest, Evidence, Stage};

/// The schema of a report. Who reads a newer one says so.
const SCHEMA: u32 = 1;
/// How long a report lives in the store, in ms: a host that is not heard of for so long is gone.
pub const REPORT_TTL_MS: u64 = 30_000;
/// How often a host reports though nothing has changed, in ms: a report may fail to be written
/// twice before the host seems gone.
pub(super) const REPORT_EVERY_MS: u64 = 10_000;
/// The longest reason and the longest finding in a report, in characters.
const WHY_MAX: usize = 300;
const FOUND_MAX: usize = 120;
/// How many hosts a fleet may list.
pub const HOSTS_MAX: usize = 512;
/// The longest list of hosts, in bytes of its JSON text: what a store takes in one value.
const LIST_MAX_BYTES: usize = 60 << 10;

/// How far a host is with what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Nothing is wanted.
    Idle,
    /// What is wanted cannot be read, and was left alone.
    Unreadable,
    /// Others are first.
    Waiting,
    /// Another host stopped it.
    Held,
    /// Its bytes are being fetched, or cannot be had.
    Fetching,
    /// At that stage, and so on to `canary`.
    Digest,
    /// See [`Stage::Signature`].
    Signature,
    /// See [`Stage::Parse`].
    Parse,
    /// See [`Stage::World`].
    World,
    /// See [`Stage::Compile`].
    Compile,
    /// See [`Stage::Start`].
    Start,
    /// See [`Stage::Configure`].
    Configure,
    /// See [`Stage::Scenarios`].
    Scenarios,
    /// See [`Stage::Shadow`].
    Shadow,
    /// See [`Stage::Canary`].
    Canary,
    /// It serves.
    Active,
    /// It did not come through a stage.
    Refused,
    /// It served, and was rolled back.
    RolledBack,
    /// It was taken, and then something else was put in its place on this host alone.
    Replaced,
    /// What only a newer fusewire knows.
    #[serde(other)]
    Unknown,
}

impl From<Stage> for Step {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Digest => Self::Digest,
            Stage::Signature => Self::Signature,
            Stage::Parse => Self::Parse,
            Stage::World => Self::World,
            Stage::Compile => Self::Compile,
            Stage::Start => Self::Start,
            Stage::Configure => Self::Configure,
            Stage::Scenarios => Self::Scenarios,
            Stage::Shadow => Self::Shadow,
            Stage::Canary => Self::Canary,
            Stage::Active => Self::Active,
        }
    }
}

impl Step {
    /// Its name, as it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Unreadable => "unreadable",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Fetching => "fetching",
            Self::Digest => "digest",
            Self::Signature => "signature",
            Self::Parse => "parse",
            Self::World => "world",
            Self::Compile => "compile",
            Self::Start => "start",
            Self::Configure => "configure",
            Self::Scenarios => "scenarios",
            Self::Shadow => "shadow",
            Self::Canary => "canary",
            Self::Active => "active",
            Self::Refused => "refused",
            Self::RolledBack => "rolled-back",
            Self::Replaced => "replaced",
            Self::Unknown => "unknown",
        }
    }
}

/// What a host says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostReport {
    /// The schema of the report.
    pub schema: u32,
    /// The host's id.
    pub instance: String,
    /// What it runs.
    pub digest: Digest,
    /// The name of that.
    pub name: String,
    /// The version of that.
    pub version: String,
    /// The how-manieth policy of this process that is.
    pub generation: u64,
    /// What is wanted, as far as this host has seen; `None`: nothing, or nothing that it can read.
    #[serde(default)]
    pub wanted: Option<Digest>,
    /// The revision of that, or 0.
    #[serde(default)]
    pub revision: u64,
    /// How far it is with that.
    pub stage: Step,
    /// Why it is there and no further. May be empty.
    #[serde(default)]
    pub why: String,
    /// Since when, in ms on the fleet's clock.
    pub since_ms: u64,
    /// When this was reported, in ms on the fleet's clock.
    pub at_ms: u64,
    /// In the shadow: how many decisions were compared.
    #[serde(default)]
    pub compared: u64,
    /// In the shadow: how many of them differed.
    #[serde(default)]
    pub differences: u64,
    /// What was seen at the stages, in few words each.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// What a host runs.
pub(super) struct Runs {
    pub(super) digest: Digest,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) generation: u64,
}

/// What a host has to say of what is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Saying {
    pub(super) step: Step,
    pub(super) why: String,
    pub(super) compared: u64,
    pub(super) differences: u64,
    pub(super) evidence: Vec<Evidence>,
}

impl Saying {
    pub(super) fn new(step: Step, why: impl Into<String>) -> Self {
        Self {
            step,
            why: why.into(),
            compared: 0,
            differences: 0,
            evidence: Vec::new(),
        }
    }

    pub(super) fn with_evidence(self, evidence: &[Evidence]) -> Self {
        let evidence = evidence.iter().map(|seen| Evidence {
            found: plain(&seen.found, FOUND_MAX),
            ..seen.clone()
        });
        Self {
            // A policy goes through each stage once.
            evidence: evidence.take(Stage::ALL.len()).collect(),
            ..self
        }
    }
}

impl HostReport {
    /// A report at this moment. What was there before tells since when.
    pub(super) fn new(
        instance: &str,
        runs: Runs,
        wanted: Option<&Wanted>,
        saying: Saying,
        before: Option<&Self>,
        now_ms: u64,
    ) -> Self {
        let digest = wanted.map(|wanted| wanted.policy.digest);
        let since_ms = before
            .filter(|before| before.stage == saying.step && before.wanted == digest)
            .map_or(now_ms, |before| before.since_ms);
        Self {
            schema: SCHEMA,
            instance: id(instance),
            digest: runs.digest,
            name: plain(&runs.name, NAME_MAX),
            version: plain(&runs.version, NAME_MAX),
            generation: runs.generation,
            wanted: digest,
            revision: wanted.map_or(0, |wanted| wanted.revision),
            stage: saying.step,
            why: plain(&saying.why, WHY_MAX),
            since_ms,
            at_ms: now_ms,
            compared: saying.compared,
            differences: saying.differences,
            evidence: saying.evidence,
        }
    }

    /// Reads a report, with texts that can be shown.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let report: Self = read_json(bytes, SCHEMA)?;
        let evidence = report.evidence.clone();
        let said = Saying::new(report.stage, String::new()).with_evidence(&evidence);
        Ok(Self {
            instance: id(&report.instance),
            name: plain(&report.name, NAME_MAX),
            version: plain(&report.version, NAME_MAX),
            why: plain(&report.why, WHY_MAX),
            evidence: said.evidence,
            ..report
        })
    }

    /// Whether it says the same, whenever it does.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        let timeless = |report: &Self| Self {
            at_ms: 0,
            ..report.clone()
        };
        timeless(self) == timeless(other)
    }

    /// Whether it speaks of this order, and is there.
    pub(super) fn is_at(&self, wanted: &Wanted, step: Step) -> bool {
        self.wanted == Some(wanted.policy.digest)
            && self.revision == wanted.revision
            && self.stage == step
    }
}

/// Reads the list of hosts. One that cannot be read is an empty one: hosts add themselves again.
pub(super) fn read_list(bytes: Option<&[u8]>) -> Vec<String> {
    let mut hosts: Vec<String> = bytes
        .filter(|bytes| bytes.len() <= crate::store::VALUE_MAX_BYTES)
        .and_then(|bytes| serde_json::from_slice(bytes).ok())
        .unwrap_or_default();
    hosts.retain(|host| may_be_listed(host));
    hosts.truncate(HOSTS_MAX);
    hosts
}

fn may_be_listed(host: &str) -> bool {
    (1..=128).contains(&host.len())
}

/// The list with this host in it. `None`: there is no room.
pub(super) fn list_with(mut hosts: Vec<String>, host: &str) -> Option<Vec<u8>> {
    hosts.push(host.to_owned());
    hosts.sort_unstable();
    hosts.dedup();
    let bytes = serde_json::to_vec(&hosts).ok()?;
    let fits = hosts.len() <= HOSTS_MAX && bytes.len() <= LIST_MAX_BYTES && may_be_listed(host);
    fits.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_one_name_everywhere() {
        for stage in Stage::ALL {
            let step = Step::from(stage);
            assert_eq!(step.name(), stage.name());
        }
        for step in [Step::Idle, Step::RolledBack, Step::Replaced, Step::Held] {
            let json = serde_json::to_string(&step).expect("a text");
            assert_eq!(json, format!("\"{}\"", step.name()));
        }
        let newer: Step = serde_json::from_str("\"levitating\"").expect("read");
        assert_eq!(newer, Step::Unknown);
    }

    #[test]
    fn a_list_of_hosts_is_bounded_and_names_each_once() {
        let list = list_with(vec!["b".into(), "a".into(), "b".into()], "a").expect("room");
        assert_eq!(read_list(Some(&list)), ["a", "b"]);
        let full: Vec<String> = (0..HOSTS_MAX).map(|at| format!("host-{at}")).collect();
        assert_eq!(list_with(full.clone(), "one-more"), None);
        assert!(list_with(full, "host-7").is_some(), "it is there already");
        let long: Vec<String> = (0..HOSTS_MAX - 1).map(|at| format!("{at:0128}")).collect();
        assert_eq!(
            list_with(long, "one-more"),
            None,
            "more than a value may have"
        );
    }

    #[test]
    fn a_hostile_list_of_hosts_is_an_empty_one() {
        for bytes in [&b"\xff"[..], b"{}", b"[1]", b"[\"a\"", &[b'['; 50_000]] {
            assert_eq!(read_list(Some(bytes)), [""; 0]);
        }
        let odd = serde_json::json!(["", "x".repeat(129), "host-1"]).to_string();
        assert_eq!(read_list(Some(odd.as_bytes())), ["host-1"]);
        let many = serde_json::json!(vec!["h"; 9_000]).to_string();
        assert_eq!(read_list(Some(many.as_bytes())).len(), HOSTS_MAX);
    }
}
