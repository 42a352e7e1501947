//! What to do next in one logical call: pass the answer on, try again, ask the next provider, or
//! give up. `wit/planner.wit` documents each name.
#![allow(missing_docs, reason = "each name is documented in wit/planner.wit")]

use serde::{Deserialize, Serialize};

use crate::breaker::Context;
use crate::config::Settings;
use crate::entropy;
use crate::observation::{Effect, Outcome, Verdict};
use crate::target::Target;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Progress {
    pub target: Target,
    pub attempts: u32,
    pub attempts_in_all: u32,
    pub providers_left: u32,
    pub probe: bool,
    pub deadline_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Done,
    /// Wait this long (ms), then ask the same provider again.
    Retry(u64),
    NextProvider,
    GiveUp(String),
}

/// Decides the next step after an attempt.
///
/// The same provider is asked again only where that can help soon: not after a probe, not where
/// it asked for a wait and another provider is left, and not past the caller's deadline. The wait
/// is drawn evenly from zero to the doubled and capped base ("full jitter"), and is at least what
/// the verdict asks for.
#[must_use]
pub fn next(
    settings: &Settings,
    progress: &Progress,
    verdict: &Verdict,
    context: &Context,
) -> Step {
    if matches!(verdict.effect, Effect::Success | Effect::SlowSuccess) {
        return Step::Done;
    }
    let others = verdict.next_provider && progress.providers_left > 0;
    if verdict.retry_same && !progress.probe && progress.attempts < settings.retry.attempts {
        let delay =
            back_off_ms(settings, progress.attempts, context.entropy).max(verdict.min_delay_ms);
        let in_time = progress
            .deadline_ms
            .is_none_or(|at| context.now_ms.saturating_add(delay) < at);
        if in_time && !(others && verdict.min_delay_ms > 0) {
            return Step::Retry(delay);
        }
    }
    if others {
        return Step::NextProvider;
    }
    if verdict.outcome == Outcome::CallerError {
        // The provider's own words are what the caller needs.
        return Step::Done;
    }
    Step::GiveUp(verdict.reason.clone())
}

/// The wait before the attempt after the `attempts`-th, in ms.
fn back_off_ms(settings: &Settings, attempts: u32, entropy: u64) -> u64 {
    let doublings = attempts.saturating_sub(1).min(63);
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    let end = settings
        .retry
        .base_ms
        .saturating_mul(factor)
        .min(settings.retry.max_ms);
    (end as f64 * entropy::unit(entropy, entropy::BACK_OFF)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::classify;
    use crate::observation::{Observation, Response, TransportFailure};
    use proptest::prelude::*;

    fn progress(attempts: u32, left: u32) -> Progress {
        Progress {
            target: Target::provider("p"),
            attempts,
            attempts_in_all: attempts,
            providers_left: left,
            probe: false,
            deadline_ms: None,
        }
    }

    fn step(observation: &Observation, progress: &Progress) -> Step {
        let settings = Settings::default();
        next(
            &settings,
            progress,
            &classify(&settings, observation),
            &Context::at(1_000, 7),
        )
    }

    fn status(status: u16) -> Observation {
        Observation::response(Response::status(status), 1_000)
    }

    #[test]
    fn a_transient_failure_is_retried_then_passed_to_the_next_provider_then_given_up() {
        assert!(matches!(
            step(&status(500), &progress(1, 1)),
            Step::Retry(_)
        ));
        assert_eq!(step(&status(500), &progress(3, 1)), Step::NextProvider);
        assert!(matches!(
            step(&status(500), &progress(3, 0)),
            Step::GiveUp(_)
        ));
    }

    #[test]
    fn a_probe_is_never_retried() {
        let probe = Progress {
            probe: true,
            ..progress(1, 1)
        };
        assert_eq!(step(&status(500), &probe), Step::NextProvider);
    }

    #[test]
    fn a_provider_that_asks_for_a_wait_is_waited_for_only_where_it_is_the_last() {
        assert_eq!(step(&status(429), &progress(1, 1)), Step::NextProvider);
        assert_eq!(step(&status(429), &progress(1, 0)), Step::Retry(1_000));
    }

    #[test]
    fn a_wait_past_the_callers_deadline_is_not_begun() {
        let hurried = Progress {
            deadline_ms: Some(1_500),
            ..progress(1, 0)
        };
        assert!(matches!(step(&status(429), &hurried), Step::GiveUp(_)));
    }

    #[test]
    fn a_wrong_request_is_answered_with_the_providers_own_words() {
        assert_eq!(step(&status(404), &progress(1, 1)), Step::Done);
        assert_eq!(step(&status(501), &progress(1, 1)), Step::NextProvider);
        assert_eq!(step(&status(501), &progress(1, 0)), Step::Done);
    }

    #[test]
    fn a_wait_is_drawn_from_none_to_a_base_that_doubles_up_to_its_cap() {
        let settings = Settings::default();
        let (base, most) = (settings.retry.base_ms, settings.retry.max_ms);
        let longest = |attempts| {
            let drawn = (0..1_000).map(|entropy| back_off_ms(&settings, attempts, entropy));
            drawn.max().unwrap()
        };
        let shortest = (0..1_000).map(|entropy| back_off_ms(&settings, 1, entropy));
        assert!(shortest.min().unwrap() <= base / 100);
        for (attempts, end) in [
            (1, base),
            (2, 2 * base),
            (3, 4 * base),
            (64, most),
            (65, most),
        ] {
            let end = end.min(most);
            let longest = longest(attempts);
            assert!(
                longest < end && longest >= end * 98 / 100,
                "{attempts}: {longest} of {end}"
            );
        }
    }

    #[test]
    fn a_retry_begins_before_the_deadline_and_not_at_it() {
        for (deadline_ms, in_time) in [(2_000, false), (2_001, true)] {
            let hurried = Progress {
                deadline_ms: Some(deadline_ms),
                ..progress(1, 0)
            };
            let retried = step(&status(429), &hurried) == Step::Retry(1_000);
            assert_eq!(retried, in_time, "{deadline_ms}");
        }
    }

    #[test]
    fn a_cancelled_call_goes_nowhere() {
        let gone = Observation::failure(TransportFailure::Cancelled, 1_000);
        assert!(matches!(step(&gone, &progress(1, 1)), Step::GiveUp(_)));
    }

    proptest! {
        #[test]
        fn a_back_off_never_exceeds_its_cap(attempts: u32, entropy: u64) {
            let settings = Settings::default();
            prop_assert!(back_off_ms(&settings, attempts, entropy) <= settings.retry.max_ms);
        }
    }
}
