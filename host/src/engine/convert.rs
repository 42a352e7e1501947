//! The component's types and the core's: arguments in one direction, answers in the other. The
//! mirror image of `given` and `answer` in policy/component/bindings; knows no rule.

use fusewire_core as core;

use super::evidence;
use super::instance::bindings::exports::fusewire::policy::{
    attempts as a, breaker as b, classifier as c, evidence as e, lifecycle as l, operator as o,
    planner as p,
};
use super::instance::bindings::fusewire::policy::keyvalue as k;

/// An enum whose members have the same names on both sides.
macro_rules! same_names {
    ($function:ident, $from:path => $to:path, $($member:ident)*) => {
        fn $function(from: $from) -> $to {
            use $from as From;
            use $to as To;
            match from { $(From::$member => To::$member,)* }
        }
    };
}

/// The same, in both directions.
macro_rules! both_ways {
    ($given:ident, $answer:ident, $core:path, $contract:path, $($member:ident)*) => {
        same_names!($given, $core => $contract, $($member)*);
        same_names!($answer, $contract => $core, $($member)*);
    };
}

same_names!(failure, core::TransportFailure => c::TransportFailure,
    DnsNotFound DnsTemporary ConnectRefused ConnectTimeout NetworkUnreachable TlsHandshake
    TlsCertificate Reset ResetMidBody StaleConnection RefusedStream Goaway ReadTimeout TotalTimeout
    IncompleteBody ContentDecoding Protocol TooManyRedirects InvalidRequest CallerDeadline
    DeadlineBeforeSend BreakerOpen LocalResources Cancelled Shutdown Other);
same_names!(media, core::Media => c::Media, Any Json Xml Image VectorTile);
same_names!(phase, b::Phase => core::Phase, Closed Open HalfOpen);
same_names!(refusal_reason, b::RefusalReason => core::RefusalReason,
    Open ProbeInFlight Ramp Hold Override Store InvalidTarget);
same_names!(probe_outcome, b::ProbeOutcome => core::ProbeOutcome, Passed Failed Neutral Expired);
same_names!(ignored_reason, b::IgnoredReason => core::IgnoredReason,
    Stale LeaseLost Late Unshared InvalidPermit);
both_ways!(outcome, outcome_answer, core::Outcome, c::Outcome,
    Success NoResult CallerError Throttled QuotaOrAuth Transient ProviderDown Cancelled);
both_ways!(effect, effect_answer, core::Effect, c::Effect, Success SlowSuccess Failure Neutral);
both_ways!(blame, blame_answer, core::Blame, c::Blame, Nobody Caller Provider Account Operation);
both_ways!(mode, mode_answer, core::OverrideMode, b::OverrideMode, Open Closed Off Observe);

// Arguments, borrowed: they are copied once, into the component's memory.

pub(super) fn target(from: &core::Target) -> c::TargetParam<'_> {
    c::TargetParam {
        provider: &from.provider,
        account: from.account.as_deref(),
        operation: from.operation.as_deref(),
    }
}

fn fields(from: &[core::Field], is_wanted: impl Fn(&str) -> bool) -> Vec<c::Field<'_>> {
    from.iter()
        .filter(|f| is_wanted(&f.name))
        .map(|f| c::Field {
            name: &f.name,
            value: &f.value,
        })
        .collect()
}

/// What a policy looks at of a response, in the contract's form, to be borrowed from. Each field that
/// is left out saves the component an allocation.
pub(super) struct Seen<'a> {
    headers: Vec<c::Field<'a>>,
    trailers: Vec<c::Field<'a>>,
    body: Option<&'a [u8]>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(from: &'a core::Observation, wanted: &core::Wanted) -> Self {
        let Some(response) = &from.response else {
            return Self {
                headers: Vec::new(),
                trailers: Vec::new(),
                body: None,
            };
        };
        let most = evidence::body_bytes(wanted, from);
        let body = response.body.as_deref().filter(|_| most > 0);
        Self {
            headers: fields(&response.headers, |name| {
                evidence::wants_header(wanted, name)
            }),
            trailers: fields(&response.trailers, |_| wanted.trailers),
            body: body.map(|body| body.get(..most).unwrap_or(body)),
        }
    }
}

pub(super) fn observation<'a>(
    from: &'a core::Observation,
    seen: &'a Seen<'a>,
) -> c::Observation<'a> {
    c::Observation {
        response: from.response.as_ref().map(|response| c::Response {
            status: response.status,
            headers: &seen.headers,
            trailers: &seen.trailers,
            body: seen.body,
        }),
        failure: from.failure.map(failure),
        cause: from.cause.as_deref(),
        latency_ms: from.latency_ms,
        now_ms: from.now_ms,
        idempotent: from.idempotent,
        delivered_partial: from.delivered_partial,
        expect: media(from.expect),
        minimum_budget_ms: from.minimum_budget_ms,
    }
}

