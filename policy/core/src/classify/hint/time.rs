//! How a wait is written: numbers with a unit, dates, and durations such as "1m30s".
//!
//! All arithmetic is of integers and saturates: what does not fit is as good as for ever. A
//! fraction of a millisecond is rounded up, so that nobody comes back too early.

use super::date::{http_date, rfc3339};

/// From here on a number is a time, not a span: seconds since the epoch (`withcoral/coral#89`).
const TIME_FROM: u64 = 1_000_000_000;
/// And from here on milliseconds since the epoch.
const TIME_MS_FROM: u64 = 1_000_000_000_000;
/// What a number stands for, or how a wait is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    EpochSeconds,
    EpochMilliseconds,
    /// Any of HTTP's forms, or RFC 3339.
    Date,
    /// As Go and protobuf's JSON write one.
    Duration,
    /// A number of seconds, a date, or a duration.
    Auto,
}

/// A number without sign or exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    whole: u64,
    /// What follows the point, in billionths, rounded up.
    billionths: u64,
}

impl Decimal {
    /// The number that a text begins with, and what follows it.
    pub(super) fn take(text: &[u8]) -> Option<(Self, &[u8])> {
        let (whole, rest) = digits(text)?;
        let (billionths, rest) = fraction(rest).unwrap_or((0, rest));
        Some((Self { whole, billionths }, rest))
    }

    /// The number that a text is.
    pub(super) fn read(text: &str) -> Option<Self> {
        match Self::take(text.trim_ascii().as_bytes())? {
            (number, []) => Some(number),
            _ => None,
        }
    }

    pub(super) const fn is_zero(self) -> bool {
        self.whole == 0 && self.billionths == 0
    }

    /// This many of a unit of so many ms.
    pub(super) const fn of(self, unit_ms: u64) -> u64 {
        self.whole.saturating_mul(unit_ms).saturating_add(
            self.billionths
                .saturating_mul(unit_ms)
                .div_ceil(1_000_000_000),
        )
    }

    /// As a span in ms. Large numbers are times whatever their unit is said to be: no service
    /// asks for thirty years.
    pub(super) const fn wait_ms(self, unit: Unit, clock_ms: u64) -> u64 {
        match self.whole {
            TIME_MS_FROM.. => self.of(1).saturating_sub(clock_ms),
            TIME_FROM.. => self.of(1_000).saturating_sub(clock_ms),
            _ => match unit {
                Unit::Milliseconds => self.of(1),
                Unit::EpochSeconds | Unit::EpochMilliseconds => 0,
                _ => self.of(1_000),
            },
        }
    }
}

pub(super) fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut rest = text;
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(digit.saturating_sub(b'0')));
        rest = tail;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// A point and the digits behind it, as billionths.
pub(super) fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let [b'.', all @ ..] = text else {
        return None;
    };
    let mut weight = 100_000_000u64;
    let mut sum = 0u64;
    let mut beyond = false;
    let mut rest = all;
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        let digit = u64::from(digit.saturating_sub(b'0'));
        beyond |= weight == 0 && digit > 0;
        sum = sum.saturating_add(digit.saturating_mul(weight));
        weight /= 10;
        rest = tail;
    }
    (rest.len() < all.len()).then_some((sum.saturating_add(u64::from(beyond)), rest))
}

/// What a hint in this unit says, as a span in ms. A time in the past is zero.
pub(crate) fn read(text: &str, unit: Unit, clock_ms: u64) -> Option<u64> {
    match unit {
        Unit::Date => moment(text, clock_ms),
        Unit::Duration => duration(text),
        Unit::Auto => number_or_moment(text, unit, clock_ms).or_else(|| duration(text)),
        _ => number(text, unit, clock_ms),
    }
}

fn number(text: &str, unit: Unit, clock_ms: u64) -> Option<u64> {
    Decimal::read(text).map(|number| number.wait_ms(unit, clock_ms))
}

/// What headers about waiting hold: a number of this unit, or a date.
pub(super) fn number_or_moment(text: &str, unit: Unit, clock_ms: u64) -> Option<u64> {
    number(text, unit, clock_ms).or_else(|| moment(text, clock_ms))
}

fn moment(text: &str, clock_ms: u64) -> Option<u64> {
    http_date(text, clock_ms)
        .or_else(|| rfc3339(text.trim_ascii().as_bytes()))
        .map(|at| at.saturating_sub(clock_ms))
}

