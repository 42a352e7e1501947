//! What is counted of one domain.

use fusewire_core::{Effect, IgnoredReason, Outcome, Phase, ProbeOutcome, RefusalReason};

/// The most rules that a domain's transitions are counted apart by: more than any policy has that
/// does not make them up.
const RULES_MAX: usize = 32;
/// What the transitions beyond are counted under.
const OTHER_RULE: &str = "other";

/// The time limits of an attempt, by the names they have in series.
pub(super) const LIMITS: [&str; 4] = ["connect", "read", "total", "deadline"];

/// What is counted of one domain. Most domains are never anything but closed, so what happens to
/// the others is apart.
#[derive(Clone)]
pub(super) struct Series {
    pub(super) phase: Phase,
    /// Its series are there from the start, at zero, and to the end.
    pub(super) is_configured: bool,
    /// Until when it is held or under an order as far as is known, in ms; zero: it is not.
    pub(super) kept_until: u64,
    /// Until when this host's own breaker is open, for itself alone, in ms; zero: it is not.
    pub(super) own_until: u64,
    /// Where it is a provider: attempts, by what they mean.
    pub(super) attempts: Vec<(Outcome, Effect, u64)>,
    pub(super) seldom: Option<Box<Seldom>>,
}

/// What is counted of a domain with which something is the matter.
#[derive(Clone, Default)]
pub(super) struct Seldom {
    pub(super) transitions: Vec<Transitions>,
    /// Of this host's own breaker, for itself alone.
    pub(super) own_transitions: Vec<Transitions>,
    pub(super) holds: u64,
    pub(super) probes: [u64; ProbeOutcome::ALL.len()],
    pub(super) refusals: [u64; RefusalReason::ALL.len()],
    pub(super) ignored: [u64; IgnoredReason::ALL.len()],
    pub(super) without_store: u64,
    pub(super) timeouts: [u64; LIMITS.len()],
}

/// Transitions of one kind.
#[derive(Clone)]
pub(super) struct Transitions {
    pub(super) before: Phase,
    pub(super) after: Phase,
    pub(super) rule: Box<str>,
    pub(super) count: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            phase: Phase::Closed,
            is_configured: false,
            kept_until: 0,
            own_until: 0,
            attempts: Vec::new(),
            seldom: None,
        }
    }
}

impl Series {
    /// Whether the domain must not be forgotten, as far as is known.
    pub(super) fn stays(&self) -> bool {
        self.is_configured || self.phase != Phase::Closed || self.kept_until.max(self.own_until) > 0
    }

    /// A hold, an order or this host's own opening may be over by now.
    pub(super) fn forget_what_is_over(&mut self, now: u64) {
        for until in [&mut self.kept_until, &mut self.own_until] {
            if *until <= now {
                *until = 0;
            }
        }
    }

    pub(super) fn seldom(&mut self) -> &mut Seldom {
        self.seldom.get_or_insert_default()
    }

    pub(super) fn attempt(&mut self, outcome: Outcome, effect: Effect) {
        let mut held = self.attempts.iter_mut();
        match held.find(|(o, e, _)| (*o, *e) == (outcome, effect)) {
            Some((_, _, count)) => raise(count),
            None => {
                // Most providers succeed alone.
                self.attempts.reserve_exact(1);
                self.attempts.push((outcome, effect, 1));
            }
        }
    }

    /// The domain must not be forgotten before this time, in ms.
    pub(super) fn keep_until(&mut self, until: u64) {
        self.kept_until = self.kept_until.max(until);
    }

    pub(super) fn transition(&mut self, before: Phase, after: Phase, rule: &str) {
        self.phase = after;
        transition(&mut self.seldom().transitions, before, after, rule);
    }

    /// This host's own breaker changed its phase, for itself alone.
    pub(super) fn alone(&mut self, before: Phase, after: Phase, rule: &str, until_ms: u64) {
        self.own_until = match after {
            Phase::Closed => 0,
            Phase::Open | Phase::HalfOpen => self.own_until.max(until_ms),
        };
        transition(&mut self.seldom().own_transitions, before, after, rule);
    }
}

fn transition(all: &mut Vec<Transitions>, before: Phase, after: Phase, rule: &str) {
    let is_known = all.iter().any(|held| *held.rule == *rule);
    let rule = match all.len() < RULES_MAX || is_known {
        true => rule,
        false => OTHER_RULE,
    };
    let mut held = all.iter_mut();
    match held.find(|t| t.before == before && t.after == after && *t.rule == *rule) {
        Some(transitions) => raise(&mut transitions.count),
        None => all.push(Transitions {
            before,
            after,
            rule: rule.into(),
            count: 1,
        }),
    }
}

impl Seldom {
    pub(super) fn probe(&mut self, outcome: ProbeOutcome) {
        count(&mut self.probes, ProbeOutcome::ALL, outcome);
    }

    pub(super) fn refusal(&mut self, reason: RefusalReason) {
        count(&mut self.refusals, RefusalReason::ALL, reason);
    }

    pub(super) fn ignored(&mut self, reason: IgnoredReason) {
        count(&mut self.ignored, IgnoredReason::ALL, reason);
    }

    pub(super) fn timeout(&mut self, limit: &str) {
        count(&mut self.timeouts, &LIMITS, limit);
    }
}

fn count<T: PartialEq>(counts: &mut [u64], all: &[T], one: T) {
    let at = all.iter().position(|member| *member == one);
    if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
        raise(count);
    }
}

pub(super) fn raise(count: &mut u64) {
    *count = count.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_makes_up_rules_makes_no_series_without_end() {
        let mut series = Series::default();
        for n in 0..1_000 {
            series.transition(Phase::Closed, Phase::Open, &format!("rule {n}"));
        }
        series.transition(Phase::Closed, Phase::Open, "rule 0");
        let transitions = &series.seldom().transitions;
        assert_eq!(transitions.len(), RULES_MAX + 1);
        assert_eq!(transitions[0].count, 2);
        assert_eq!(&*transitions[RULES_MAX].rule, OTHER_RULE);
        assert_eq!(transitions.iter().map(|t| t.count).sum::<u64>(), 1_001);
    }
}