pub(super) fn judged(from: &core::Verdict) -> c::VerdictParam<'_> {
    c::VerdictParam {
        outcome: outcome(from.outcome),
        effect: effect(from.effect),
        blame: blame(from.blame),
        retry_same: from.retry_same,
        next_provider: from.next_provider,
        min_delay_ms: from.min_delay_ms,
        retry_after_ms: from.retry_after_ms,
        slow: from.slow,
        rule: &from.rule,
        reason: &from.reason,
    }
}

pub(super) fn context(from: &core::Context) -> b::Context<'_> {
    b::Context {
        now_ms: from.now_ms,
        entropy: from.entropy,
        instance: &from.instance,
        call_limit_ms: from.call_limit_ms,
        fingerprint: from.fingerprint,
    }
}

pub(super) fn permit(from: &core::Permit) -> b::PermitParam<'_> {
    b::PermitParam {
        target: target(&from.target),
        probe: from.probe,
        token: &from.token,
    }
}

pub(super) fn ending(from: &core::Ending) -> b::Ending<'_> {
    match from {
        core::Ending::Judged(verdict) => b::Ending::Judged(judged(verdict)),
        core::Ending::Dropped => b::Ending::Dropped,
    }
}

pub(super) fn order(from: &core::OverrideOrder) -> b::OverrideOrderParam<'_> {
    b::OverrideOrderParam {
        mode: mode(from.mode),
        who: &from.who,
        why: &from.why,
        until_ms: from.until_ms,
    }
}

/// The same for `operator`, with the share that is enforced.
pub(super) fn share_order(from: &core::OverrideOrder) -> o::Order<'_> {
    o::Order {
        mode: mode(from.mode),
        enforce_percent: from.enforce_percent,
        who: &from.who,
        why: &from.why,
        until_ms: from.until_ms,
    }
}

pub(super) fn timing(from: core::Timing) -> a::Timing {
    a::Timing {
        latency_ms: from.latency_ms,
        overdue: from.overdue,
    }
}

pub(super) fn progress(from: &core::Progress) -> p::Progress<'_> {
    p::Progress {
        target: target(&from.target),
        attempts: from.attempts,
        attempts_in_all: from.attempts_in_all,
        providers_left: from.providers_left,
        probe: from.probe,
        deadline_ms: from.deadline_ms,
    }
}

pub(super) fn tally(from: core::Tally) -> k::Tally {
    let lane = |lane: core::Lane| k::Lane {
        name: lane.name,
        amount: lane.amount,
    };
    k::Tally {
        epoch: from.epoch,
        lanes: from.lanes.into_iter().map(lane).collect(),
    }
}

// Answers.

pub(super) fn window(from: k::Window) -> core::Window {
    let lane = |lane: k::Lane| core::Lane {
        name: lane.name,
        amount: lane.amount,
    };
    core::Window {
        key: from.key,
        epoch: from.epoch,
        bucket: from.bucket,
        add: from.add.into_iter().map(lane).collect(),
        since: from.since,
        ttl_ms: from.ttl_ms,
    }
}

pub(super) fn description(from: l::Description) -> core::Description {
    core::Description {
        name: from.name,
        version: from.version,
        record_schema: from.record_schema,
    }
}

pub(super) fn problem(from: l::Problem) -> core::Problem {
    core::Problem {
        path: from.path,
        wrong: from.wrong,
        right: from.right,
    }
}

pub(super) fn verdict(from: c::VerdictResult) -> core::Verdict {
    core::Verdict {
        outcome: outcome_answer(from.outcome),
        effect: effect_answer(from.effect),
        blame: blame_answer(from.blame),
        retry_same: from.retry_same,
        next_provider: from.next_provider,
        min_delay_ms: from.min_delay_ms,
        retry_after_ms: from.retry_after_ms,
        slow: from.slow,
        rule: from.rule,
        reason: from.reason,
    }
}

pub(super) fn wanted(from: e::Want) -> core::Wanted {
    core::Wanted {
        body_bytes: from.body_bytes,
        headers: from.headers,
        trailers: from.trailers,
    }
}

pub(super) fn suspended(from: b::Suspended) -> core::Suspended {
    core::Suspended {
        answered: from.answered,
    }
}

fn target_answer(from: c::TargetResult) -> core::Target {
    core::Target {
        provider: from.provider,
        account: from.account,
        operation: from.operation,
    }
}

