//! From what was observed of one attempt to what it means.
//!
//! | module | subject |
//! |---|---|
//! | [`transport`] | failures below HTTP, and calls that were never sent |
//! | [`status`] | HTTP statuses |
//! | [`hint`] | Retry-After |
//!
//! The order: a failure below HTTP decides over a status that came before it, a status over
//! nothing. Then the slow flag, which never changes an outcome, and the provider's hint, which
//! sets the least delay. A rule answers a `Finding`, a constant; this module makes the verdict of it.

pub mod hint;
pub mod status;
pub mod transport;

use crate::config::Settings;
use crate::observation::{Blame, Effect, Observation, Outcome, Verdict};

/// The least wait after a throttled call without a usable hint, in ms. Both large LLM clients
/// back off even where the server says 0.
pub const THROTTLE_FLOOR_MS: u64 = 1_000;
/// The least wait after a rejected credential, in ms: somebody has to change something.
pub const AUTH_GATE_MS: u64 = 5 * 60_000;
/// The least wait after a used-up quota without a known reset, in ms.
pub const QUOTA_GATE_MS: u64 = 60 * 60_000;

/// Whether the same request may be sent again, by what the rule knows alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// Where it does no harm: the request may have been processed.
    IfIdempotent,
    /// Nothing was processed.
    Always,
}

/// What a rule says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finding {
    outcome: Outcome,
    effect: Effect,
    blame: Blame,
    again: Again,
    next_provider: bool,
    /// The least delay without a hint, in ms.
    floor_ms: u64,
    reason: &'static str,
}

impl Finding {
    const fn new(outcome: Outcome, effect: Effect, blame: Blame, reason: &'static str) -> Self {
        Self {
            outcome,
            effect,
            blame,
            again: Again::Never,
            next_provider: false,
            floor_ms: 0,
            reason,
        }
    }

    const fn good(outcome: Outcome, reason: &'static str) -> Self {
        Self::new(outcome, Effect::Success, Blame::Nobody, reason)
    }

    /// A failure of the provider that may be gone at the next attempt.
    const fn transient(again: Again, reason: &'static str) -> Self {
        Self::new(Outcome::Transient, Effect::Failure, Blame::Provider, reason)
            .again(again)
            .elsewhere()
    }

    /// A failure of the provider that will stay for a while.
    const fn down(again: Again, reason: &'static str) -> Self {
        Self::new(
            Outcome::ProviderDown,
            Effect::Failure,
            Blame::Provider,
            reason,
        )
        .again(again)
        .elsewhere()
    }

    const fn caller(reason: &'static str) -> Self {
        Self::new(Outcome::CallerError, Effect::Neutral, Blame::Caller, reason)
    }

    const fn throttled(reason: &'static str) -> Self {
        Self::new(Outcome::Throttled, Effect::Neutral, Blame::Account, reason)
            .again(Again::Always)
            .elsewhere()
            .floor(THROTTLE_FLOOR_MS)
    }

    const fn account(floor_ms: u64, reason: &'static str) -> Self {
        Self::new(
            Outcome::QuotaOrAuth,
            Effect::Neutral,
            Blame::Account,
            reason,
        )
        .elsewhere()
        .floor(floor_ms)
    }

    const fn cancelled(reason: &'static str) -> Self {
        Self::new(Outcome::Cancelled, Effect::Neutral, Blame::Nobody, reason)
    }

    const fn again(self, again: Again) -> Self {
        Self { again, ..self }
    }

    const fn elsewhere(self) -> Self {
        Self {
            next_provider: true,
            ..self
        }
    }

    const fn floor(self, floor_ms: u64) -> Self {
        Self { floor_ms, ..self }
    }

    const fn here_only(self) -> Self {
        Self {
            next_provider: false,
            ..self
        }
    }

    const fn neutral(self) -> Self {
        Self {
            effect: Effect::Neutral,
            blame: Blame::Nobody,
            ..self
        }
    }
}

