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
        let lane = |name: &str| Lane { name: name.into(), amount: 1 };
        let mut lanes = vec![lane(if self.failed { FAILURE } else { SUCCESS })];
        if self.slow {
            lanes.push(lane(SLOW));
        }
        lanes
    }
}

/// The windows of a domain, in the order that [`tripped`] expects their tallies: the longest one
/// first, which also adds, then those of the rules that have another.
pub(super) fn windows(settings: &BreakerSettings, key: &str, epoch: u64, now: u64, add: Option<Share>) -> Vec<Window> {
    let width = settings.bucket_ms();
    let window = |length: u64, add: Vec<Lane>| Window {
        key: key.into(),
        epoch,
        bucket: now.saturating_sub(now.checked_rem(width).unwrap_or(0)),
        add,
        since: now.saturating_sub(length),
        ttl_ms: settings.longest_window_ms(),
    };
    let mut windows = vec![window(settings.longest_window_ms(), add.map(Share::lanes).unwrap_or_default())];
    if settings.shortest_window_ms() < settings.longest_window_ms() {
        windows.push(window(settings.shortest_window_ms(), Vec::new()));
    }
    windows
}

/// The rule that these tallies trip, if any does.
pub(super) fn tripped(settings: &BreakerSettings, tallies: &[Tally]) -> Option<&'static str> {
    let over = |length: u64| {
        let longest = length == settings.longest_window_ms();
        if longest { tallies.first() } else { tallies.last() }
    };
    let by_count = settings.failures.is_some_and(|rule| {
        over(rule.window_ms).is_some_and(|t| t.amount(FAILURE) >= rule.count)
    });
    if by_count {
        return Some("failures");
    }
    let by_ratio = settings.ratio.is_some_and(|rule| {
        over(rule.window_ms).is_some_and(|t| {
            let failures = t.amount(FAILURE);
            let calls = failures.saturating_add(t.amount(SUCCESS));
            calls >= rule.minimum && failures as f64 / calls as f64 >= rule.share
        })
    });
    by_ratio.then_some("failure-ratio")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn tally(success: u64, failure: u64) -> Tally {
        let lane = |name: &str, amount| Lane { name: name.into(), amount };
        Tally { epoch: 0, lanes: vec![lane(FAILURE, failure), lane(SUCCESS, success)] }
    }

    #[test]
    fn each_rule_looks_at_its_own_window() {
        let breaker = Settings::default().breaker;
        let trips = |long, short| tripped(&breaker, &[long, short]);
        assert_eq!(trips(tally(0, 4), tally(0, 4)), None);
        assert_eq!(trips(tally(0, 5), tally(0, 0)), Some("failures"));
        assert_eq!(trips(tally(90, 4), tally(0, 4)), None);
        let ratio_alone = BreakerSettings { failures: None, ..breaker };
        let trips = |short| tripped(&ratio_alone, &[short]);
        assert_eq!(trips(tally(10, 9)), None, "19 calls are too few");
        assert_eq!(trips(tally(10, 10)), Some("failure-ratio"));
        assert_eq!(trips(tally(11, 10)), None);
    }

    #[test]
    fn a_window_takes_in_the_buckets_that_begin_within_it() {
        let breaker = Settings::default().breaker;
        let windows = windows(&breaker, "k", 3, 100_500, Some(Share { failed: true, slow: false }));
        let shape: Vec<_> = windows.iter().map(|w| (w.bucket, w.since, w.add.len(), w.ttl_ms)).collect();
        assert_eq!(shape, [(99_000, 40_500, 1, 60_000), (99_000, 70_500, 0, 60_000)]);
    }
}
