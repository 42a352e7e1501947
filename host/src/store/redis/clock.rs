//! The fleet's clock: local monotonic time plus a measured offset.
//!
//! Hosts whose own clocks differ must agree on when a cool-down ends, so all of them follow the
//! clock of their Redis. It is not asked at each decision: its offset against this host's
//! monotonic time is measured at each connection and every half a minute.
//!
//! # Steps
//!
//! A measurement is only as exact as its round trip is short. An offset that lies within what a
//! new measurement can tell is kept, so the clock does not jitter. One that does not is replaced
//! at once, backwards too: a clock that is slewed would leave this host in disagreement with the
//! fleet all the while. So time goes backwards only where Redis's clock was set back, or the
//! first measurement shows that this host's own clock is ahead.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The server's time, as seen from here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// What to add to this host's time, in us.
    offset_us: i64,
    /// How far off that can be to either side, in us: half the round trip.
    within_us: i64,
}

/// See the [module](self).
pub(super) struct Clock {
    started: Instant,
    /// This host's wall clock at `started`, in us since the Unix epoch: what is gone by before
    /// the first measurement.
    wall_us: i64,
    offset_us: AtomicI64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            started: Instant::now(),
            wall_us: i64::try_from(wall.as_micros()).unwrap_or(i64::MAX),
            offset_us: AtomicI64::new(0),
        }
    }

    /// The fleet's time, in ms since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        let now_us = self
            .local_us(Instant::now())
            .saturating_add(self.offset_us.load(Ordering::Relaxed));
        u64::try_from(now_us / 1_000).unwrap_or(0)
    }

    /// What the server's answer tells: it read `server_us` off its clock at some moment between
    /// `sent` and `received`, most likely half-way.
    pub(super) fn sample(&self, sent: Instant, received: Instant, server_us: i64) -> Sample {
        let trip = received.saturating_duration_since(sent);
        let within_us = i64::try_from(trip.as_micros() / 2).unwrap_or(i64::MAX);
        let half_way_us = self.local_us(sent).saturating_add(within_us);
        Sample {
            offset_us: server_us.saturating_sub(half_way_us),
            within_us,
        }
    }

    /// Follows the most exact of these samples. Answers by how much the clock was moved, in us.
    pub(super) fn follow(&self, samples: &[Sample]) -> i64 {
        let Some(best) = samples.iter().min_by_key(|sample| sample.within_us) else {
            return 0;
        };
        let step = best
            .offset_us
            .saturating_sub(self.offset_us.load(Ordering::Relaxed));
        if step.saturating_abs() <= best.within_us {
            return 0;
        }
        self.offset_us.store(best.offset_us, Ordering::Relaxed);
        step
    }

    fn local_us(&self, at: Instant) -> i64 {
        let since = at.saturating_duration_since(self.started);
        let since_us = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        self.wall_us.saturating_add(since_us)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const HOUR_US: i64 = 3_600_000_000;

    /// A sample of a server that is `ahead_us` ahead, taken with this round trip.
    fn sample(clock: &Clock, ahead_us: i64, trip: Duration) -> Sample {
        let sent = clock.started;
        let half_way = clock.local_us(sent + trip / 2);
        clock.sample(sent, sent + trip, half_way + ahead_us)
    }

    #[test]
    fn a_host_whose_clock_is_an_hour_off_agrees_with_the_fleet() {
        for ahead_us in [HOUR_US, -HOUR_US] {
            let clock = Clock::new();
            let before = i64::try_from(clock.now_ms()).expect("a date");
            clock.follow(&[sample(&clock, ahead_us, Duration::from_micros(200))]);
            let moved = i64::try_from(clock.now_ms()).expect("a date") - before;
            assert!((moved - ahead_us / 1_000).abs() < 1_000, "{moved}");
        }
    }

    #[test]
    fn the_sample_with_the_shortest_round_trip_is_followed() {
        let clock = Clock::new();
        let slow = sample(&clock, 9 * HOUR_US, Duration::from_millis(80));
        let fast = sample(&clock, HOUR_US, Duration::from_micros(100));
        assert_eq!(clock.follow(&[slow, fast, slow]), HOUR_US);
    }

    #[test]
    fn an_offset_within_the_error_of_the_measurement_is_kept() {
        let clock = Clock::new();
        clock.follow(&[sample(&clock, HOUR_US, Duration::from_micros(100))]);
        let vague = sample(&clock, HOUR_US + 4_000, Duration::from_millis(10));
        assert_eq!(clock.follow(&[vague]), 0);
        let exact = sample(&clock, HOUR_US + 4_000, Duration::from_micros(100));
        assert_eq!(clock.follow(&[exact]), 4_000);
    }

    #[test]
    fn without_a_measurement_the_clock_stays_as_it_is() {
        assert_eq!(Clock::new().follow(&[]), 0);
    }
}
