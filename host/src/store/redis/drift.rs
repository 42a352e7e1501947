//! How far this host's own clock is from the store's, and what is said of it.
//!
//! Decisions follow the store's clock, so a host whose own is off still agrees with the fleet. But
//! the times in its log are off, and whatever else on it goes by its clock: an operator who lays two
//! logs side by side, or asks why a certificate is not valid yet, is to find the reason said.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How far this host's clock may be off by default before it is said. A time service keeps a host
/// within some tens of ms, so a second off is no jitter: nobody keeps that clock. And within a
/// second logs can still be laid side by side, as cool-downs and leases last seconds.
pub const CLOCK_WARNING: Duration = Duration::from_secs(1);

/// How often the clock is measured. A bad quartz drifts 100 ppm: 3 ms in this time.
const MEASURE_EVERY: Duration = Duration::from_secs(30);

/// How this host's clock is compared with the store's.
#[derive(Clone)]
pub struct ClockWatch {
    /// How far they may be apart before it is said.
    pub warning: Duration,
    /// How often they are compared.
    pub every: Duration,
    /// This host's clock.
    pub wall: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Who is told of each comparison, besides the log. Called on a background task, which must not
    /// be blocked.
    pub told: Arc<dyn Fn(&ClockReading) + Send + Sync>,
}

impl Default for ClockWatch {
    fn default() -> Self {
        Self {
            warning: CLOCK_WARNING,
            every: MEASURE_EVERY,
            wall: Arc::new(SystemTime::now),
            told: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for ClockWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockWatch")
            .field("warning", &self.warning)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

/// One comparison of this host's clock with the store's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockReading {
    /// How far this host's clock is ahead of the store's, in us; negative: behind.
    pub ahead_us: i64,
    /// How far off that can be to either side, in us.
    pub within_us: i64,
    /// What is worth a line in the log.
    pub news: Vec<ClockNews>,
}

/// What is worth a line in the log. Printed, it is a sentence without the store's name and without
/// its full stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNews {
    /// This host's clock is off by more than it may be, or by much more or less than was said last.
    Off {
        /// How far it is ahead, in us; negative: behind.
        ahead_us: i64,
    },
    /// This host's clock is off no longer.
    Back {
        /// How far it is ahead still, in us; negative: behind.
        ahead_us: i64,
    },
    /// The store's clock is elsewhere than monotonic time has led to expect.
    Moved {
        /// How far forward, in us; negative: back.
        by_us: i64,
    },
}

impl fmt::Display for ClockNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |us: i64| if us < 0 { "behind" } else { "ahead of" };
        match *self {
            Self::Off { ahead_us } => write!(
                f,
                "this host's clock is {} {} the store's: breakers follow the store's and stay right, \
                 but the times in this host's log are off, and so is whatever else goes by its \
                 clock; see that its time service (chrony, ntpd) runs, or the store's where other \
                 hosts say the same",
                Span(ahead_us),
                side(ahead_us)
            ),
            Self::Back { ahead_us } => write!(
                f,
                "this host's clock is right again: {} {} the store's",
                Span(ahead_us),
                side(ahead_us)
            ),
            Self::Moved { by_us } => write!(
                f,
                "the store's clock has moved {} by {}, and this host's breakers with it: it was set, \
                 or this host slept; cool-downs and leases under way end that much {}",
                if by_us < 0 { "back" } else { "forward" },
                Span(by_us),
                if by_us < 0 { "later" } else { "sooner" }
            ),
        }
    }
}

/// A time in us as people say it, whichever side it is to.
struct Span(i64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000;
        let us = self.0.unsigned_abs();
        let (of, unit) = match us {
            0..SECOND => return write!(f, "{} ms", us / 1_000),
            SECOND..120_000_000 => (SECOND, "s"),
            120_000_000..7_200_000_000 => (60 * SECOND, "min"),
            7_200_000_000..172_800_000_000 => (3_600 * SECOND, "h"),
            _ => (86_400 * SECOND, "days"),
        };
        // Rounded: an hour that took some microseconds to read is no 59.9 minutes.
        let tenths = us.saturating_add(of / 20) / (of / 10);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        write!(f, "{whole}.{tenth} {unit}")
    }
}

/// What was said last of this host's clock.
#[derive(Debug, Default)]
pub(super) struct Drift {
    /// How far ahead it was said to be, in us; none: it was right.
    said: Mutex<Option<i64>>,
}

