//! The formula. Pure: from counts to a share, and from a share to a decision.
//!
//! Of `requests` that the fleet wanted to make within the window the provider accepted `accepts`.
//! As long as it accepts at least one of K, every call is made. Beyond that a call is refused with
//! the chance
//!
//! ```text
//! max(0, (requests - K * accepts) / (requests + 1))
//! ```
//!
//! so that about K times as many calls are made as are accepted. Refused calls are requests too:
//! the more callers want beyond that, the more is refused. ("Handling Overload", in: Site
//! Reliability Engineering, O'Reilly 2016, chapter 21, "Client-Side Throttling".)

use crate::config::Settings;

/// How many buckets a window has: what falls out of it does so a tenth at a time.
const BUCKETS: u64 = 10;

/// What became of the calls to one provider within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Made, and the provider did its part.
    pub(crate) accepted: u64,
    /// Made, and the provider failed.
    pub(crate) failed: u64,
    /// Not made: refused here.
    pub(crate) refused: u64,
}

impl Counts {
    pub(crate) fn requests(self) -> u64 {
        self.accepted
            .saturating_add(self.failed)
            .saturating_add(self.refused)
    }
}

/// The share of calls that is to be refused: from 0 to what is configured as the most.
pub(crate) fn share(counts: Counts, settings: &Settings) -> f64 {
    if counts.requests() < settings.minimum {
        return 0.0;
    }
    let requests = counts.requests() as f64;
    let excess = requests - settings.k * counts.accepted as f64;
    // Not `clamp`, which can panic, and brings along how numbers are printed: 20 KB.
    (excess / (requests + 1.0))
        .max(0.0)
        .min(settings.refuse_at_most)
}

/// Whether the call with these random bits is one of that share.
pub(crate) fn refuses(share: f64, entropy: u64) -> bool {
    unit(entropy) < share
}

/// A number from 0 (inclusive) to 1 (exclusive), evenly distributed, of 64 random bits.
///
/// The bits are mixed first (SplitMix64's finaliser), so that a host, or a test, that counts
/// upwards instead of drawing gets an even distribution as well.
pub(crate) fn unit(entropy: u64) -> f64 {
    // As many bits as a double holds.
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    let mut bits = entropy.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 * STEP
}

/// How wide a bucket of a window is, in ms.
pub(crate) fn bucket_ms(window_ms: u64) -> u64 {
    window_ms.checked_div(BUCKETS).unwrap_or(0).max(1)
}

/// The time at which the bucket of this moment begins.
pub(crate) fn bucket(window_ms: u64, now_ms: u64) -> u64 {
    let into = now_ms.checked_rem(bucket_ms(window_ms)).unwrap_or(0);
    now_ms.saturating_sub(into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(accepted: u64, failed: u64, refused: u64) -> Counts {
        Counts {
            accepted,
            failed,
            refused,
        }
    }

    #[test]
    fn nothing_is_refused_while_one_of_k_is_accepted() {
        let settings = Settings::default();
        assert_eq!(share(counts(50, 50, 0), &settings), 0.0);
        assert!(share(counts(49, 51, 0), &settings) > 0.0);
    }

    #[test]
    fn the_share_is_the_books() {
        let settings = Settings::default();
        // 100 requests, 30 accepted: (100 - 60) / 101.
        assert_eq!(share(counts(30, 50, 20), &settings), 40.0 / 101.0);
        let eager = Settings {
            k: 1.1,
            ..Settings::default()
        };
        assert_eq!(share(counts(30, 70, 0), &eager), (100.0 - 33.0) / 101.0);
    }

    #[test]
    fn nothing_is_refused_on_the_word_of_a_few_calls() {
        let settings = Settings::default();
        assert_eq!(share(counts(0, settings.minimum - 1, 0), &settings), 0.0);
        assert!(share(counts(0, settings.minimum, 0), &settings) > 0.9);
    }

    #[test]
    fn a_bucket_begins_where_the_one_before_ends() {
        let window_ms = 120_000;
        assert_eq!(bucket(window_ms, 11_999), 0);
        assert_eq!(bucket(window_ms, 12_000), 12_000);
        assert_eq!(bucket(3, 7), 7);
    }

    #[test]
    fn numbers_that_are_counted_upwards_refuse_the_share_too() {
        for share in [0.1, 0.5, 0.9] {
            let refused = (0..10_000).filter(|bits| refuses(share, *bits)).count();
            let expected = share * 10_000.0;
            // Four standard deviations.
            let spread = 4.0 * (10_000.0 * share * (1.0 - share)).sqrt();
            assert!((refused as f64 - expected).abs() < spread, "{refused}");
        }
    }

    proptest! {
        #[test]
        fn some_calls_are_always_let_through(a: u64, f: u64, r: u64, k in 1.0..=100.0, most in 0.0..=0.99) {
            let settings = Settings { k, refuse_at_most: most, ..Settings::default() };
            let share = share(counts(a, f, r), &settings);
            prop_assert!((0.0..=most).contains(&share));
        }

        #[test]
        fn a_failure_never_lowers_the_share_and_an_accept_never_raises_it(
            a in 0..1u64 << 40, f in 0..1u64 << 40, r in 0..1u64 << 40,
        ) {
            // From the minimum on: below it the first call to reach it raises the share, whatever
            // became of it.
            let settings = Settings { minimum: 0, ..Settings::default() };
            let now = share(counts(a, f, r), &settings);
            prop_assert!(share(counts(a, f + 1, r), &settings) >= now);
            prop_assert!(share(counts(a, f, r + 1), &settings) >= now);
            prop_assert!(share(counts(a + 1, f, r), &settings) <= now);
        }

        #[test]
        fn random_bits_become_a_number_below_one(entropy: u64) {
            prop_assert!((0.0..1.0).contains(&unit(entropy)));
        }

        #[test]
        fn a_moment_lies_in_its_bucket(window_ms in 1..u64::MAX, now_ms: u64) {
            let begins = bucket(window_ms, now_ms);
            prop_assert!(begins <= now_ms && now_ms - begins < bucket_ms(window_ms));
        }
    }
}
