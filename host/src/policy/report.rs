//! Stages, what was seen at them, and refusals.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The most characters of what was found at a stage: a page of text.
const LONGEST: usize = 4_000;

/// A step on a policy's way to serving, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its digest is one of those allowed, where there is a list.
    Digest,
    /// Its signature holds, where keys are given.
    Signature,
    /// Its bytes are a component, every part of it valid.
    Parse,
    /// It imports nothing beyond the contract, and exports all of it.
    World,
    /// It compiles on this machine.
    Compile,
    /// A first instance starts within its limits, and says who it is.
    Start,
    /// It accepts its configuration.
    Configure,
    /// The scenarios that it carries, and the operator's own, come out as they say.
    Scenarios,
    /// It decides real calls in the shadow of the one that serves.
    Shadow,
    /// It truly decides a share of them.
    Canary,
    /// It serves.
    Active,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 11] = [
        Self::Digest,
        Self::Signature,
        Self::Parse,
        Self::World,
        Self::Compile,
        Self::Start,
        Self::Configure,
        Self::Scenarios,
        Self::Shadow,
        Self::Canary,
        Self::Active,
    ];

    /// Its name, as it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
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
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What was seen at a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// The stage.
    pub stage: Stage,
    /// Whether the policy came through it.
    pub passed: bool,
    /// What was found, as a text that a person can read.
    pub found: String,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

impl Evidence {
    /// Evidence of a stage that answered `Ok` with what was found, or `Err` with why not. Some of
    /// that may be the policy's own words: control characters in it, but for line feeds, are
    /// replaced, so that it cannot write over what a person sees; and of a text that goes on and on
    /// only the beginning is kept.
    #[must_use]
    pub fn of(stage: Stage, answer: Result<String, String>, took: Duration) -> Self {
        let passed = answer.is_ok();
        let found = answer
            .unwrap_or_else(|why| why)
            .chars()
            .take(LONGEST)
            .map(|c| {
                if c.is_control() && c != '\n' {
                    '\u{fffd}'
                } else {
                    c
                }
            })
            .collect();
        Self {
            stage,
            passed,
            found,
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// A policy that may not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused at {stage}: {why}")]
pub struct Refused {
    /// The stage that it did not come through.
    pub stage: Stage,
    /// Why, as a text that a person can read.
    pub why: String,
    /// What was seen at each stage that it reached, the last of them the one that refused.
    pub evidence: Vec<Evidence>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_one_name_everywhere() {
        for stage in Stage::ALL {
            let json = serde_json::to_string(&stage).expect("a text");
            assert_eq!(json, format!("\"{}\"", stage.name()));
            assert_eq!(stage.to_string(), stage.name());
        }
    }

    #[test]
    fn what_a_policy_says_cannot_write_over_what_a_person_sees() {
        let seen = Evidence::of(
            Stage::Scenarios,
            Err("found\u{1b}[2J\rnothing\nelse".to_owned()),
            Duration::from_micros(7),
        );
        assert_eq!(seen.found, "found\u{fffd}[2J\u{fffd}nothing\nelse");
        assert_eq!((seen.passed, seen.took_us), (false, 7));
        let long = Evidence::of(Stage::Start, Ok("ä".repeat(10_000)), Duration::ZERO);
        assert_eq!(long.found, "ä".repeat(LONGEST));
    }

    #[test]
    fn stages_are_in_the_order_in_which_they_are_passed() {
        assert!(Stage::ALL.is_sorted());
        assert!(
            Stage::Signature < Stage::Parse,
            "nothing unsigned is parsed"
        );
    }
}
