//! What is done where there is no policy to decide it.

use fusewire_core::{Blame, Effect, Observation, Outcome, Progress, Step, Verdict};

/// The rule of a verdict that no policy gave.
pub(super) const NO_POLICY: &str = "no-policy";

/// The next step where there is no policy to decide it.
pub(super) fn without_planner(progress: &Progress, verdict: &Verdict) -> Step {
    let is_good = matches!(verdict.effect, Effect::Success | Effect::SlowSuccess)
        || matches!(verdict.outcome, Outcome::Success | Outcome::NoResult);
    if is_good {
        Step::Done
    } else if verdict.next_provider && progress.providers_left > 0 {
        Step::NextProvider
    } else if verdict.outcome == Outcome::CallerError {
        Step::Done
    } else {
        Step::GiveUp(verdict.reason.clone())
    }
}

/// The verdict where there is no policy to give one: it counts nowhere.
pub(super) fn without_policy(observation: &Observation) -> Verdict {
    let answered = observation.response.is_some() && observation.failure.is_none();
    Verdict {
        outcome: if answered {
            Outcome::Success
        } else {
            Outcome::Transient
        },
        effect: Effect::Neutral,
        blame: Blame::Nobody,
        retry_same: false,
        next_provider: !answered,
        min_delay_ms: 0,
        retry_after_ms: None,
        slow: false,
        rule: NO_POLICY.into(),
        reason: "the policy failed, so the attempt was not judged".into(),
    }
}
