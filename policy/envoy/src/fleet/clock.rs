//! How far the fleet's clock is ahead of this host's, known to all workers.

use crate::store::SharedData;
use crate::store::shared::KEYS_BEGIN;

fn key(prefix: &str) -> String {
    [KEYS_BEGIN, "ahead/", prefix].concat()
}

/// How far it is ahead, in ms; zero where nothing is known.
pub fn ahead_ms<D: SharedData + ?Sized>(data: &D, prefix: &str) -> i64 {
    let held = data.get(&key(prefix)).ok().flatten();
    held.and_then(|(bytes, _)| bytes.try_into().ok())
        .map_or(0, i64::from_le_bytes)
}

/// Notes how far it is ahead, where that has changed by more than an exchange can tell.
pub fn note<D: SharedData + ?Sized>(data: &D, prefix: &str, ahead: i64, round_trip_ms: u64) {
    let before = ahead_ms(data, prefix);
    // The moment of the fleet's answer is within the round trip, and taken for its middle.
    if before.abs_diff(ahead) > round_trip_ms / 2 {
        let _ = data.set(&key(prefix), &ahead.to_le_bytes(), 0);
    }
}

/// How far two clocks can be from one another, in ms: a day. What is further off is no clock, and
/// deciding by it would end every cool-down, or none.
const APART_MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// Whether a clock that is so far ahead can be the fleet's.
#[must_use]
pub fn is_believable(ahead: i64) -> bool {
    ahead.unsigned_abs() <= APART_MAX_MS
}

/// How far a clock is ahead that showed `there` between two moments here.
#[must_use]
pub fn between(sent_ms: u64, came_ms: u64, there: u64) -> i64 {
    let half = came_ms.saturating_sub(sent_ms) / 2;
    let here = sent_ms.saturating_add(half);
    let ahead = there.abs_diff(here);
    let ahead = i64::try_from(ahead).unwrap_or(i64::MAX);
    if there >= here {
        ahead
    } else {
        ahead.saturating_neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake::Fake;

    #[test]
    fn a_clock_is_compared_with_the_middle_of_the_round_trip() {
        assert_eq!(between(1_000, 1_100, 1_050), 0);
        assert_eq!(between(1_000, 1_100, 9_050), 8_000);
        assert_eq!(between(9_000, 9_100, 1_050), -8_000);
        assert_eq!(between(0, 0, u64::MAX), i64::MAX);
    }

    #[test]
    fn a_clock_that_is_more_than_a_day_off_is_not_believed() {
        let (day, more) = (86_400_000, 86_400_001);
        assert!([0, day, -day].into_iter().all(is_believable));
        assert!(
            ![more, -more, i64::MAX, i64::MIN]
                .into_iter()
                .any(is_believable)
        );
    }

    #[test]
    fn what_an_exchange_cannot_tell_changes_nothing() {
        let data = Fake::default();
        note(&data, "p", 500, 20);
        note(&data, "p", 509, 20);
        assert_eq!(ahead_ms(&data, "p"), 500);
        note(&data, "p", 511, 20);
        assert_eq!(ahead_ms(&data, "p"), 511);
        assert_eq!(ahead_ms(&data, "q"), 0);
    }
}
