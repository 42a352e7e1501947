//! One domain as it was seen.

use fusewire::core::{DomainState, Fact, OverrideMode, OverrideOrder, Phase};
use serde::Serialize;

use super::stored::{Hold, Stored};

/// The longest that a policy can be told to ramp, in ms.
const RAMP_LONGEST_MS: u64 = 3_600_000;

/// What calls meet. In the order in which operators want to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    /// Each is refused, by an order.
    ForcedOpen,
    /// Each is refused, until the cool-down is over.
    Open,
    /// One at a time goes through, as a probe.
    HalfOpen,
    /// An account waits.
    Held,
    /// All go through and none is refused, by an order, whatever the breaker would do.
    Observed,
    ForcedClosed,
    Off,
    /// It closed a moment ago, and takes a share of the calls that grows.
    Ramp,
    /// All go through.
    Closed,
}

/// A call that tests the recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Probe {
    pub(super) owner: String,
    pub(super) until_ms: u64,
}

/// An operator's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Order {
    pub(super) mode: OverrideMode,
    /// Of a hundred refusals, how many are enforced while it is observed.
    pub(super) enforce_percent: u32,
    pub(super) who: String,
    pub(super) why: String,
    /// `None`: it stands until it is cleared.
    pub(super) until_ms: Option<u64>,
}

/// One domain as it was seen. Times are in ms on the fleet's clock, since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Look {
    pub(super) domain: String,
    pub(super) standing: Standing,
    /// Whether neither the breaker nor an order nor a hold keeps calls away.
    pub(super) closed: bool,
    pub(super) phase: Phase,
    /// Until when it is open.
    pub(super) open_until_ms: Option<u64>,
    /// The rule that tripped it.
    pub(super) rule: Option<String>,
    /// In a row.
    pub(super) openings: u32,
    /// How many times it opened again before the quiet time was over.
    pub(super) flaps: u64,
    /// Clean probes in a row so far.
    pub(super) probes_passed: u32,
    pub(super) probe: Option<Probe>,
    pub(super) hold: Option<Hold>,
    pub(super) order: Option<Order>,
    /// When it closed last, as far as the store remembers.
    pub(super) closed_at_ms: Option<u64>,
    /// Until when it takes but a share of the calls.
    pub(super) ramp_until_ms: Option<u64>,
    /// What the widest window holds.
    pub(super) failures: u64,
    pub(super) successes: u64,
    pub(super) slow: u64,
    pub(super) retries: u64,
    /// How long a healthy call takes at most, of a hundred all but one, as the policy has learnt.
    pub(super) p99_ms: Option<u64>,
    /// Whether the store has a record of it.
    pub(super) recorded: bool,
    /// When that was.
    pub(super) at_ms: u64,
}

impl Look {
    pub(super) fn new(state: DomainState, at_ms: u64) -> Self {
        let stored = state.stored.as_deref();
        let recorded = stored.is_some();
        let stored = stored.map(|record| Stored::read(record, at_ms));
        let stored = stored.unwrap_or_default();
        let order = state.order.map(Order::from);
        let mode = order.as_ref().map(|order| order.mode);
        let standing = standing(mode, state.phase, stored.hold.is_some());
        let known = |ms: u64| (ms != 0).then_some(ms);
        let probe = state.lease.filter(|lease| lease.expires_ms > at_ms);
        Self {
            domain: state.domain,
            standing,
            closed: state.phase == Phase::Closed
                && stored.hold.is_none()
                && mode != Some(OverrideMode::Open),
            phase: state.phase,
            open_until_ms: known(state.until_ms),
            rule: stored.rule.filter(|_| state.phase != Phase::Closed),
            openings: state.openings,
            flaps: stored.flaps,
            probes_passed: state.probes_passed,
            probe: probe.map(|lease| Probe {
                owner: lease.owner,
                until_ms: lease.expires_ms,
            }),
            hold: stored.hold,
            order,
            closed_at_ms: known(state.epoch),
            ramp_until_ms: None,
            failures: state.failures,
            successes: state.successes,
            slow: state.slow,
            retries: state.retries,
            p99_ms: stored.p99_ms,
            recorded,
            at_ms,
        }
    }

