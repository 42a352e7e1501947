//! What to do after an attempt: pass the answer on, try again, ask the next provider, or give up.

use crate::bindings::exports::fusewire::policy::breaker::Context;
use crate::bindings::exports::fusewire::policy::classifier::{Effect, Outcome, Verdict};
use crate::bindings::exports::fusewire::policy::planner::{Progress, Step};
use crate::config::Settings;
use crate::throttle;

/// The upper end of the first back-off, in ms; doubled for each further one.
const FIRST_BACK_OFF_MS: u64 = 200;
/// What the upper end stops at, in ms.
const LAST_BACK_OFF_MS: u64 = 2_000;
/// The longest wait that is still part of a call, in ms: longer than that nobody waits in line.
const WAIT_MAX_MS: u64 = 10_000;

/// Decides the next step.
pub(crate) fn next(
    settings: &Settings,
    progress: &Progress,
    verdict: &Verdict,
    context: &Context,
) -> Step {
    let good = matches!(verdict.effect, Effect::Success | Effect::SlowSuccess);
    // The provider's own words on a wrong request are what the caller needs.
    if good || verdict.outcome == Outcome::CallerError {
        return Step::Done;
    }
    let others = verdict.next_provider && progress.providers_left > 0;
    let wait_ms = back_off_ms(progress.attempts, context.entropy).max(verdict.min_delay_ms);
    let in_time = wait_ms <= WAIT_MAX_MS
        && progress
            .deadline_ms
            .is_none_or(|deadline| context.now_ms.saturating_add(wait_ms) < deadline);
    // Who wants to be left alone is not asked again while there is somebody else to ask.
    let asked_to_wait = verdict.min_delay_ms > 0;
    if verdict.retry_same
        && progress.attempts < settings.attempts
        && in_time
        && !(others && asked_to_wait)
    {
        Step::Retry(wait_ms)
    } else if others {
        Step::NextProvider
    } else {
        Step::GiveUp(verdict.reason.clone())
    }
}

/// The wait after this many attempts, evenly from zero to the doubled and bounded first ("full
/// jitter"), so that those who failed together do not come back together.
fn back_off_ms(attempts: u32, entropy: u64) -> u64 {
    let doublings = attempts.saturating_sub(1);
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    let end = FIRST_BACK_OFF_MS
        .saturating_mul(factor)
        .min(LAST_BACK_OFF_MS);
    (end as f64 * throttle::unit(entropy)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::fusewire::policy::classifier::{Blame, Target};
    use proptest::prelude::*;

    fn progress(attempts: u32, providers_left: u32) -> Progress {
        Progress {
            target: Target {
                provider: "p".into(),
                account: None,
                operation: None,
            },
            attempts,
            attempts_in_all: attempts,
            providers_left,
            probe: false,
            deadline_ms: None,
        }
    }

    fn failure() -> Verdict {
        Verdict {
            outcome: Outcome::Transient,
            effect: Effect::Failure,
            blame: Blame::Provider,
            retry_same: true,
            next_provider: true,
            min_delay_ms: 0,
            retry_after_ms: None,
            slow: false,
            rule: String::new(),
            reason: "the provider failed".into(),
        }
    }

    fn step(progress: &Progress, verdict: &Verdict) -> Step {
        let context = Context {
            now_ms: 1_000,
            entropy: 7,
            instance: "a".into(),
            call_limit_ms: None,
            fingerprint: None,
        };
        next(&Settings::default(), progress, verdict, &context)
    }

    #[test]
    fn a_failure_is_retried_then_passed_on_then_given_up() {
        assert!(matches!(
            step(&progress(1, 1), &failure()),
            Step::Retry(0..200)
        ));
        assert_eq!(step(&progress(3, 1), &failure()), Step::NextProvider);
        assert_eq!(
            step(&progress(3, 0), &failure()),
            Step::GiveUp("the provider failed".into())
        );
    }

    #[test]
    fn a_provider_that_wants_to_be_left_alone_is_asked_again_only_where_it_is_the_last() {
        let told = |min_delay_ms| Verdict {
            min_delay_ms,
            ..failure()
        };
        assert_eq!(step(&progress(1, 1), &told(1_000)), Step::NextProvider);
        assert_eq!(step(&progress(1, 0), &told(1_000)), Step::Retry(1_000));
        assert!(matches!(
            step(&progress(1, 0), &told(60_000)),
            Step::GiveUp(_)
        ));
    }

    #[test]
    fn nothing_is_retried_past_the_callers_deadline() {
        let late = Progress {
            deadline_ms: Some(1_000),
            ..progress(1, 0)
        };
        assert!(matches!(step(&late, &failure()), Step::GiveUp(_)));
    }

    #[test]
    fn a_good_answer_and_a_wrong_request_are_done() {
        let with = |effect, outcome| Verdict {
            effect,
            outcome,
            ..failure()
        };
        let good = with(Effect::Success, Outcome::Success);
        let wrong = with(Effect::Neutral, Outcome::CallerError);
        assert_eq!(step(&progress(1, 1), &good), Step::Done);
        assert_eq!(step(&progress(1, 1), &wrong), Step::Done);
    }

    proptest! {
        #[test]
        fn a_back_off_is_bounded_for_any_number_of_attempts(attempts: u32, entropy: u64) {
            prop_assert!(back_off_ms(attempts, entropy) < LAST_BACK_OFF_MS);
        }
    }
}
