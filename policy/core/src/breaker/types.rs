//! The vocabulary of the breaker. `wit/breaker.wit` documents each name, `wit/attempts.wit` and
//! `wit/operator.wit` what came later.
#![allow(missing_docs, reason = "each name is documented in wit/")]

use serde::{Deserialize, Serialize};

use crate::observation::{Verdict, named};
use crate::store::Suspended;
use crate::target::Target;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Context {
    pub now_ms: u64,
    pub entropy: u64,
    pub instance: String,
    pub call_limit_ms: Option<u64>,
    pub fingerprint: Option<u64>,
}

impl Context {
    /// A moment, without a host.
    #[must_use]
    pub fn at(now_ms: u64, entropy: u64) -> Self {
        Self {
            now_ms,
            entropy,
            instance: String::new(),
            call_limit_ms: None,
            fingerprint: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    pub target: Target,
    pub probe: bool,
    pub token: String,
}

named!(Phase { Closed = "closed", Open = "open", HalfOpen = "half-open", });

named!(RefusalReason {
    Open = "open",
    ProbeInFlight = "probe-in-flight",
    Ramp = "ramp",
    Hold = "hold",
    Override = "override",
    Store = "store",
    InvalidTarget = "invalid-target",
});

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refusal {
    pub domain: String,
    pub reason: RefusalReason,
    pub retry_after_ms: u64,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Allowed(Permit),
    Refused(Refusal),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Admission {
    pub decision: Decision,
    pub holds_until_ms: u64,
    #[serde(default)]
    pub limits: Limits,
    pub events: Vec<Event>,
}

/// `wit/attempts.wit` documents it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Limits {
    pub total_ms: Option<u64>,
    pub overdue_ms: Option<u64>,
}

/// `wit/attempts.wit` documents it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timing {
    pub latency_ms: Option<u64>,
    pub overdue: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Transition {
    pub before: Phase,
    pub after: Phase,
    pub rule: String,
    pub until_ms: u64,
    pub openings: u32,
}

named!(ProbeOutcome {
    Passed = "passed",
    Failed = "failed",
    Neutral = "neutral",
    Expired = "expired",
});

named!(IgnoredReason {
    Stale = "stale",
    LeaseLost = "lease-lost",
    Late = "late",
    Unshared = "unshared",
    InvalidPermit = "invalid-permit",
});

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    Transition(Transition),
    Probe(ProbeOutcome),
    Ignored(IgnoredReason),
    Ordered(Option<OverrideMode>),
    Store(String),
    Alone(Transition),
    Held(u64),
    Reshaped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Event {
    pub domain: String,
    pub at_ms: u64,
    pub kind: EventKind,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    Judged(Verdict),
    Dropped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub token: String,
    pub owner: String,
    #[serde(rename = "expires", alias = "expires-ms")]
    pub expires_ms: u64,
}

named!(OverrideMode {
    Open = "open",
    Closed = "closed",
    Off = "off",
    Observe = "observe",
});

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverrideOrder {
    pub mode: OverrideMode,
    #[serde(
        rename = "enforce",
        alias = "enforce-percent",
        default,
        skip_serializing_if = "is_zero"
    )]
    pub enforce_percent: u32,
    pub who: String,
    pub why: String,
    #[serde(rename = "until", alias = "until-ms")]
    pub until_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DomainState {
    pub domain: String,
    pub phase: Phase,
    pub epoch: u64,
    pub until_ms: u64,
    pub openings: u32,
    pub probes_passed: u32,
    pub lease: Option<Lease>,
    pub order: Option<OverrideOrder>,
    pub successes: u64,
    pub failures: u64,
    pub slow: u64,
    pub retries: u64,
    pub stored: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverrideError {
    Suspended(Suspended),
    Store(String),
    Invalid(String),
    Contended,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One thing about a domain. `wit/operator.wit` documents it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fact {
    pub subject: String,
    pub value: String,
    pub says: String,
}
