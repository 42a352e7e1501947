//! The windows that are read for a domain, and the rules that trip on them.
//!
//! A counter has buckets of one width, named by the time they begin at. A window takes in the
//! buckets that begin within it: so an outcome counts for at least the window less one bucket,
//! and never for longer than the window, under steady traffic too. The lifetime of the key
//! decides nothing; it only cleans up.

use crate::config::BreakerSettings;
use crate::store::{Lane, Tally, Window};

/// The lanes of a domain's counter.
pub(super) const SUCCESS: &str = "success";
pub(super) const FAILURE: &str = "failure";
/// Answers of any kind that took longer than the slow limit; each is in another lane too.
pub(super) const SLOW: &str = "slow";
pub(super) const RETRIES: &str = "retries";

/// What one outcome is to one domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

impl Share {
    fn lanes(self) -> Vec<Lane> {
        let lane = |name: &str| Lane {
            name: name.into(),
            amount: 1,
        };
        let mut lanes = vec![lane(if self.failed { FAILURE } else { SUCCESS })];
        if self.slow {
            lanes.push(lane(SLOW));
        }
        lanes
    }
}

/// The operation that counts an outcome (or, with nothing to add, only reads) and looks over the
/// longest window.
pub(super) fn longest(
    settings: &BreakerSettings,
    key: &str,
    epoch: u64,
    now: u64,
    add: Option<Share>,
) -> Window {
    let length = settings.longest_window_ms();
    Window {
        add: add.map(Share::lanes).unwrap_or_default(),
        ..over(settings, key, epoch, now, length)
    }
}

/// The operation that looks over the shortest window.
pub(super) fn shortest(settings: &BreakerSettings, key: &str, epoch: u64, now: u64) -> Window {
    over(settings, key, epoch, now, settings.shortest_window_ms())
}

fn over(settings: &BreakerSettings, key: &str, epoch: u64, now: u64, length: u64) -> Window {
    let width = settings.bucket_ms();
    Window {
        key: key.into(),
        epoch,
        bucket: now.saturating_sub(now.checked_rem(width).unwrap_or(0)),
        add: Vec::new(),
        since: now.saturating_sub(length),
        ttl_ms: settings.longest_window_ms(),
    }
}

/// What the longest window says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Tripped(&'static str),
    /// A rule with the shortest window may trip: look there too.
    LookCloser,
    Nothing,
}

/// What the longest window says. A rule with a shorter one is asked only where the longest holds
/// enough for it to trip, so that a healthy provider's outcomes cost one operation each.
pub(super) fn judge(settings: &BreakerSettings, longest: &Tally) -> Said {
    if let Some(rule) = tripped_over(settings, settings.longest_window_ms(), longest) {
        return Said::Tripped(rule);
    }
    let failures = longest.amount(FAILURE);
    let short = |window_ms: u64| window_ms < settings.longest_window_ms();
    let count_may = settings
        .failures
        .is_some_and(|rule| short(rule.window_ms) && failures >= rule.count);
    let ratio_may = settings.ratio.is_some_and(|rule| {
        let calls = failures.saturating_add(longest.amount(SUCCESS));
        short(rule.window_ms)
            && calls >= rule.minimum
            && failures as f64 / rule.minimum as f64 >= rule.share
    });
    if count_may || ratio_may {
        Said::LookCloser
    } else {
        Said::Nothing
    }
}

/// The rule that trips over the shortest window, if any does.
pub(super) fn tripped_closely(
    settings: &BreakerSettings,
    shortest: &Tally,
) -> Option<&'static str> {
    tripped_over(settings, settings.shortest_window_ms(), shortest)
}

/// The rule with this window that the tally trips, if any does.
fn tripped_over(settings: &BreakerSettings, window_ms: u64, tally: &Tally) -> Option<&'static str> {
    let failures = tally.amount(FAILURE);
    if settings
        .failures
        .is_some_and(|rule| rule.window_ms == window_ms && failures >= rule.count)
    {
        return Some("failures");
    }
    let calls = failures.saturating_add(tally.amount(SUCCESS));
    let by_ratio = settings.ratio.is_some_and(|rule| {
        rule.window_ms == window_ms
            && calls >= rule.minimum
            && failures as f64 / calls as f64 >= rule.share
    });
    by_ratio.then_some("failure-ratio")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use proptest::prelude::*;

    fn tally(success: u64, failure: u64) -> Tally {
        let lane = |name: &str, amount| Lane {
            name: name.into(),
            amount,
        };
        Tally {
            epoch: 0,
            lanes: vec![lane(FAILURE, failure), lane(SUCCESS, success)],
        }
    }

    #[test]
    fn each_rule_looks_at_its_own_window() {
        let breaker = Settings::default().breaker;
        assert_eq!(judge(&breaker, &tally(0, 4)), Said::Nothing);
        assert_eq!(judge(&breaker, &tally(0, 5)), Said::Tripped("failures"));
        assert_eq!(
            tripped_closely(&breaker, &tally(0, 5)),
            None,
            "too few calls for a share"
        );
        assert_eq!(
            tripped_closely(&breaker, &tally(10, 9)),
            None,
            "19 calls are too few"
        );
        assert_eq!(
            tripped_closely(&breaker, &tally(10, 10)),
            Some("failure-ratio")
        );
        assert_eq!(tripped_closely(&breaker, &tally(11, 10)), None);
    }

    #[test]
    fn a_window_takes_in_the_buckets_that_begin_within_it() {
        let breaker = Settings::default().breaker;
        let share = Share {
            failed: true,
            slow: true,
        };
        let long = longest(&breaker, "k", 3, 100_500, Some(share));
        let short = shortest(&breaker, "k", 3, 100_500);
        let shape = |w: &Window| (w.bucket, w.since, w.add.len(), w.ttl_ms);
        assert_eq!(shape(&long), (99_000, 40_500, 2, 60_000));
        assert_eq!(shape(&short), (99_000, 70_500, 0, 60_000));
    }

    proptest! {
        #[test]
        fn no_rule_that_would_trip_over_its_own_window_is_left_unasked(
            success in 0u64..60, failure in 0u64..60, more_success in 0u64..60, more_failure in 0u64..60,
            count in 1u64..40, minimum in 1u64..40, share in 0.05..1.0f64, count_is_short: bool,
        ) {
            let mut breaker = Settings::default().breaker;
            let (count_window, ratio_window) = if count_is_short { (30_000, 60_000) } else { (60_000, 30_000) };
            breaker.failures = Some(crate::config::FailureCount { count, window_ms: count_window });
            breaker.ratio = Some(crate::config::FailureRatio { share, minimum, window_ms: ratio_window });
            let (short, long) = (tally(success, failure), tally(success + more_success, failure + more_failure));
            if tripped_closely(&breaker, &short).is_some() {
                prop_assert_ne!(judge(&breaker, &long), Said::Nothing);
            }
        }
    }
}