fn decision(from: b::Decision) -> core::Decision {
    match from {
        b::Decision::Allowed(permit) => core::Decision::Allowed(core::Permit {
            target: target_answer(permit.target),
            probe: permit.probe,
            token: permit.token,
        }),
        b::Decision::Refused(refusal) => core::Decision::Refused(core::Refusal {
            domain: refusal.domain,
            reason: refusal_reason(refusal.reason),
            retry_after_ms: refusal.retry_after_ms,
            detail: refusal.detail,
        }),
    }
}

pub(super) fn admission(from: b::Admission) -> core::Admission {
    core::Admission {
        decision: decision(from.decision),
        holds_until_ms: from.holds_until_ms,
        limits: core::Limits::default(),
        events: events(from.events),
    }
}

/// As [`admission`], of `attempts`.
pub(super) fn limited_admission(from: a::Admission) -> core::Admission {
    core::Admission {
        decision: decision(from.decision),
        holds_until_ms: from.holds_until_ms,
        limits: core::Limits {
            total_ms: from.limits.total_ms,
            overdue_ms: from.limits.overdue_ms,
        },
        events: all_events(from.events),
    }
}

fn transition(from: b::Transition) -> core::Transition {
    core::Transition {
        before: phase(from.before),
        after: phase(from.after),
        rule: from.rule,
        until_ms: from.until_ms,
        openings: from.openings,
    }
}

/// Events with the kinds that both sides have, and those that one of them has besides.
macro_rules! events {
    ($function:ident, $contract:ident, $($more:tt)*) => {
        pub(super) fn $function(from: Vec<$contract::Event>) -> Vec<core::Event> {
            use $contract::EventKind as From;
            use core::EventKind as To;
            let kind = |from| match from {
                From::Transition(t) => To::Transition(transition(t)),
                From::Probe(outcome) => To::Probe(probe_outcome(outcome)),
                From::Ignored(reason) => To::Ignored(ignored_reason(reason)),
                From::Ordered(mode) => To::Ordered(mode.map(mode_answer)),
                From::Store(why) => To::Store(why),
                $($more)*
            };
            let event = |event: $contract::Event| core::Event {
                domain: event.domain,
                at_ms: event.at_ms,
                kind: kind(event.kind),
                detail: event.detail,
            };
            from.into_iter().map(event).collect()
        }
    };
}

events!(events, b,);
events!(all_events, a,
    From::Alone(t) => To::Alone(transition(t)),
    From::Held(until_ms) => To::Held(until_ms),
    From::Reshaped => To::Reshaped,
);

pub(super) fn fact(from: o::Fact) -> core::Fact {
    core::Fact {
        subject: from.subject,
        value: from.value,
        says: from.says,
    }
}

/// How much of refusals is enforced while an order to observe is in force. The contract's
/// `domain-state` came before that was possible and has no place for it, so it is taken from the
/// record; a record of another form says nothing of it.
fn enforced(stored: Option<&str>) -> u32 {
    let record = stored.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let percent = record
        .as_ref()
        .and_then(|record| record["override"]["enforce"].as_u64());
    percent.map_or(0, |percent| u32::try_from(percent.min(100)).unwrap_or(100))
}

pub(super) fn state(from: b::DomainState) -> core::DomainState {
    core::DomainState {
        domain: from.domain,
        phase: phase(from.phase),
        epoch: from.epoch,
        until_ms: from.until_ms,
        openings: from.openings,
        probes_passed: from.probes_passed,
        lease: from.lease.map(|lease| core::Lease {
            token: lease.token,
            owner: lease.owner,
            expires_ms: lease.expires_ms,
        }),
        order: from.order.map(|order| core::OverrideOrder {
            mode: mode_answer(order.mode),
            enforce_percent: match order.mode {
                b::OverrideMode::Observe => enforced(from.stored.as_deref()),
                _ => 0,
            },
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

pub(super) fn override_error(from: b::OverrideError) -> core::OverrideError {
    match from {
        b::OverrideError::Suspended(s) => core::OverrideError::Suspended(suspended(s)),
        b::OverrideError::Store(why) => core::OverrideError::Store(why),
        b::OverrideError::Invalid(why) => core::OverrideError::Invalid(why),
        b::OverrideError::Contended => core::OverrideError::Contended,
    }
}

pub(super) fn step(from: p::Step) -> core::Step {
    match from {
        p::Step::Done => core::Step::Done,
        p::Step::Retry(delay_ms) => core::Step::Retry(delay_ms),
        p::Step::NextProvider => core::Step::NextProvider,
        p::Step::GiveUp(why) => core::Step::GiveUp(why),
    }
}
