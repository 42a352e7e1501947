//! Dates: the three forms of HTTP, and RFC 3339.

use std::time::{Duration, UNIX_EPOCH};

use super::time::{digits, fraction};

/// A mean year of the calendar, in ms.
const YEAR_MS: u64 = 31_556_952_000;
/// From the beginning of March of the year 0 to the epoch.
const EPOCH_DAYS: u64 = 719_468;

/// A date in any of the three forms of RFC 9110, section 5.6.7, as ms since the epoch.
pub(super) fn http_date(text: &str, clock_ms: u64) -> Option<u64> {
    let text = text.trim_ascii();
    // Only the RFC 850 form writes the days in full.
    match text.split_once("day, ") {
        Some((day, rest)) => rfc850(day, rest, clock_ms),
        None => imf_or_asctime(text),
    }
}

fn imf_or_asctime(text: &str) -> Option<u64> {
    let at = httpdate::parse_http_date(text).ok()?;
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).ok()
}

/// The two digits of the year are those of the last such year that is at most fifty years ahead.
/// The crate for dates decides by a fixed year, so it gets the form with four.
fn rfc850(day: &str, rest: &str, clock_ms: u64) -> Option<u64> {
    let (date, time) = rest.split_at_checked(9)?;
    let mut parts = date.split('-');
    let (mday, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let day = day.get(..3)?;
    let century = (clock_ms / YEAR_MS).saturating_add(1970) / 100;
    [
        century.saturating_add(1),
        century,
        century.saturating_sub(1),
    ]
    .into_iter()
    .filter_map(|century| {
        let mut digits = itoa::Buffer::new();
        let century = digits.format(century);
        imf_or_asctime(&[day, ", ", mday, " ", month, " ", century, year, time].concat())
    })
    .find(|at| at.saturating_sub(clock_ms) <= YEAR_MS.saturating_mul(50))
}

/// A date of RFC 3339, section 5.6, as ms since the epoch; before the epoch is zero.
pub(super) fn rfc3339(text: &[u8]) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = date else {
        return None;
    };
    let (time, rest) = rest.split_at_checked(9)?;
    let [b'T' | b't' | b' ', h1, h2, b':', n1, n2, b':', s1, s2] = time else {
        return None;
    };
    let year = all_digits(year)?;
    let month = all_digits(&[*m1, *m2])?;
    let day = all_digits(&[*d1, *d2])?;
    let hour = all_digits(&[*h1, *h2])?;
    let minute = all_digits(&[*n1, *n2])?;
    let second = all_digits(&[*s1, *s2])?;
    // A leap second is the second after it, as POSIX counts.
    if !(1..=12).contains(&month)
        || !(1..=days_of(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let (billionths, zone) = fraction(rest).unwrap_or((0, rest));
    let (ahead, behind) = match zone {
        b"Z" | b"z" => (0, 0),
        [b'+', offset @ ..] => (seconds_of_offset(offset)?, 0),
        [b'-', offset @ ..] => (0, seconds_of_offset(offset)?),
        _ => return None,
    };
    let seconds = days_since_year_0(year, month, day)?
        .saturating_mul(86_400)
        .saturating_add(hour.saturating_mul(3_600))
        .saturating_add(minute.saturating_mul(60))
        .saturating_add(second)
        .saturating_add(behind)
        .saturating_sub(ahead)
        .saturating_sub(EPOCH_DAYS.saturating_mul(86_400));
    Some(
        seconds
            .saturating_mul(1_000)
            .saturating_add(billionths.div_ceil(1_000_000)),
    )
}

fn all_digits(text: &[u8]) -> Option<u64> {
    match digits(text)? {
        (number, []) => Some(number),
        _ => None,
    }
}

fn seconds_of_offset(text: &[u8]) -> Option<u64> {
    let [h1, h2, b':', m1, m2] = text else {
        return None;
    };
    let (hours, minutes) = (all_digits(&[*h1, *h2])?, all_digits(&[*m1, *m2])?);
    (hours < 24 && minutes < 60).then(|| {
        hours
            .saturating_mul(3_600)
            .saturating_add(minutes.saturating_mul(60))
    })
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar from the beginning of March of the year 0 on. Years that begin
/// with March have the leap day as their last.
fn days_since_year_0(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_early = month <= 2;
    let year = year.saturating_sub(u64::from(is_early));
    let month = if is_early {
        month.checked_add(9)?
    } else {
        month.checked_sub(3)?
    };
    // Five months from March, and again from August, have 153 days.
    let of_year = month.checked_mul(153)?.checked_add(2)? / 5;
    // A day less, since days count from 1.
    year.checked_mul(365)?
        .checked_add(year / 4)?
        .checked_sub(year / 100)?
        .checked_add(year / 400)?
        .checked_add(of_year)?
        .checked_add(day)?
        .checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    #[test]
    fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
        let year = |text: &str, now: &str| {
            let at = http_date(text, rfc3339(now.as_bytes()).unwrap()).unwrap();
            1970 + at / YEAR_MS
        };
        for (text, now, expected) in [
            (
                "Sunday, 06-Nov-94 08:49:37 GMT",
                "2026-01-01T00:00:00Z",
                1994,
            ),
            (
                "Wednesday, 06-Nov-75 08:49:37 GMT",
                "2026-01-01T00:00:00Z",
                2075,
            ),
            (
                "Thursday, 05-May-77 08:49:37 GMT",
                "2026-01-01T00:00:00Z",
                1977,
            ),
            (
                "Thursday, 05-May-77 08:49:37 GMT",
                "1976-01-01T00:00:00Z",
                1977,
            ),
            (
                "Wednesday, 05-May-77 08:49:37 GMT",
                "2028-01-01T00:00:00Z",
                2077,
            ),
            (
                "Saturday, 01-May-99 00:00:00 GMT",
                "2001-01-01T00:00:00Z",
                1999,
            ),
            (
                "Sunday, 01-May-01 00:00:00 GMT",
                "2099-06-01T00:00:00Z",
                2101,
            ),
        ] {
            assert_eq!(year(text, now), expected, "{text} at {now}");
        }
        // No year within reach has that day on a Monday.
        assert_eq!(http_date("Monday, 01-May-01 00:00:00 GMT", NOW), None);
        assert_eq!(http_date("Sunday, 06-Nov-94 08:49:37 GMT", u64::MAX), None);
    }

    #[test]
    fn dates_that_are_none_are_not_guessed_at() {
        for text in [
            "Thu, 32 Jan 2026 00:00:30 GMT",
            "Fri, 01 Jan 2026 00:00:30 GMT",
            "Thu, 01 Jan 2026 00:00:30",
            "Thu, 01 Jan 2026 00:00:30 +0100",
            "Thu, 01 Jan 26 00:00:30 GMT",
            "Thursday, 01-Jan-26 00:00:30",
            "Thursday, 01-Jan-2026 00:00:30 GMT",
            "Thursday, ",
            "day, 01-Jan-26 00:00:30 GMT",
            "Jänday, 01-Jän-26 00:00:30 GMT",
            "Thu Jan  1 00:00:30 26",
            "2026-01-01",
            "2026-01-01T00:00:30",
            "2026-13-01T00:00:30Z",
            "2026-00-01T00:00:30Z",
            "2026-02-29T00:00:30Z",
            "2100-02-29T00:00:30Z",
            "2026-04-31T00:00:30Z",
            "2026-01-00T00:00:30Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:30.Z",
            "2026-01-01T00:00:30+0100",
            "2026-01-01T00:00:30+24:00",
            "2026-01-01T00:00:30Z ago",
            "-026-01-01T00:00:30Z",
            "2026-1-1T00:00:30Z",
        ] {
            let at = http_date(text, NOW).or_else(|| rfc3339(text.as_bytes()));
            assert_eq!(at, None, "{text}");
        }
    }

    #[test]
    fn rfc_3339_is_read_with_fractions_offsets_and_leap_seconds() {
        for (text, at) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", 0),
            ("0000-01-01T00:00:00Z", 0),
            ("1970-01-01T01:00:00+02:00", 0),
            ("1970-01-01T00:00:00-01:00", 3_600_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("2026-01-01T00:00:00Z", NOW),
            ("2026-01-01 00:00:00z", NOW),
            ("2026-01-01t01:30:00.25+01:30", NOW + 250),
            ("2025-12-31T23:59:60Z", NOW),
            ("2025-12-31T23:59:59.9999Z", NOW),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ] {
            assert_eq!(rfc3339(text.as_bytes()), Some(at), "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_calendars_agree(seconds in 0u64..253_402_300_800) {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
            let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
            let month = months.find(&date[8..11]).unwrap() / 3 + 1;
            let text = format!("{}-{month:02}-{}T{}Z", &date[12..16], &date[5..7], &date[17..25]);
            prop_assert_eq!(rfc3339(text.as_bytes()), Some(seconds * 1_000));
            prop_assert_eq!(http_date(&date, NOW), Some(seconds * 1_000));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text: String, clock: u64) {
            let _ = (http_date(&text, clock), rfc3339(text.as_bytes()));
        }
    }
}