/// A sum of numbers with units: Go's `time.Duration`, and `google.protobuf.Duration` in JSON.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim_ascii().as_bytes();
    let mut total = None;
    while !rest.is_empty() {
        let (number, tail) = Decimal::take(rest)?;
        let (ms, tail) = match tail {
            [b'n', b's', tail @ ..] => (number.of(1).div_ceil(1_000_000), tail),
            // The micro sign, and the Greek letter.
            [b'u', b's', tail @ ..]
            | [0xc2, 0xb5, b's', tail @ ..]
            | [0xce, 0xbc, b's', tail @ ..] => (number.of(1).div_ceil(1_000), tail),
            [b'm', b's', tail @ ..] => (number.of(1), tail),
            [b's', tail @ ..] => (number.of(1_000), tail),
            [b'm', tail @ ..] => (number.of(60_000), tail),
            [b'h', tail @ ..] => (number.of(3_600_000), tail),
            [b'd', tail @ ..] => (number.of(86_400_000), tail),
            _ => return None,
        };
        total = Some(total.unwrap_or(0u64).saturating_add(ms));
        rest = tail;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    #[test]
    fn seconds_dates_and_decimals_are_read() {
        for (text, ms) in [
            ("0", 0),
            ("120", 120_000),
            (" 7 ", 7_000),
            ("007", 7_000),
            ("1.5", 1_500),
            ("0.0001", 1),
            ("2.0000000000001", 2_001),
            ("2.0000000000000", 2_000),
            ("Thu, 01 Jan 2026 00:00:30 GMT", 30_000),
            ("Thursday, 01-Jan-26 00:00:30 GMT", 30_000),
            ("Thu Jan  1 00:00:30 2026", 30_000),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("999999999", 999_999_999_000),
            ("1767225660", 60_000),
            ("1767225660.25", 60_250),
            ("1767225660000", 60_000),
            ("1600000000", 0),
            ("1600000000000", 0),
            ("2026-01-01T00:00:30Z", 30_000),
        ] {
            assert_eq!(
                number_or_moment(text, Unit::Seconds, NOW),
                Some(ms),
                "{text}"
            );
            assert_eq!(read(text, Unit::Auto, NOW), Some(ms), "{text}");
        }
        let long = "9".repeat(400);
        assert!(number_or_moment(&long, Unit::Seconds, NOW).unwrap() > u64::MAX / 2);
    }

    #[test]
    fn what_is_outside_the_grammar_is_no_hint() {
        for text in [
            "", " ", "-3", "+5", "-0", "NaN", "nan", "inf", "Infinity", "-inf", "1e3", "1E9", "1.",
            ".5", "1.5.2", "1,5", "soon", "0x10", "٣", "1_000", "1 000", "5;", "null", "true",
            "\"5\"", "2026", "1.5 2", "5\u{a0}",
        ] {
            let expected = (text == "2026").then_some(2_026_000);
            for unit in [Unit::Seconds, Unit::Auto] {
                assert_eq!(read(text, unit, NOW), expected, "{text:?} {unit:?}");
            }
            assert_eq!(read(text, Unit::Date, NOW), None, "{text:?}");
        }
        assert_eq!(number_or_moment("12s", Unit::Seconds, NOW), None);
    }

    #[test]
    fn a_number_below_the_epochs_has_the_unit_that_was_said_and_a_larger_one_is_a_time() {
        use Unit::{EpochMilliseconds, EpochSeconds, Milliseconds, Seconds};
        for (text, unit, ms) in [
            ("850", Milliseconds, 850),
            ("850.2", Milliseconds, 851),
            ("1767225660", Milliseconds, 60_000),
            ("1767225660000", Milliseconds, 60_000),
            ("30", EpochSeconds, 0),
            ("30", EpochMilliseconds, 0),
            ("1767225660", EpochSeconds, 60_000),
            ("1767225660000", EpochSeconds, 60_000),
            ("1767225660000", EpochMilliseconds, 60_000),
            ("30", Seconds, 30_000),
        ] {
            assert_eq!(read(text, unit, NOW), Some(ms), "{text} {unit:?}");
        }
    }

    #[test]
    fn durations_are_read_as_go_and_protobuf_write_them() {
        for (text, ms) in [
            ("36s", 36_000),
            ("1.5s", 1_500),
            ("350ms", 350),
            ("1m30s", 90_000),
            ("6m0s", 360_000),
            ("2h", 7_200_000),
            ("1h2m3.004s", 3_723_004),
            ("1d", 86_400_000),
            ("2m59.56s", 179_560),
            ("0.000000001s", 1),
            ("34.074824224s", 34_075),
            ("1.5h", 5_400_000),
            ("500ns", 1),
            ("350µs", 1),
            ("1500us", 2),
            ("0s", 0),
        ] {
            assert_eq!(read(text, Unit::Duration, NOW), Some(ms), "{text}");
            assert_eq!(read(text, Unit::Auto, NOW), Some(ms), "{text}");
        }
        for text in [
            "", "36", "s", "-36s", "+1s", "1e3s", "1 s", "1m30", "1y", "1.s", "36S", "ü",
        ] {
            assert_eq!(read(text, Unit::Duration, NOW), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text: String, clock: u64) {
            for unit in [
                Unit::Seconds, Unit::Milliseconds, Unit::EpochSeconds, Unit::EpochMilliseconds,
                Unit::Date, Unit::Duration, Unit::Auto,
            ] {
                let _ = read(&text, unit, clock);
            }
        }

        #[test]
        fn what_looks_like_a_time_makes_no_reader_panic(
            text in "[0-9.:TZ+, -]{0,40}|[A-Z][a-z]{2,5}(day)?,? ?[0-9]{1,4}[- ][A-Za-z]{3}[- ][0-9]{1,5} [0-9:]{1,9} ?(GMT)?",
            clock: u64,
        ) {
            let _ = read(&text, Unit::Auto, clock);
        }

        #[test]
        fn a_span_is_what_it_says(seconds in 0u64..1_000_000_000, ms in 0u64..1_000, clock: u64) {
            let text = format!("{seconds}.{ms:03}");
            prop_assert_eq!(read(&text, Unit::Seconds, clock), Some(seconds * 1_000 + ms));
            prop_assert_eq!(read(&format!("{text}s"), Unit::Auto, clock), Some(seconds * 1_000 + ms));
        }
    }
}