impl Drift {
    /// What is to be said now, of a clock that is so far ahead, give or take `within_us`.
    ///
    /// A clock that stays off is not news each time: it is said again where it has come as much
    /// further off, or closer, as would be worth a line by itself, or half of what was said. And it
    /// counts as right again a little closer than it was off, or one that drifts around the limit
    /// would fill the log.
    pub(super) fn judge(
        &self,
        ahead_us: i64,
        within_us: i64,
        warning: Duration,
    ) -> Option<ClockNews> {
        let limit = us(warning);
        let off_by = ahead_us.saturating_abs();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let has_changed = |last: i64| {
            let change = ahead_us.saturating_sub(last).saturating_abs();
            change.saturating_sub(within_us) > limit.max(last.saturating_abs() / 2)
        };
        match *said {
            Some(last) if off_by <= limit / 4 * 3 || (off_by <= limit && has_changed(last)) => {
                *said = None;
                Some(ClockNews::Back { ahead_us })
            }
            Some(last) => has_changed(last).then(|| {
                *said = Some(ahead_us);
                ClockNews::Off { ahead_us }
            }),
            // A slow answer tells little, and is no reason to warn.
            None => (off_by.saturating_sub(within_us) > limit).then(|| {
                *said = Some(ahead_us);
                ClockNews::Off { ahead_us }
            }),
        }
    }
}

pub(super) fn us(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn said(drift: &Drift, ahead_us: i64) -> Option<ClockNews> {
        drift.judge(ahead_us, 500, CLOCK_WARNING)
    }

    #[test]
    fn a_clock_that_is_off_is_told_once_and_again_when_it_changes_much_or_is_right() {
        let drift = Drift::default();
        let off = |ahead_us| Some(ClockNews::Off { ahead_us });
        assert_eq!(said(&drift, 0), None);
        assert_eq!(said(&drift, SECOND), None);
        assert_eq!(said(&drift, 3 * SECOND), off(3 * SECOND));
        assert_eq!(said(&drift, 3 * SECOND), None);
        assert_eq!(said(&drift, 4 * SECOND), None, "a little more is no news");
        assert_eq!(said(&drift, 5 * SECOND), off(5 * SECOND));
        assert_eq!(said(&drift, -5 * SECOND), off(-5 * SECOND), "the other way");
        assert_eq!(said(&drift, -2 * SECOND), off(-2 * SECOND), "much closer");
        assert_eq!(
            said(&drift, -SECOND),
            None,
            "just within, and not yet right"
        );
        let back = Some(ClockNews::Back {
            ahead_us: -SECOND / 2,
        });
        assert_eq!(said(&drift, -SECOND / 2), back);
        assert_eq!(said(&drift, -SECOND / 2), None);
        assert_eq!(said(&drift, 9 * SECOND), off(9 * SECOND));
        let ahead_us = SECOND / 10 * 9;
        let back = Some(ClockNews::Back { ahead_us });
        assert_eq!(
            said(&drift, ahead_us),
            back,
            "from far off, within is right"
        );
    }

    #[test]
    fn a_slow_answer_is_no_reason_to_warn() {
        let drift = Drift::default();
        assert_eq!(drift.judge(2 * SECOND, SECOND, CLOCK_WARNING), None);
        assert!(drift.judge(2 * SECOND + 1, SECOND, CLOCK_WARNING).is_some());
    }

    #[test]
    fn what_is_said_has_how_much_which_way_and_what_to_do() {
        for (ahead_us, words) in [
            (3_240_000, "3.2 s ahead of the store's"),
            (-89_999_000, "90.0 s behind the store's"),
            (300 * SECOND, "5.0 min ahead of"),
            (-9_000 * SECOND, "2.5 h behind"),
            (864_000 * SECOND, "10.0 days ahead of"),
            (i64::MIN, "days behind"),
        ] {
            let text = ClockNews::Off { ahead_us }.to_string();
            assert!(text.contains(words) && text.contains("chrony"), "{text}");
        }
        let text = ClockNews::Back { ahead_us: -12_000 }.to_string();
        assert!(
            text.ends_with("right again: 12 ms behind the store's"),
            "{text}"
        );
        let text = ClockNews::Moved {
            by_us: -3_600 * SECOND,
        }
        .to_string();
        assert!(
            text.contains("back by 60.0 min") && text.ends_with("later"),
            "{text}"
        );
    }
}
