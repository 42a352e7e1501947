//! From what was found to the verdict: the slow flag, the hint, whether to try again.

use super::decide::Decision;
use super::finding::Again;
use super::trace::Trace;
use crate::config::Settings;
use crate::observation::{Effect, Observation, Outcome, Verdict};

pub(super) fn verdict(
    settings: &Settings,
    observation: &Observation,
    decision: Decision<'_>,
    trace: &mut impl Trace,
) -> Verdict {
    let finding = &decision.finding;
    let slow = observation.latency_ms >= settings.slow.limit_ms;
    let effect = match finding.effect {
        Effect::Success if slow => Effect::SlowSuccess,
        other => other,
    };
    let hint = decision.hint.map(|hint| {
        let clamped = hint.wait_ms > settings.hints.max_ms;
        trace.hint(&hint, clamped);
        hint.wait_ms.min(settings.hints.max_ms)
    });
    let is_good =
        matches!(finding.effect, Effect::Success) || finding.outcome == Outcome::Cancelled;
    let waits =
        finding.again != Again::Never || finding.floor_ms > 0 || finding.effect == Effect::Failure;
    let min_delay_ms = match hint {
        _ if is_good => 0,
        // Zero is no wish of anybody's: both large LLM clients and urllib3 back off by themselves.
        Some(ms) if ms > 0 && waits => ms,
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
        rule: decision.rule.into_owned(),
        reason: decision.because.unwrap_or(finding.reason).into(),
    }
}
