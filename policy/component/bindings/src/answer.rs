//! Answers: the core's types to the contract's.

use fusewire_core as core;

use crate::contract::exports::fusewire::policy::attempts as a;
use crate::contract::exports::fusewire::policy::breaker as b;
use crate::contract::exports::fusewire::policy::classifier as c;
use crate::contract::exports::fusewire::policy::evidence as e;
use crate::contract::exports::fusewire::policy::lifecycle as l;
use crate::contract::exports::fusewire::policy::operator as o;
use crate::contract::exports::fusewire::policy::planner as p;
use crate::given::same_names;

same_names!(outcome, core::Outcome => c::Outcome,
    Success NoResult CallerError Throttled QuotaOrAuth Transient ProviderDown Cancelled);
same_names!(effect, core::Effect => c::Effect, Success SlowSuccess Failure Neutral);
same_names!(blame, core::Blame => c::Blame, Nobody Caller Provider Account Operation);
same_names!(phase, core::Phase => b::Phase, Closed Open HalfOpen);
same_names!(refusal_reason, core::RefusalReason => b::RefusalReason,
    Open ProbeInFlight Ramp Hold Override Store InvalidTarget);
same_names!(probe_outcome, core::ProbeOutcome => b::ProbeOutcome, Passed Failed Neutral Expired);
same_names!(ignored_reason, core::IgnoredReason => b::IgnoredReason,
    Stale LeaseLost Late Unshared InvalidPermit);
same_names!(override_mode, core::OverrideMode => b::OverrideMode, Open Closed Off Observe);

pub(crate) fn description(from: core::Description) -> l::Description {
    l::Description {
        name: from.name,
        version: from.version,
        record_schema: from.record_schema,
    }
}

pub(crate) fn problem(from: core::Problem) -> l::Problem {
    l::Problem {
        path: from.path,
        wrong: from.wrong,
        right: from.right,
    }
}

pub(crate) fn verdict(from: core::Verdict) -> c::Verdict {
    c::Verdict {
        outcome: outcome(from.outcome),
        effect: effect(from.effect),
        blame: blame(from.blame),
        retry_same: from.retry_same,
        next_provider: from.next_provider,
        min_delay_ms: from.min_delay_ms,
        retry_after_ms: from.retry_after_ms,
        slow: from.slow,
        rule: from.rule,
        reason: from.reason,
    }
}

pub(crate) fn wanted(from: core::Wanted) -> e::Want {
    e::Want {
        body_bytes: from.body_bytes,
        headers: from.headers,
        trailers: from.trailers,
    }
}

pub(crate) fn suspended(from: core::Suspended) -> b::Suspended {
    b::Suspended {
        answered: from.answered,
    }
}

fn target(from: core::Target) -> c::Target {
    c::Target {
        provider: from.provider,
        account: from.account,
        operation: from.operation,
    }
}

fn decision(from: core::Decision) -> b::Decision {
    match from {
        core::Decision::Allowed(permit) => b::Decision::Allowed(b::Permit {
            target: target(permit.target),
            probe: permit.probe,
            token: permit.token,
        }),
        core::Decision::Refused(refusal) => b::Decision::Refused(b::Refusal {
            domain: refusal.domain,
            reason: refusal_reason(refusal.reason),
            retry_after_ms: refusal.retry_after_ms,
            detail: refusal.detail,
        }),
    }
}

pub(crate) fn admission(from: core::Admission) -> b::Admission {
    b::Admission {
        decision: decision(from.decision),
        holds_until_ms: from.holds_until_ms,
        events: events(from.events),
    }
}

fn transition(from: core::Transition) -> b::Transition {
    b::Transition {
        before: phase(from.before),
        after: phase(from.after),
        rule: from.rule,
        until_ms: from.until_ms,
        openings: from.openings,
    }
}

