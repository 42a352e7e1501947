//! What a status or a failure means. A policy judges every observation; here in two small tables.

use crate::bindings::exports::fusewire::policy::classifier::{
    Blame, Effect, Observation, Outcome, Response, TransportFailure as F, Verdict,
};

/// The least wait after a provider has turned a call away and not said how long, in ms.
const TURNED_AWAY_MS: u64 = 1_000;
/// The longest Retry-After that is believed, in ms: an hour.
const RETRY_AFTER_MAX_MS: u64 = 3_600_000;

/// Whether the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Never,
    /// Where it does no harm: the request may have been processed.
    IfIdempotent,
    /// It was not processed.
    Always,
}

/// A row of the tables.
#[derive(Debug, Clone, Copy)]
struct Row {
    outcome: Outcome,
    effect: Effect,
    blame: Blame,
    again: Again,
    /// Whether to ask another provider.
    elsewhere: bool,
    /// The least wait where the provider names none, in ms.
    wait_ms: u64,
    reason: &'static str,
}

impl Row {
    /// The provider's failure: what throttles it.
    const fn failure(outcome: Outcome, again: Again, reason: &'static str) -> Self {
        Self {
            outcome,
            effect: Effect::Failure,
            blame: Blame::Provider,
            again,
            elsewhere: true,
            wait_ms: 0,
            reason,
        }
    }

    /// Nothing that says anything of the provider.
    const fn neutral(outcome: Outcome, blame: Blame, reason: &'static str) -> Self {
        Self {
            outcome,
            effect: Effect::Neutral,
            blame,
            again: Again::Never,
            elsewhere: false,
            wait_ms: 0,
            reason,
        }
    }
}

/// Judges one attempt.
pub(crate) fn classify(seen: &Observation) -> Verdict {
    let (rule, row) = match (seen.failure, &seen.response) {
        // An answer that broke off is no answer.
        (Some(failure), _) => transport(failure, seen),
        (None, Some(response)) => (format!("status/{}", response.status), status(response)),
        (None, None) => {
            let reason = "neither an answer nor a failure was seen";
            let row = Row::neutral(Outcome::Cancelled, Blame::Nobody, reason);
            ("nothing".into(), row)
        }
    };
    let good = row.effect == Effect::Success;
    let hint = seen.response.as_ref().and_then(retry_after_ms);
    let hint = hint.filter(|_| !good);
    let repeatable = match row.again {
        Again::Always => true,
        Again::IfIdempotent => seen.idempotent,
        Again::Never => false,
    };
    Verdict {
        outcome: row.outcome,
        effect: row.effect,
        blame: row.blame,
        retry_same: repeatable && !seen.delivered_partial,
        next_provider: row.elsewhere && !seen.delivered_partial,
        min_delay_ms: hint.unwrap_or(row.wait_ms),
        retry_after_ms: hint,
        slow: false,
        rule,
        reason: row.reason.into(),
    }
}

fn status(response: &Response) -> Row {
    use Again::{Always, IfIdempotent};
    match response.status {
        200..=399 => Row {
            effect: Effect::Success,
            ..Row::neutral(Outcome::Success, Blame::Nobody, "the provider answered")
        },
        401..=403 | 407 => Row {
            elsewhere: true,
            ..Row::neutral(
                Outcome::QuotaOrAuth,
                Blame::Account,
                "the provider rejects the credential",
            )
        },
        // To be turned away is what this policy is about: 429 is the provider's word that it is
        // asked too much, and asking less is the answer to it.
        429 => Row {
            wait_ms: TURNED_AWAY_MS,
            ..Row::failure(
                Outcome::Throttled,
                Always,
                "the provider is asked more than it allows",
            )
        },
        408 => Row::failure(
            Outcome::Transient,
            IfIdempotent,
            "the provider stopped waiting for the request",
        ),
        400..=499 | 501 | 505 => Row::neutral(
            Outcome::CallerError,
            Blame::Caller,
            "the provider rejects the request",
        ),
        503 => Row {
            wait_ms: TURNED_AWAY_MS,
            ..Row::failure(
                Outcome::Transient,
                IfIdempotent,
                "the provider is out of service",
            )
        },
        _ => Row::failure(Outcome::Transient, IfIdempotent, "the provider failed"),
    }
}

fn transport(failure: F, seen: &Observation) -> (String, Row) {
    use Again::{Always, IfIdempotent, Never};
    let (rule, row) = match failure {
        F::ConnectRefused
        | F::ConnectTimeout
        | F::DnsTemporary
        | F::TlsHandshake
        | F::RefusedStream => (
            "unprocessed",
            Row::failure(
                Outcome::Transient,
                Always,
                "the request did not reach the provider",
            ),
        ),
        F::DnsNotFound | F::TlsCertificate | F::TooManyRedirects => (
            "misconfigured",
            Row::failure(
                Outcome::ProviderDown,
                Never,
                "the provider cannot be reached as it is set up",
            ),
        ),
        F::StaleConnection | F::Goaway => (
            "connection-ended",
            Row {
                again: Always,
                ..Row::neutral(
                    Outcome::Transient,
                    Blame::Nobody,
                    "a connection ended in good order",
                )
            },
        ),
        F::BreakerOpen | F::LocalResources | F::NetworkUnreachable => (
            "not-sent",
            Row {
                elsewhere: true,
                ..Row::neutral(
                    Outcome::Transient,
                    Blame::Nobody,
                    "nothing was sent, for a reason on this side",
                )
            },
        ),
        F::InvalidRequest => (
            "invalid-request",
            Row::neutral(
                Outcome::CallerError,
                Blame::Caller,
                "the request cannot be built",
            ),
        ),
        // A provider that hangs until every caller has left has failed; one that was not given the
        // time it needs has not.
        F::CallerDeadline if seen.latency_ms >= seen.minimum_budget_ms.unwrap_or(0) => (
            "caller-deadline",
            Row::failure(
                Outcome::Transient,
                Never,
                "the provider did not answer within the caller's deadline",
            ),
        ),
        F::CallerDeadline | F::DeadlineBeforeSend | F::Cancelled | F::Shutdown => (
            "cancelled",
            Row::neutral(
                Outcome::Cancelled,
                Blame::Nobody,
                "nobody waits for the answer any more",
            ),
        ),
        F::Reset
        | F::ResetMidBody
        | F::ReadTimeout
        | F::TotalTimeout
        | F::IncompleteBody
        | F::ContentDecoding
        | F::Protocol
        | F::Other => (
            "broken-off",
            Row::failure(
                Outcome::Transient,
                IfIdempotent,
                "the provider did not bring its answer to an end",
            ),
        ),
    };
    (format!("transport/{rule}"), row)
}

