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
//!
//! # This host's own clock
//!
//! Nothing is decided by it once there is a measurement, but it is compared with Redis's at each, as
//! it is then and not as it was at the start: see `drift`. A step of Redis's clock is followed
//! however large it is, as by every host of the fleet, and said where it is larger than what would
//! be said of this host's.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Instant, UNIX_EPOCH};

use super::drift::{ClockNews, ClockReading, ClockWatch, Drift, us};

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
    is_measured: AtomicBool,
    pub(super) watch: ClockWatch,
    drift: Drift,
}

impl Clock {
    pub(super) fn new(watch: ClockWatch) -> Self {
        Self {
            started: Instant::now(),
            wall_us: wall_us(&watch),
            offset_us: AtomicI64::new(0),
            is_measured: AtomicBool::new(false),
            watch,
            drift: Drift::default(),
        }
    }

    /// The fleet's time, in ms since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.now_us() / 1_000).unwrap_or(0)
    }

    fn now_us(&self) -> i64 {
        self.local_us(Instant::now())
            .saturating_add(self.offset_us.load(Ordering::Relaxed))
    }

    /// How far this host's clock, as it is now, is ahead of the fleet's, in us; `None` where that
    /// was not measured yet.
    pub(super) fn ahead_us(&self) -> Option<i64> {
        let is_measured = self.is_measured.load(Ordering::Acquire);
        is_measured.then(|| wall_us(&self.watch).saturating_sub(self.now_us()))
    }

    /// Takes in a measurement: follows the server's clock, and compares this host's with it. `None`
    /// where the server has told no time.
    pub(super) fn measured(&self, samples: &[Sample]) -> Option<ClockReading> {
        let within_us = samples.iter().map(|sample| sample.within_us).min()?;
        let is_first = !self.is_measured.load(Ordering::Acquire);
        let by_us = self.follow(samples);
        self.is_measured.store(true, Ordering::Release);
        let ahead_us = self.ahead_us()?;
        let warning = self.watch.warning;
        // The first measurement tells of this host's clock alone, which is told below.
        let has_moved = !is_first && by_us.saturating_abs() > us(warning);
        let moved = has_moved.then_some(ClockNews::Moved { by_us });
        let drift = self.drift.judge(ahead_us, within_us, warning);
        Some(ClockReading {
            ahead_us,
            within_us,
            news: moved.into_iter().chain(drift).collect(),
        })
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
    fn follow(&self, samples: &[Sample]) -> i64 {
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

/// This host's clock as it is now, in us since the Unix epoch; negative: before that.
fn wall_us(watch: &ClockWatch) -> i64 {
    let now = (watch.wall)();
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => us(since),
        Err(before) => us(before.duration()).saturating_neg(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

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
            let clock = Clock::new(ClockWatch::default());
            let before = i64::try_from(clock.now_ms()).expect("a date");
            clock.follow(&[sample(&clock, ahead_us, Duration::from_micros(200))]);
            let moved = i64::try_from(clock.now_ms()).expect("a date") - before;
            assert!((moved - ahead_us / 1_000).abs() < 1_000, "{moved}");
        }
    }

    #[test]
    fn the_sample_with_the_shortest_round_trip_is_followed() {
        let clock = Clock::new(ClockWatch::default());
        let slow = sample(&clock, 9 * HOUR_US, Duration::from_millis(80));
        let fast = sample(&clock, HOUR_US, Duration::from_micros(100));
        assert_eq!(clock.follow(&[slow, fast, slow]), HOUR_US);
    }

    #[test]
    fn an_offset_within_the_error_of_the_measurement_is_kept() {
        let clock = Clock::new(ClockWatch::default());
        clock.follow(&[sample(&clock, HOUR_US, Duration::from_micros(100))]);
        let vague = sample(&clock, HOUR_US + 4_000, Duration::from_millis(10));
        assert_eq!(clock.follow(&[vague]), 0);
        let exact = sample(&clock, HOUR_US + 4_000, Duration::from_micros(100));
        assert_eq!(clock.follow(&[exact]), 4_000);
    }

    #[test]
    fn without_a_measurement_the_clock_stays_as_it_is() {
        assert_eq!(Clock::new(ClockWatch::default()).follow(&[]), 0);
    }

    /// A clock, and how far the host's wall clock is set ahead of where it was, in us.
    fn settable() -> (Clock, Arc<AtomicI64>) {
        let set_by = Arc::new(AtomicI64::new(0));
        let wall = Arc::clone(&set_by);
        let clock = Clock::new(ClockWatch {
            wall: Arc::new(move || {
                let us = wall.load(Ordering::Relaxed);
                let by = Duration::from_micros(us.unsigned_abs());
                if us < 0 {
                    SystemTime::now() - by
                } else {
                    SystemTime::now() + by
                }
            }),
            ..ClockWatch::default()
        });
        (clock, set_by)
    }

    /// What is said after a measurement of a server that is `ahead_us` ahead of where this host was
    /// at its start.
    fn news(clock: &Clock, ahead_us: i64) -> Vec<ClockNews> {
        let trip = Duration::from_micros(100);
        let reading = clock.measured(&[sample(clock, ahead_us, trip)]);
        reading.expect("a measurement").news
    }

    /// To the tenth of a second: the tests' own steps take time.
    fn tenths(us: i64) -> i64 {
        (us + 50_000).div_euclid(100_000)
    }

    #[test]
    fn a_wall_clock_that_is_set_after_the_start_is_noticed_and_moves_no_decision() {
        let (clock, set_by) = settable();
        assert_eq!(clock.ahead_us(), None);
        assert_eq!(news(&clock, 0), []);
        let before = clock.now_ms();
        set_by.store(-HOUR_US, Ordering::Relaxed);
        assert!(clock.now_ms().abs_diff(before) < 1_000);
        assert_eq!(clock.ahead_us().map(tenths), Some(-36_000));
        let [ClockNews::Off { ahead_us }] = news(&clock, 0)[..] else {
            panic!("it is not said");
        };
        assert_eq!(tenths(ahead_us), -36_000);
        assert_eq!(news(&clock, 0), [], "it is said once");
        set_by.store(0, Ordering::Relaxed);
        assert!(matches!(news(&clock, 0)[..], [ClockNews::Back { .. }]));
    }

    #[test]
    fn a_step_of_the_servers_clock_is_followed_and_said() {
        let (clock, _) = settable();
        assert_eq!(news(&clock, 0), []);
        // Set forward by two days: no step is too large for a fleet that follows one clock.
        let said = news(&clock, 48 * HOUR_US);
        let [ClockNews::Moved { by_us }, ClockNews::Off { ahead_us }] = said[..] else {
            panic!("{said:?}");
        };
        assert_eq!(by_us, 48 * HOUR_US);
        assert_eq!(tenths(ahead_us), -48 * 36_000);
        assert_eq!(news(&clock, 48 * HOUR_US + 500_000), []);
    }

    #[test]
    fn at_the_first_measurement_it_is_the_hosts_clock_that_is_off() {
        let (clock, _) = settable();
        let said = news(&clock, HOUR_US);
        assert!(matches!(said[..], [ClockNews::Off { .. }]), "{said:?}");
    }
}