/// `None`: of a kind that the first contract has no word for.
fn event_kind(from: core::EventKind) -> Option<b::EventKind> {
    Some(match from {
        core::EventKind::Transition(t) => b::EventKind::Transition(transition(t)),
        core::EventKind::Probe(outcome) => b::EventKind::Probe(probe_outcome(outcome)),
        core::EventKind::Ignored(reason) => b::EventKind::Ignored(ignored_reason(reason)),
        core::EventKind::Ordered(mode) => b::EventKind::Ordered(mode.map(override_mode)),
        core::EventKind::Store(why) => b::EventKind::Store(why),
        core::EventKind::Alone(_) | core::EventKind::Held(_) | core::EventKind::Reshaped => {
            return None;
        }
    })
}

pub(crate) fn events(from: Vec<core::Event>) -> Vec<b::Event> {
    from.into_iter()
        .filter_map(|event| {
            Some(b::Event {
                domain: event.domain,
                at_ms: event.at_ms,
                kind: event_kind(event.kind)?,
                detail: event.detail,
            })
        })
        .collect()
}

fn limits(from: core::Limits) -> a::Limits {
    a::Limits {
        total_ms: from.total_ms,
        overdue_ms: from.overdue_ms,
    }
}

pub(crate) fn attempt(from: core::Admission) -> a::Admission {
    a::Admission {
        decision: decision(from.decision),
        holds_until_ms: from.holds_until_ms,
        limits: limits(from.limits),
        events: all_events(from.events),
    }
}

fn any_event_kind(from: core::EventKind) -> a::EventKind {
    match from {
        core::EventKind::Transition(t) => a::EventKind::Transition(transition(t)),
        core::EventKind::Probe(outcome) => a::EventKind::Probe(probe_outcome(outcome)),
        core::EventKind::Ignored(reason) => a::EventKind::Ignored(ignored_reason(reason)),
        core::EventKind::Ordered(mode) => a::EventKind::Ordered(mode.map(override_mode)),
        core::EventKind::Store(why) => a::EventKind::Store(why),
        core::EventKind::Alone(t) => a::EventKind::Alone(transition(t)),
        core::EventKind::Held(until_ms) => a::EventKind::Held(until_ms),
        core::EventKind::Reshaped => a::EventKind::Reshaped,
    }
}

pub(crate) fn all_events(from: Vec<core::Event>) -> Vec<a::Event> {
    from.into_iter()
        .map(|event| a::Event {
            domain: event.domain,
            at_ms: event.at_ms,
            kind: any_event_kind(event.kind),
            detail: event.detail,
        })
        .collect()
}

pub(crate) fn fact(from: core::Fact) -> o::Fact {
    o::Fact {
        subject: from.subject,
        value: from.value,
        says: from.says,
    }
}

pub(crate) fn state(from: core::DomainState) -> b::DomainState {
    b::DomainState {
        domain: from.domain,
        phase: phase(from.phase),
        epoch: from.epoch,
        until_ms: from.until_ms,
        openings: from.openings,
        probes_passed: from.probes_passed,
        lease: from.lease.map(|lease| b::Lease {
            token: lease.token,
            owner: lease.owner,
            expires_ms: lease.expires_ms,
        }),
        order: from.order.map(|order| b::OverrideOrder {
            mode: override_mode(order.mode),
            who: order.who,
            why: order.why,
            until_ms: order.until_ms,
        }),
        successes: from.successes,
        failures: from.failures,
        slow: from.slow,
        retries: from.retries,
        stored: from.stored,
    }
}

pub(crate) fn override_error(from: core::OverrideError) -> b::OverrideError {
    match from {
        core::OverrideError::Suspended(s) => b::OverrideError::Suspended(suspended(s)),
        core::OverrideError::Store(why) => b::OverrideError::Store(why),
        core::OverrideError::Invalid(why) => b::OverrideError::Invalid(why),
        core::OverrideError::Contended => b::OverrideError::Contended,
    }
}

pub(crate) fn step(from: core::Step) -> p::Step {
    match from {
        core::Step::Done => p::Step::Done,
        core::Step::Retry(delay_ms) => p::Step::Retry(delay_ms),
        core::Step::NextProvider => p::Step::NextProvider,
        core::Step::GiveUp(why) => p::Step::GiveUp(why),
    }
}
