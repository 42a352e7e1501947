//! How a verdict came about, for whoever wants to know: which rules were tried, and why they did
//! not decide. A component carries none of it.

use super::hint::Hint;
use super::profile::look::{Look, Unmet};
use super::profile::rule::When;
use crate::observation::Verdict;

/// Who is told of it.
pub(crate) trait Trace {
    /// A rule of a profile was tried.
    fn tried(&mut self, rule: &str, when: &When, unmet: Option<Unmet>, look: &Look<'_>);
    /// A generic rule decided, or was asked and had nothing to say.
    fn generic(&mut self, rule: &str, decided: bool, why: &str);
    /// This hint is the one that counts.
    fn hint(&mut self, hint: &Hint, clamped: bool);
}

/// Nobody.
pub(crate) struct Untold;

impl Trace for Untold {
    fn tried(&mut self, _: &str, _: &When, _: Option<Unmet>, _: &Look<'_>) {}
    fn generic(&mut self, _: &str, _: bool, _: &str) {}
    fn hint(&mut self, _: &Hint, _: bool) {}
}

/// How a verdict came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// The rules in the order in which they were tried.
    pub tried: Vec<Tried>,
    /// The provider's word on when to come back that counts, where there was any.
    pub hint: Option<HintSaid>,
}

/// One rule that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Its name, as a verdict has it.
    pub rule: String,
    /// Whether it decided.
    pub decided: bool,
    /// What kept it from deciding, or what it saw.
    pub why: String,
}

/// A provider's word on when to come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintSaid {
    /// Where it stood.
    pub source: String,
    /// The wait, a span in ms.
    pub wait_ms: u64,
    /// Whether it was longer than what is believed.
    pub clamped: bool,
}

/// Writes it down.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) tried: Vec<Tried>,
    pub(crate) hint: Option<HintSaid>,
}

impl Trace for Story {
    fn tried(&mut self, rule: &str, when: &When, unmet: Option<Unmet>, look: &Look<'_>) {
        self.tried.push(Tried {
            rule: rule.into(),
            decided: unmet.is_none(),
            why: match unmet {
                None => "all of its conditions hold".into(),
                Some(unmet) => look.why_not(when, unmet),
            },
        });
    }

    fn generic(&mut self, rule: &str, decided: bool, why: &str) {
        self.tried.push(Tried {
            rule: rule.into(),
            decided,
            why: why.into(),
        });
    }

    fn hint(&mut self, hint: &Hint, clamped: bool) {
        self.hint = Some(HintSaid {
            source: hint.source.into(),
            wait_ms: hint.wait_ms,
            clamped,
        });
    }
}
