//! The windows that are read for a domain, and the rules that trip on them.
//!
//! A counter has buckets of one width, named by the time they begin at. A window takes in the
//! buckets that begin within it: so an outcome counts for at least the window less one bucket,
//! and never for longer than the window, under steady traffic too. The lifetime of the key
//! decides nothing; it only cleans up.

use crate::config::BreakerSettings;
use crate::entropy;
use crate::store::{Lane, Tally, Window};

/// The lanes of a domain's counter.
pub(super) const SUCCESS: &str = "success";
pub(super) const FAILURE: &str = "failure";
/// Calls of any kind that took longer than the slow limit; those that have ended are in another lane
/// too.
pub(super) const SLOW: &str = "slow";
pub(super) const RETRIES: &str = "retries";

/// Lanes of what has seen trouble: an instance, a request, a request that nobody told apart. Of each
/// kind there are as many as one byte and a half, or one byte, tells apart, so that a counter stays
/// small whatever the traffic; two that fall together count as one, which only delays.
const INSTANCE: &str = "i-";
const FINGERPRINT: &str = "f-";
const UNPRINTED: &str = "u";

/// The lane of failures that were counted in buckets of this width.
const BUCKETS: &str = "w";

/// What one outcome, or a call that is still under way, is to one domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// `None`: it has not ended.
    pub(super) failed: Option<bool>,
    /// To be counted as slow now.
    pub(super) slow: bool,
}

impl Share {
    pub(super) fn has_failed(self) -> bool {
        self.failed == Some(true)
    }
}

/// Who has seen it, for the quorum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Witness<'a> {
    pub(super) instance: &'a str,
    pub(super) fingerprint: Option<u64>,
}

/// One domain's counter as one call sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counter<'a> {
    pub(super) settings: &'a BreakerSettings,
    pub(super) key: &'a str,
    pub(super) epoch: u64,
    pub(super) now: u64,
    /// Where it takes a quorum: who tells.
    pub(super) witness: Option<Witness<'a>>,
}

impl Counter<'_> {
    /// The operation that counts (or, with nothing to add, only reads) and looks over the longest
    /// window.
    pub(super) fn longest(&self, add: Option<Share>) -> Window {
        Window {
            add: add.map(|share| self.lanes(share)).unwrap_or_default(),
            ..self.over(self.settings.longest_window_ms())
        }
    }

    fn over(&self, length: u64) -> Window {
        let (now, width) = (self.now, self.settings.bucket_ms());
        Window {
            key: self.key.into(),
            epoch: self.epoch,
            bucket: now.saturating_sub(now.checked_rem(width).unwrap_or(0)),
            add: Vec::new(),
            since: now.saturating_sub(length),
            ttl_ms: self.settings.longest_window_ms(),
        }
    }

    /// The operations that look over these windows.
    pub(super) fn closely(&self, lengths: &[u64]) -> Vec<Window> {
        lengths.iter().map(|length| self.over(*length)).collect()
    }

    fn lanes(&self, share: Share) -> Vec<Lane> {
        let lane = |name: String| Lane { name, amount: 1 };
        let mut lanes = Vec::with_capacity(2);
        match share.failed {
            Some(true) => lanes.push(lane(FAILURE.into())),
            Some(false) => lanes.push(lane(SUCCESS.into())),
            None => {}
        }
        if share.slow {
            lanes.push(lane(SLOW.into()));
        }
        if share.has_failed() {
            lanes.push(lane(buckets_lane(self.settings)));
        }
        if let Some(witness) = self.witness
            && (share.slow || share.has_failed())
        {
            let slot = entropy::digest(witness.instance.as_bytes()) & 0xfff;
            lanes.push(lane(format!("{INSTANCE}{slot:03x}")));
            lanes.push(lane(match witness.fingerprint {
                Some(print) => format!("{FINGERPRINT}{:02x}", entropy::mix(print, 0) & 0xff),
                None => UNPRINTED.into(),
            }));
        }
        lanes
    }
}

