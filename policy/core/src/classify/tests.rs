//! The generic rules: statuses, failures below HTTP, Retry-After, the slow flag.

use proptest::prelude::*;

use super::*;
use crate::observation::{Blame, Effect, Field, Outcome, Response, TransportFailure};

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
fn each_status_of_a_failing_edge_is_told_apart() {
    for (status, outcome, retry_same) in [
        (500, Outcome::Transient, true),
        (520, Outcome::Transient, true),
        (521, Outcome::ProviderDown, true),
        (523, Outcome::ProviderDown, true),
        (525, Outcome::ProviderDown, false),
        (526, Outcome::ProviderDown, false),
        (530, Outcome::ProviderDown, false),
        (599, Outcome::Transient, true),
        (600, Outcome::Transient, true),
    ] {
        let verdict = judge(status, &[]);
        assert_eq!(
            (verdict.outcome, verdict.retry_same, verdict.effect),
            (outcome, retry_same, Effect::Failure),
            "{status}"
        );
    }
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