/// Judges one attempt. Total: every observation has a verdict.
#[must_use]
pub fn classify(settings: &Settings, observation: &Observation) -> Verdict {
    let hint = observation.response.as_ref().and_then(|response| {
        hint::retry_after_ms(response, observation.now_ms).map(|ms| ms.min(settings.hints.max_ms))
    });
    let (rule, finding) = match (&observation.failure, &observation.response) {
        (Some(failure), _) => (
            ["transport/", failure.name()].concat(),
            transport::find(*failure, observation),
        ),
        (None, Some(response)) => {
            let long = hint.is_some_and(|ms| ms > settings.hints.inline_ms);
            let rule = ["status/", itoa::Buffer::new().format(response.status)].concat();
            (rule, status::find(response.status, hint, long))
        }
        (None, None) => (
            "nothing".into(),
            const { &Finding::cancelled("nothing was observed") },
        ),
    };
    let slow = observation.latency_ms >= settings.slow_ms;
    let effect = match finding.effect {
        Effect::Success if slow => Effect::SlowSuccess,
        other => other,
    };
    let is_good =
        matches!(finding.effect, Effect::Success) || finding.outcome == Outcome::Cancelled;
    let min_delay_ms = match hint {
        _ if is_good => 0,
        Some(ms)
            if finding.again != Again::Never
                || finding.floor_ms > 0
                || finding.effect == Effect::Failure =>
        {
            ms.max(if finding.outcome == Outcome::QuotaOrAuth {
                0
            } else {
                finding.floor_ms
            })
        }
        _ => finding.floor_ms,
    };
    let may_repeat = match finding.again {
        Again::Never => false,
        Again::IfIdempotent => observation.idempotent,
        Again::Always => true,
    };
    Verdict {
        outcome: finding.outcome,
        effect,
        blame: finding.blame,
        retry_same: may_repeat
            && !observation.delivered_partial
            && min_delay_ms <= settings.hints.inline_ms,
        next_provider: finding.next_provider && !observation.delivered_partial,
        min_delay_ms,
        retry_after_ms: if is_good { None } else { hint },
        slow,
        rule,
        reason: finding.reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Field, Media, Response, TransportFailure};
    use proptest::prelude::*;

    const NOW: u64 = 1_767_225_600_000;

    fn judge(status: u16, headers: &[(&str, &str)]) -> Verdict {
        let mut response = Response::status(status);
        response.headers = headers
            .iter()
            .map(|(n, v)| Field {
                name: (*n).into(),
                value: (*v).into(),
            })
            .collect();
        classify(&Settings::default(), &Observation::response(response, NOW))
    }

    #[test]
    fn a_short_retry_after_is_waited_for_and_a_long_one_means_down() {
        let short = judge(503, &[("retry-after", "7")]);
        assert_eq!(
            (short.outcome, short.min_delay_ms, short.retry_same),
            (Outcome::Transient, 7_000, true)
        );
        let long = judge(503, &[("Retry-After", "120")]);
        assert_eq!(
            (long.outcome, long.min_delay_ms, long.retry_same),
            (Outcome::ProviderDown, 120_000, false)
        );
        assert_eq!(long.effect, Effect::Failure);
    }

    #[test]
    fn a_year_of_retry_after_is_clamped_to_six_hours() {
        assert_eq!(
            judge(503, &[("retry-after", "31536000")]).retry_after_ms,
            Some(6 * 3_600_000)
        );
    }

    #[test]
    fn a_throttled_call_is_never_a_failure_and_never_waits_less_than_a_second() {
        for headers in [
            &[][..],
            &[("retry-after", "0")],
            &[("retry-after", "-3")],
            &[("retry-after", "NaN")],
        ] {
            let verdict = judge(429, headers);
            assert_eq!(
                (verdict.effect, verdict.min_delay_ms),
                (Effect::Neutral, 1_000),
                "{headers:?}"
            );
        }
    }

    #[test]
    fn a_slow_success_is_a_success_with_a_flag_and_a_slow_failure_stays_a_failure() {
        let mut observation = Observation::response(Response::status(200), NOW);
        observation.latency_ms = 10_000;
        let verdict = classify(&Settings::default(), &observation);
        assert_eq!(
            (verdict.outcome, verdict.effect, verdict.slow),
            (Outcome::Success, Effect::SlowSuccess, true)
        );
        observation.response = Some(Response::status(500));
        let verdict = classify(&Settings::default(), &observation);
        assert_eq!((verdict.effect, verdict.slow), (Effect::Failure, true));
    }

    #[test]
    fn a_post_is_sent_again_only_where_nothing_was_processed() {
        for (failure, again) in [
            (TransportFailure::ConnectRefused, true),
            (TransportFailure::RefusedStream, true),
            (TransportFailure::Reset, false),
            (TransportFailure::ReadTimeout, false),
        ] {
            let mut observation = Observation::failure(failure, NOW);
            observation.idempotent = false;
            assert_eq!(
                classify(&Settings::default(), &observation).retry_same,
                again,
                "{failure}"
            );
        }
    }

    #[test]
    fn nothing_is_retried_once_part_of_the_answer_was_passed_on() {
        let mut observation = Observation::failure(TransportFailure::ResetMidBody, NOW);
        observation.delivered_partial = true;
        let verdict = classify(&Settings::default(), &observation);
        assert_eq!(
            (verdict.retry_same, verdict.next_provider, verdict.effect),
            (false, false, Effect::Failure)
        );
    }

    proptest! {
        #[test]
        fn every_observation_has_a_verdict_that_agrees_with_itself(
            status: u16, name in "(?i)retry-after|[a-z-]{0,9}", value: String, failure in 0usize..30,
            latency_ms: u64, now_ms: u64, idempotent: bool, delivered_partial: bool, budget: Option<u64>,
        ) {
            let response = Response {
                status, headers: vec![Field { name, value }], trailers: vec![], body: None,
            };
            let observation = Observation {
                response: Some(response), failure: TransportFailure::ALL.get(failure).copied(),
                cause: None, latency_ms, now_ms, idempotent, delivered_partial,
                expect: Media::Any, minimum_budget_ms: budget,
            };
            let settings = Settings::default();
            let verdict = classify(&settings, &observation);
            prop_assert!(verdict.min_delay_ms <= settings.hints.max_ms);
            prop_assert!(!verdict.retry_same || verdict.min_delay_ms <= settings.hints.inline_ms);
            prop_assert_eq!(verdict.effect == Effect::Failure, verdict.blame == Blame::Provider);
        }
    }
}
