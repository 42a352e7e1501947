//! Which openings are the serving policy's alone.
//!
//! A breaker that is open is open for every policy on the store, whoever opened it. So a policy that
//! opens too easily is not found out by its refusals: its predecessor, asked now, would refuse the
//! same. What tells them apart is the opening itself.

use std::collections::HashSet;

use fusewire_core::{Event, EventKind, Phase};

/// The most domains that are remembered. One that has as many wrong openings has been found out.
const DOMAINS: usize = 10_000;

/// Whose breaker of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Fleet,
    /// This instance's own.
    Own,
}

/// Domains that the serving policy has opened, and the other one would not have.
#[derive(Default)]
pub(super) struct Openings(HashSet<(Whose, String)>);

impl Openings {
    /// Learns from what the serving policy brought about by an outcome, and what the other one would
    /// have.
    pub(super) fn learn(&mut self, serving: &[Event], other: &[Event]) {
        for event in serving {
            let Some((whose, after)) = change(event) else {
                continue;
            };
            let is_same = |other: &Event| {
                other.domain == event.domain && change(other) == Some((whose, Phase::Open))
            };
            let agrees = || other.iter().any(is_same);
            let changed = (whose, event.domain.clone());
            match after {
                Phase::Open if !agrees() && self.0.len() < DOMAINS => {
                    self.0.insert(changed);
                }
                Phase::Open | Phase::Closed => {
                    self.0.remove(&changed);
                }
                Phase::HalfOpen => {}
            }
        }
    }

    /// Whether this domain is open by the serving policy's doing alone.
    pub(super) fn is_its_own(&self, domain: &str) -> bool {
        let of = |whose| self.0.contains(&(whose, domain.to_owned()));
        of(Whose::Fleet) || of(Whose::Own)
    }
}

/// Whose breaker changed its phase, and to which.
fn change(event: &Event) -> Option<(Whose, Phase)> {
    match &event.kind {
        EventKind::Transition(transition) => Some((Whose::Fleet, transition.after)),
        EventKind::Alone(transition) => Some((Whose::Own, transition.after)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::Transition;

    fn event(domain: &str, before: Phase, after: Phase) -> Event {
        Event {
            domain: domain.into(),
            at_ms: 1,
            detail: String::new(),
            kind: EventKind::Transition(Transition {
                before,
                after,
                rule: "failures".into(),
                until_ms: 0,
                openings: 1,
            }),
        }
    }

    #[test]
    fn an_opening_is_its_own_until_it_closes_or_the_other_one_agrees() {
        let open = event("p", Phase::Closed, Phase::Open);
        let again = event("p", Phase::HalfOpen, Phase::Open);
        let close = event("p", Phase::HalfOpen, Phase::Closed);
        let mut openings = Openings::default();
        openings.learn(std::slice::from_ref(&open), &[]);
        assert!(openings.is_its_own("p") && !openings.is_its_own("q"));
        openings.learn(&[event("p", Phase::Open, Phase::HalfOpen)], &[]);
        assert!(openings.is_its_own("p"));
        openings.learn(std::slice::from_ref(&again), std::slice::from_ref(&again));
        assert!(!openings.is_its_own("p"));
        openings.learn(
            std::slice::from_ref(&open),
            &[event("q", Phase::Closed, Phase::Open)],
        );
        assert!(openings.is_its_own("p"));
        openings.learn(std::slice::from_ref(&close), &[]);
        assert!(!openings.is_its_own("p"));
    }

    #[test]
    fn an_opening_of_this_instance_alone_is_apart_from_the_fleets() {
        let alone = |event: Event| {
            let EventKind::Transition(transition) = event.kind else {
                panic!("a transition");
            };
            Event {
                kind: EventKind::Alone(transition),
                ..event
            }
        };
        let open = event("p", Phase::Closed, Phase::Open);
        let close = event("p", Phase::HalfOpen, Phase::Closed);
        let mut openings = Openings::default();
        openings.learn(&[alone(open.clone())], std::slice::from_ref(&open));
        assert!(openings.is_its_own("p"), "the fleet's is another");
        openings.learn(std::slice::from_ref(&close), &[]);
        assert!(openings.is_its_own("p"), "so is its close");
        openings.learn(&[alone(open.clone())], &[alone(open)]);
        assert!(!openings.is_its_own("p"));
    }
}
