//! The log: one line a transition, for people, on stderr.

use std::time::{Duration, UNIX_EPOCH};

use fusewire_core::{Event, EventKind, Phase, Transition};
use tracing::{debug, info, warn};
use tracing_subscriber::EnvFilter;

use crate::guard::{Notice, Observer};

/// What is logged, from the environment: `FUSEWIRE_LOG` first, then the usual one. The syntax is
/// `tracing_subscriber`'s, such as `debug` or `fusewire=debug,hyper=info`.
const VARIABLES: [&str; 2] = ["FUSEWIRE_LOG", "RUST_LOG"];

/// Sends the log to stderr, from `info` on unless the environment says otherwise. Does nothing
/// where a log has been set up before.
pub fn init() {
    let wanted = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    let filter = EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .parse_lossy(wanted.unwrap_or_default());
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .compact()
        .try_init();
}

/// Logs what a guard tells: a line for each transition, order and fault; refusals, judgements and
/// what was decided without the store at `debug`, since there may be one for each call.
#[derive(Debug, Clone, Copy)]
pub struct TransitionLog;

impl Observer for TransitionLog {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Event(event) => log_event(event),
            Notice::Refused { refusal, .. } => debug!(
                domain = refusal.domain,
                reason = refusal.reason.name(),
                retry_after_ms = refusal.retry_after_ms,
                "refused: {}",
                refusal.detail
            ),
            Notice::Judged { target, verdict } => debug!(
                provider = target.provider,
                outcome = verdict.outcome.name(),
                effect = verdict.effect.name(),
                rule = verdict.rule,
                "judged: {}",
                verdict.reason
            ),
            Notice::Fault { during, fault } => warn!(during, "{fault}; the call was let through"),
        }
    }
}

fn log_event(event: &Event) {
    let domain = event.domain.as_str();
    match &event.kind {
        EventKind::Transition(change) => log_change(event, change, ""),
        EventKind::Alone(change) => log_change(event, change, "alone: "),
        EventKind::Ordered(mode) => {
            let mode = mode.map_or("none", fusewire_core::OverrideMode::name);
            info!(domain, order = mode, "{}", event.detail);
        }
        EventKind::Probe(outcome) => {
            debug!(domain, outcome = outcome.name(), "probe: {}", event.detail);
        }
        EventKind::Ignored(reason) => {
            debug!(domain, reason = reason.name(), "ignored: {}", event.detail);
        }
        EventKind::Store(why) => debug!(domain, why, "without the store: {}", event.detail),
        EventKind::Held(until_ms) => {
            warn!(domain, until = %moment(*until_ms), "{}", event.detail);
        }
        EventKind::Reshaped => warn!(domain, "{}", event.detail),
    }
}

/// A change of phase; `whose` says so where it is not the fleet's.
fn log_change(event: &Event, change: &Transition, whose: &str) {
    let Transition {
        before,
        after,
        rule,
        until_ms,
        openings,
    } = change;
    let (domain, detail) = (event.domain.as_str(), &event.detail);
    match after {
        Phase::Open => warn!(
            domain,
            rule,
            until = %moment(*until_ms),
            openings,
            "{whose}{before} -> {after}: {detail}"
        ),
        _ => info!(
            domain,
            rule, openings, "{whose}{before} -> {after}: {detail}"
        ),
    }
}

/// A moment as HTTP writes dates, in UTC; one that is past all dates as a number.
fn moment(at_ms: u64) -> String {
    /// The first moment of the year 10000, in ms since the Unix epoch.
    const YEAR_10000_MS: u64 = 253_402_300_800_000;
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(at_ms));
    match at.filter(|_| at_ms < YEAR_10000_MS) {
        Some(at) => httpdate::fmt_http_date(at),
        None => at_ms.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn no_moment_is_too_far_to_be_logged() {
        assert_eq!(moment(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(moment(u64::MAX), u64::MAX.to_string());
    }
}