    /// Whether it may have closed a moment ago: then only its policy knows how many calls it takes.
    pub(super) fn may_ramp(&self) -> bool {
        let since = |at: u64| self.at_ms.saturating_sub(at);
        let lately = self
            .closed_at_ms
            .is_some_and(|at| since(at) < RAMP_LONGEST_MS);
        self.standing == Standing::Closed && lately
    }

    /// What its policy says about that, of all that it says.
    pub(super) fn ramps(mut self, facts: &[Fact]) -> Self {
        let ramp = facts.iter().find(|fact| fact.subject == "ramp");
        if let Some(left_ms) = ramp.and_then(|fact| fact.value.parse::<u64>().ok()) {
            self.standing = Standing::Ramp;
            self.ramp_until_ms = Some(self.at_ms.saturating_add(left_ms));
        }
        self
    }

    /// Until when it stands so, where that is known; zero: for ever.
    pub(super) fn until_ms(&self) -> Option<u64> {
        let order = || self.order.as_ref().map(|o| o.until_ms.unwrap_or(0));
        match self.standing {
            Standing::Open => self.open_until_ms,
            Standing::HalfOpen => self.probe.as_ref().map(|probe| probe.until_ms),
            Standing::Held => self.hold.as_ref().map(|hold| hold.until_ms),
            Standing::Ramp => self.ramp_until_ms,
            Standing::Closed => None,
            Standing::ForcedOpen | Standing::Observed | Standing::ForcedClosed | Standing::Off => {
                order()
            }
        }
    }

    /// Whether it may become another one by time alone.
    pub(super) fn may_pass(&self) -> bool {
        !self.closed || self.order.is_some() || self.standing == Standing::Ramp
    }

    /// It without what goes on though nothing happens.
    pub(super) fn essence(&self) -> Self {
        Self {
            failures: 0,
            successes: 0,
            slow: 0,
            retries: 0,
            p99_ms: None,
            at_ms: 0,
            ..self.clone()
        }
    }

    /// Those that are not closed are first, and of these those that keep most calls away.
    pub(super) fn rank(&self) -> (bool, Standing, &str) {
        (self.closed, self.standing, &self.domain)
    }
}

fn standing(order: Option<OverrideMode>, phase: Phase, held: bool) -> Standing {
    match (order, phase) {
        (Some(OverrideMode::Open), _) => Standing::ForcedOpen,
        (Some(OverrideMode::Closed), _) => Standing::ForcedClosed,
        (Some(OverrideMode::Off), _) => Standing::Off,
        (Some(OverrideMode::Observe), _) => Standing::Observed,
        (None, Phase::Open) => Standing::Open,
        (None, Phase::HalfOpen) => Standing::HalfOpen,
        (None, Phase::Closed) if held => Standing::Held,
        (None, Phase::Closed) => Standing::Closed,
    }
}

impl Standing {
    /// As people read it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ForcedOpen => "forced open",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
            Self::Held => "held",
            Self::Observed => "observed",
            Self::ForcedClosed => "forced closed",
            Self::Off => "off",
            Self::Ramp => "ramp",
            Self::Closed => "closed",
        }
    }
}