fn buckets_lane(settings: &BreakerSettings) -> String {
    let mut name = String::from(BUCKETS);
    name.push_str(itoa::Buffer::new().format(settings.bucket_ms()));
    name
}

/// Whether some failures in this tally were counted in buckets of another width.
pub(super) fn is_reshaped(settings: &BreakerSettings, tally: &Tally) -> bool {
    let own = buckets_lane(settings);
    tally.lanes.iter().any(|lane| {
        lane.amount > 0
            && lane.name != own
            && lane
                .name
                .strip_prefix(BUCKETS)
                .is_some_and(|width| width.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// How many have seen trouble: distinct instances, and distinct requests.
pub(super) fn witnesses(tally: &Tally) -> (u64, u64) {
    let distinct = |kind: &str| {
        let of_kind = |lane: &&Lane| lane.amount > 0 && lane.name.starts_with(kind);
        tally.lanes.iter().filter(of_kind).count() as u64
    };
    // Requests that nobody told apart may all be different.
    let prints = distinct(FINGERPRINT).saturating_add(tally.amount(UNPRINTED));
    (distinct(INSTANCE), prints)
}

/// Whether enough have seen it for all to act on it.
pub(super) fn is_quorum(settings: &BreakerSettings, tally: &Tally) -> bool {
    let quorum = settings.quorum;
    if !quorum.is_needed() {
        return true;
    }
    let (instances, prints) = witnesses(tally);
    instances >= quorum.instances.into() && prints >= quorum.fingerprints.into()
}

/// What the longest window says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Tripped(&'static str),
    /// Rules with these shorter windows may trip: look there too.
    LookCloser(Vec<u64>),
    Nothing,
}

/// The name, the window and the condition of one trip rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) window_ms: u64,
    pub(super) test: Test,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Test {
    Failures(u64),
    FailureRatio { share: f64, minimum: u64 },
    SlowRatio { share: f64, minimum: u64 },
}

/// Every rule that is on, in the order in which they are asked.
pub(super) fn rules(settings: &BreakerSettings) -> impl Iterator<Item = Rule> {
    let failures = settings.failures.map(|rule| Rule {
        name: "failures",
        window_ms: rule.window_ms,
        test: Test::Failures(rule.count),
    });
    let ratio = settings.ratio.map(|rule| Rule {
        name: "failure-ratio",
        window_ms: rule.window_ms,
        test: Test::FailureRatio {
            share: rule.share,
            minimum: rule.minimum,
        },
    });
    let slow = settings.slow_ratio.map(|rule| Rule {
        name: "slow-ratio",
        window_ms: rule.window_ms,
        test: Test::SlowRatio {
            share: rule.share,
            minimum: rule.minimum,
        },
    });
    [failures, ratio, slow].into_iter().flatten()
}

/// How many of how many, by this tally.
pub(super) fn failed_of(tally: &Tally) -> (u64, u64) {
    let failures = tally.amount(FAILURE);
    (failures, failures.saturating_add(tally.amount(SUCCESS)))
}

/// The same of slow calls. Those that are still under way are among the slow ones and not yet among
/// the others.
pub(super) fn slow_of(tally: &Tally) -> (u64, u64) {
    let slow = tally.amount(SLOW);
    (slow, failed_of(tally).1.max(slow))
}

impl Rule {
    /// Whether this tally of the rule's own window trips it.
    pub(super) fn trips(&self, tally: &Tally) -> bool {
        let over = |(part, all): (u64, u64), share: f64, minimum: u64| {
            all >= minimum && part as f64 / all as f64 >= share
        };
        match self.test {
            Test::Failures(count) => failed_of(tally).0 >= count,
            Test::FailureRatio { share, minimum } => over(failed_of(tally), share, minimum),
            Test::SlowRatio { share, minimum } => over(slow_of(tally), share, minimum),
        }
    }

    /// Whether it may trip over its own window, where this is the tally of a longer one.
    fn may_trip(&self, longer: &Tally) -> bool {
        let over = |(part, all): (u64, u64), share: f64, minimum: u64| {
            all >= minimum && part as f64 / minimum as f64 >= share
        };
        match self.test {
            Test::Failures(count) => failed_of(longer).0 >= count,
            Test::FailureRatio { share, minimum } => over(failed_of(longer), share, minimum),
            Test::SlowRatio { share, minimum } => over(slow_of(longer), share, minimum),
        }
    }
}

/// What the longest window says. A rule with a shorter one is asked only where the longest holds
/// enough for it to trip, so that a healthy provider's outcomes cost one operation each.
pub(super) fn judge(settings: &BreakerSettings, longest: &Tally) -> Said {
    let length = settings.longest_window_ms();
    if let Some(rule) = tripped_over(settings, length, longest) {
        return Said::Tripped(rule);
    }
    let mut closer: Vec<u64> = Vec::new();
    for rule in rules(settings).filter(|rule| rule.window_ms < length && rule.may_trip(longest)) {
        if !closer.contains(&rule.window_ms) {
            closer.push(rule.window_ms);
        }
    }
    if closer.is_empty() {
        Said::Nothing
    } else {
        Said::LookCloser(closer)
    }
}

/// The rule with this window that the tally trips, if any does.
pub(super) fn tripped_over(
    settings: &BreakerSettings,
    window_ms: u64,
    tally: &Tally,
) -> Option<&'static str> {
    rules(settings)
        .find(|rule| rule.window_ms == window_ms && rule.trips(tally))
        .map(|rule| rule.name)
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
        let tripped_closely =
            |breaker: &BreakerSettings, tally: &Tally| tripped_over(breaker, 30_000, tally);
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
    fn a_shorter_window_is_looked_at_only_where_its_rule_may_trip() {
        let mut breaker = Settings::default().breaker;
        breaker.failures = None;
        breaker.slow_ratio = Some(crate::config::SlowRatio {
            share: 1.0,
            minimum: 1_000,
            window_ms: 60_000,
        });
        // The share is half of twenty, in thirty seconds.
        assert_eq!(judge(&breaker, &tally(40, 9)), Said::Nothing);
        assert_eq!(judge(&breaker, &tally(5, 14)), Said::Nothing);
        let closer = Said::LookCloser(vec![30_000]);
        assert_eq!(judge(&breaker, &tally(40, 10)), closer);
        // Where there is no longer one it has been looked at.
        breaker.slow_ratio = None;
        assert_eq!(judge(&breaker, &tally(40, 10)), Said::Nothing);
    }

    #[test]
    fn a_lane_that_a_store_tells_as_zero_is_one_that_it_leaves_out() {
        let breaker = Settings::default().breaker;
        let lane = |name: &str, amount| Lane {
            name: name.into(),
            amount,
        };
        let tally = |amount| Tally {
            epoch: 0,
            lanes: vec![
                lane("w60000", amount),
                lane("i-007", amount),
                lane("f-07", amount),
            ],
        };
        assert!(!is_reshaped(&breaker, &tally(0)) && is_reshaped(&breaker, &tally(1)));
        assert_eq!(
            (witnesses(&tally(0)), witnesses(&tally(3))),
            ((0, 0), (1, 1))
        );
    }

    #[test]
    fn a_window_takes_in_the_buckets_that_begin_within_it() {
        let breaker = Settings::default().breaker;
        let share = Share {
            failed: Some(true),
            slow: true,
        };
        let counter = Counter {
            settings: &breaker,
            key: "k",
            epoch: 3,
            now: 100_500,
            witness: None,
        };
        let long = counter.longest(Some(share));
        let short = counter.closely(&[30_000]);
        let shape = |w: &Window| (w.bucket, w.since, w.add.len(), w.ttl_ms);
        assert_eq!(shape(&long), (99_000, 40_500, 3, 60_000));
        assert_eq!(shape(&short[0]), (99_000, 70_500, 0, 60_000));
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
            if tripped_over(&breaker, 30_000, &short).is_some() {
                prop_assert_ne!(judge(&breaker, &long), Said::Nothing);
            }
        }
    }
}
