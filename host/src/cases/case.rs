//! A case: an input, and what is expected of its verdict.

use std::fmt::Display;

use fusewire_core::{Blame, Effect, Observation, Outcome, Verdict};

use super::setup::Setup;

/// What was seen, and by which settings it is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub id: Option<String>,
    /// By which settings it is judged.
    pub setup: Setup,
    /// What was seen.
    pub observation: Observation,
}

/// An input with a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// What it is counted under.
    pub group: String,
    /// Why that is expected. May be empty.
    pub why: String,
    /// What was seen.
    pub input: Input,
    /// What is expected.
    pub expected: Expected,
}

/// What is expected of a verdict. Whatever is `None` may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    /// What happened.
    pub outcome: Option<Outcome>,
    /// What it is to the breaker.
    pub effect: Option<Effect>,
    /// Whether it is a failure to the breaker.
    pub counts: Option<bool>,
    /// Whom it is laid to.
    pub blame: Option<Blame>,
    /// Whether the same request may be sent there again.
    pub retry_same: Option<bool>,
    /// Whether another provider should be asked.
    pub next_provider: Option<bool>,
    /// The least delay, in ms.
    pub min_delay_ms: Option<u64>,
    /// The rule that decides.
    pub rule: Option<String>,
}

/// A field in which a verdict is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field, as it is called in a case.
    pub field: &'static str,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Expected {
    /// Whether nothing is expected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every field in which this verdict is not what is expected.
    #[must_use]
    pub fn differences(&self, verdict: &Verdict) -> Vec<Difference> {
        let counts = verdict.effect == Effect::Failure;
        [
            differs("outcome", self.outcome, verdict.outcome),
            differs("breaker_effect", self.effect, verdict.effect),
            differs("counts_against_breaker", self.counts, counts),
            differs("blame", self.blame, verdict.blame),
            differs("retry_same", self.retry_same, verdict.retry_same),
            differs("next_provider", self.next_provider, verdict.next_provider),
            differs("min_delay_ms", self.min_delay_ms, verdict.min_delay_ms),
            differs("rule", self.rule.as_ref(), &verdict.rule),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn differs<T: PartialEq + Display>(
    field: &'static str,
    expected: Option<T>,
    found: T,
) -> Option<Difference> {
    let expected = expected.filter(|expected| *expected != found)?;
    Some(Difference {
        field,
        expected: expected.to_string(),
        found: found.to_string(),
    })
}
