//! Arguments: the contract's types to the core's.

use fusewire_core as core;

use crate::contract::exports::fusewire::policy::attempts as a;
use crate::contract::exports::fusewire::policy::breaker as b;
use crate::contract::exports::fusewire::policy::classifier as c;
use crate::contract::exports::fusewire::policy::operator as o;
use crate::contract::exports::fusewire::policy::planner as p;

/// An enum whose members have the same names on both sides.
macro_rules! same_names {
    ($function:ident, $from:path => $to:path, $($member:ident)*) => {
        pub(crate) fn $function(from: $from) -> $to {
            use $from as From;
            use $to as To;
            match from { $(From::$member => To::$member,)* }
        }
    };
}
pub(crate) use same_names;

same_names!(failure, c::TransportFailure => core::TransportFailure,
    DnsNotFound DnsTemporary ConnectRefused ConnectTimeout NetworkUnreachable TlsHandshake
    TlsCertificate Reset ResetMidBody StaleConnection RefusedStream Goaway ReadTimeout TotalTimeout
    IncompleteBody ContentDecoding Protocol TooManyRedirects InvalidRequest CallerDeadline
    DeadlineBeforeSend BreakerOpen LocalResources Cancelled Shutdown Other);
same_names!(media, c::Media => core::Media, Any Json Xml Image VectorTile);
same_names!(outcome, c::Outcome => core::Outcome,
    Success NoResult CallerError Throttled QuotaOrAuth Transient ProviderDown Cancelled);
same_names!(effect, c::Effect => core::Effect, Success SlowSuccess Failure Neutral);
same_names!(blame, c::Blame => core::Blame, Nobody Caller Provider Account Operation);
same_names!(override_mode, b::OverrideMode => core::OverrideMode, Open Closed Off Observe);

pub(crate) fn target(from: c::Target) -> core::Target {
    core::Target {
        provider: from.provider,
        account: from.account,
        operation: from.operation,
    }
}

fn fields(from: Vec<c::Field>) -> Vec<core::Field> {
    from.into_iter()
        .map(|f| core::Field {
            name: f.name,
            value: f.value,
        })
        .collect()
}

fn response(from: c::Response) -> core::Response {
    core::Response {
        status: from.status,
        headers: fields(from.headers),
        trailers: fields(from.trailers),
        body: from.body,
    }
}

pub(crate) fn observation(from: c::Observation) -> core::Observation {
    core::Observation {
        response: from.response.map(response),
        failure: from.failure.map(failure),
        cause: from.cause,
        latency_ms: from.latency_ms,
        now_ms: from.now_ms,
        idempotent: from.idempotent,
        delivered_partial: from.delivered_partial,
        expect: media(from.expect),
        minimum_budget_ms: from.minimum_budget_ms,
    }
}

pub(crate) fn verdict(from: c::Verdict) -> core::Verdict {
    core::Verdict {
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

pub(crate) fn context(from: b::Context) -> core::Context {
    core::Context {
        now_ms: from.now_ms,
        entropy: from.entropy,
        instance: from.instance,
        call_limit_ms: from.call_limit_ms,
        fingerprint: from.fingerprint,
    }
}

pub(crate) fn permit(from: b::Permit) -> core::Permit {
    core::Permit {
        target: target(from.target),
        probe: from.probe,
        token: from.token,
    }
}

pub(crate) fn ending(from: b::Ending) -> core::Ending {
    match from {
        b::Ending::Judged(judged) => core::Ending::Judged(verdict(judged)),
        b::Ending::Dropped => core::Ending::Dropped,
    }
}

pub(crate) fn timing(from: a::Timing) -> core::Timing {
    core::Timing {
        latency_ms: from.latency_ms,
        overdue: from.overdue,
    }
}

pub(crate) fn share_order(from: o::Order) -> core::OverrideOrder {
    core::OverrideOrder {
        mode: override_mode(from.mode),
        enforce_percent: from.enforce_percent,
        who: from.who,
        why: from.why,
        until_ms: from.until_ms,
    }
}

pub(crate) fn order(from: b::OverrideOrder) -> core::OverrideOrder {
    core::OverrideOrder {
        mode: override_mode(from.mode),
        enforce_percent: 0,
        who: from.who,
        why: from.why,
        until_ms: from.until_ms,
    }
}

pub(crate) fn progress(from: p::Progress) -> core::Progress {
    core::Progress {
        target: target(from.target),
        attempts: from.attempts,
        attempts_in_all: from.attempts_in_all,
        providers_left: from.providers_left,
        probe: from.probe,
        deadline_ms: from.deadline_ms,
    }
}