/// Retry-After in seconds (RFC 9110, section 10.2.3). One with a date is taken as none.
fn retry_after_ms(response: &Response) -> Option<u64> {
    let field = response
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("retry-after"))?;
    let seconds: u64 = field.value.trim_ascii().parse().ok()?;
    let ms = seconds.saturating_mul(1_000).min(RETRY_AFTER_MAX_MS);
    (ms > 0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::fusewire::policy::classifier::{Field, Media};
    use proptest::prelude::*;

    fn nothing() -> Observation {
        Observation {
            response: None,
            failure: None,
            cause: None,
            latency_ms: 100,
            now_ms: 1_000,
            idempotent: true,
            delivered_partial: false,
            expect: Media::Any,
            minimum_budget_ms: None,
        }
    }

    fn answer(status: u16, retry_after: Option<&str>) -> Observation {
        let field = |value: &str| Field {
            name: "Retry-After".into(),
            value: value.into(),
        };
        let response = Response {
            status,
            headers: retry_after.map(field).into_iter().collect(),
            trailers: vec![],
            body: None,
        };
        Observation {
            response: Some(response),
            ..nothing()
        }
    }

    fn failed(failure: F) -> Observation {
        Observation {
            failure: Some(failure),
            ..nothing()
        }
    }

    #[test]
    fn the_providers_failures_are_told_from_everybody_elses() {
        for (seen, effect, blame) in [
            (answer(200, None), Effect::Success, Blame::Nobody),
            (answer(304, None), Effect::Success, Blame::Nobody),
            (answer(404, None), Effect::Neutral, Blame::Caller),
            (answer(403, None), Effect::Neutral, Blame::Account),
            (answer(429, None), Effect::Failure, Blame::Provider),
            (answer(503, None), Effect::Failure, Blame::Provider),
            (answer(0, None), Effect::Failure, Blame::Provider),
            (failed(F::ReadTimeout), Effect::Failure, Blame::Provider),
            (failed(F::Cancelled), Effect::Neutral, Blame::Nobody),
            (failed(F::LocalResources), Effect::Neutral, Blame::Nobody),
            (failed(F::CallerDeadline), Effect::Failure, Blame::Provider),
            (nothing(), Effect::Neutral, Blame::Nobody),
        ] {
            let verdict = classify(&seen);
            assert_eq!((verdict.effect, verdict.blame), (effect, blame), "{seen:?}");
        }
    }

    #[test]
    fn an_answer_that_broke_off_is_a_failure_whatever_its_status() {
        let seen = Observation {
            failure: Some(F::ResetMidBody),
            ..answer(200, None)
        };
        assert_eq!(classify(&seen).rule, "transport/broken-off");
    }

    #[test]
    fn a_deadline_that_left_too_little_time_is_not_the_providers_failure() {
        let seen = Observation {
            minimum_budget_ms: Some(101),
            ..failed(F::CallerDeadline)
        };
        assert_eq!(classify(&seen).outcome, Outcome::Cancelled);
    }

    #[test]
    fn only_what_does_no_harm_is_repeated() {
        let again = |seen: Observation| classify(&seen).retry_same;
        let once = |seen| Observation {
            idempotent: false,
            ..seen
        };
        assert!(again(answer(500, None)) && !again(once(answer(500, None))));
        assert!(again(once(failed(F::ConnectRefused))));
        let partly = Observation {
            delivered_partial: true,
            ..failed(F::ResetMidBody)
        };
        let verdict = classify(&partly);
        assert!(!verdict.retry_same && !verdict.next_provider);
    }

    #[test]
    fn a_wait_is_the_providers_own_where_it_makes_sense() {
        for (text, hint, wait) in [
            (None, None, 1_000),
            (Some("7"), Some(7_000), 7_000),
            (Some("999999999999999999"), Some(3_600_000), 3_600_000),
            (Some("0"), None, 1_000),
            (Some("-3"), None, 1_000),
            (Some("Thu, 01 Jan 2026 00:00:09 GMT"), None, 1_000),
        ] {
            let verdict = classify(&answer(429, text));
            assert_eq!(
                (verdict.retry_after_ms, verdict.min_delay_ms),
                (hint, wait),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_status_has_a_verdict_that_agrees_with_itself(status: u16, hint: Option<String>) {
            let verdict = classify(&answer(status, hint.as_deref()));
            prop_assert_eq!(verdict.effect == Effect::Failure, verdict.blame == Blame::Provider);
            prop_assert!(verdict.min_delay_ms <= RETRY_AFTER_MAX_MS);
        }
    }
}