impl From<OverrideOrder> for Order {
    fn from(order: OverrideOrder) -> Self {
        Self {
            mode: order.mode,
            enforce_percent: order.enforce_percent,
            who: order.who,
            why: order.why,
            until_ms: (order.until_ms != 0).then_some(order.until_ms),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use fusewire::core::Lease;

    /// When the samples were seen.
    pub(in super::super) const NOW_MS: u64 = 1_796_133_723_000;

    /// A domain as a policy tells of it: closed, and this is its record.
    pub(in super::super) fn state(domain: &str, stored: Option<&str>) -> DomainState {
        DomainState {
            domain: domain.to_owned(),
            phase: Phase::Closed,
            epoch: 0,
            until_ms: 0,
            openings: 0,
            probes_passed: 0,
            lease: None,
            order: None,
            successes: 0,
            failures: 0,
            slow: 0,
            retries: 0,
            stored: stored.map(str::to_owned),
        }
    }

    /// One that the failures have opened for a minute.
    pub(in super::super) fn open(domain: &str) -> DomainState {
        DomainState {
            phase: Phase::Open,
            until_ms: NOW_MS + 60_000,
            openings: 1,
            failures: 5,
            ..state(domain, Some(r#"{"rule":"failures"}"#))
        }
    }

    /// This order, for another minute.
    pub(in super::super) fn order(mode: OverrideMode) -> Option<OverrideOrder> {
        Some(OverrideOrder {
            mode,
            enforce_percent: 0,
            who: "on-call@desk".into(),
            why: "a test".into(),
            until_ms: NOW_MS + 60_000,
        })
    }

    #[test]
    fn it_is_closed_where_neither_the_breaker_nor_an_order_nor_a_hold_keeps_calls_away() {
        let held = format!(r#"{{"hold":{{"until":{},"why":"throttled"}}}}"#, NOW_MS + 1);
        let over = format!(r#"{{"hold":{{"until":{NOW_MS},"why":"throttled"}}}}"#);
        let ordered = |state: DomainState, mode| DomainState {
            order: order(mode),
            ..state
        };
        let closed = |name| state(name, None);
        for (state, standing, is_closed) in [
            (closed("a"), Standing::Closed, true),
            (open("a"), Standing::Open, false),
            (state("a", Some(&held)), Standing::Held, false),
            (state("a", Some(&over)), Standing::Closed, true),
            (
                ordered(closed("a"), OverrideMode::Open),
                Standing::ForcedOpen,
                false,
            ),
            (ordered(closed("a"), OverrideMode::Off), Standing::Off, true),
            (
                ordered(open("a"), OverrideMode::Closed),
                Standing::ForcedClosed,
                false,
            ),
            (
                ordered(open("a"), OverrideMode::Observe),
                Standing::Observed,
                false,
            ),
        ] {
            let look = Look::new(state, NOW_MS);
            assert_eq!(
                (look.standing, look.closed),
                (standing, is_closed),
                "{look:?}"
            );
        }
    }

    #[test]
    fn a_lease_whose_time_is_over_is_nobodys() {
        let leased = |expires_ms| {
            let lease = Some(Lease {
                token: "t".into(),
                owner: "host-1".into(),
                expires_ms,
            });
            let half_open = DomainState {
                phase: Phase::HalfOpen,
                lease,
                ..state("a", None)
            };
            Look::new(half_open, NOW_MS)
        };
        assert_eq!(leased(NOW_MS).probe, None);
        assert_eq!(leased(NOW_MS + 1).until_ms(), Some(NOW_MS + 1));
    }

    #[test]
    fn what_its_policy_says_of_a_ramp_is_seen_and_nothing_else_is_made_of_it() {
        let lately = DomainState {
            epoch: NOW_MS - 4_000,
            ..state("a", Some("{}"))
        };
        let look = Look::new(lately, NOW_MS);
        assert!(look.may_ramp());
        let fact = |subject: &str, value: &str| Fact {
            subject: subject.into(),
            value: value.into(),
            says: String::new(),
        };
        assert_eq!(look.clone().ramps(&[fact("phase", "closed")]), look);
        assert_eq!(look.clone().ramps(&[fact("ramp", "soon")]), look);
        let ramping = look.ramps(&[fact("ramp", "6000")]);
        assert_eq!(ramping.standing, Standing::Ramp);
        assert_eq!(ramping.until_ms(), Some(NOW_MS + 6_000));
        assert!(ramping.closed && ramping.may_pass());
        let long_ago = state("a", Some("{}"));
        assert!(!Look::new(long_ago, NOW_MS).may_ramp());
    }
}
