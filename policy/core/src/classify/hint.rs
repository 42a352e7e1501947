//! Retry-After (RFC 9110, section 10.2.3): a number of seconds, or a date in any of the three
//! forms of section 5.6.7.

use std::time::{Duration, UNIX_EPOCH};

use crate::observation::Response;

/// From here on a number is a time, not a span: seconds since the epoch (`withcoral/coral#89`).
const TIME_FROM: u64 = 1_000_000_000;
/// And from here on milliseconds since the epoch.
const TIME_MS_FROM: u64 = 1_000_000_000_000;

/// The provider's own word on when to come back, as a span in ms from `now_ms`.
///
/// What is outside the grammar (signs, exponents, `NaN`, words, an empty field) is no word at
/// all; plain decimals are accepted, since LLM APIs send them. A date in the past is zero.
pub(super) fn retry_after_ms(response: &Response, now_ms: u64) -> Option<u64> {
    parse(response.header("retry-after")?.trim_ascii(), now_ms)
}

fn parse(text: &str, now_ms: u64) -> Option<u64> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return parse_number(text, now_ms);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let at = date.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Some(
        u64::try_from(at.as_millis())
            .unwrap_or(u64::MAX)
            .saturating_sub(now_ms),
    )
}

fn parse_number(text: &str, now_ms: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // Digits alone: what does not fit is as good as for ever.
    let number: u64 = whole.parse().unwrap_or(u64::MAX);
    // The first three digits, those that are not there being zeros.
    let thousandths =
        [100u64, 10, 1]
            .into_iter()
            .zip(fraction.bytes())
            .fold(0u64, |sum, (weight, digit)| {
                sum.saturating_add(weight.saturating_mul(u64::from(digit.saturating_sub(b'0'))))
            });
    let ms = number.saturating_mul(1_000).saturating_add(thousandths);
    Some(if number >= TIME_MS_FROM {
        number.saturating_sub(now_ms)
    } else if number >= TIME_FROM {
        ms.saturating_sub(now_ms)
    } else {
        ms
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    #[test]
    fn seconds_dates_and_decimals_are_read() {
        for (text, ms) in [
            ("0", 0),
            ("120", 120_000),
            ("1.5", 1_500),
            ("Thu, 01 Jan 2026 00:00:30 GMT", 30_000),
            ("Thursday, 01-Jan-26 00:00:30 GMT", 30_000),
            ("Thu Jan  1 00:00:30 2026", 30_000),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("1767225660", 60_000),
            ("1767225660000", 60_000),
            ("1600000000", 0),
        ] {
            assert_eq!(parse(text, NOW), Some(ms), "{text}");
        }
        assert!(parse(&"9".repeat(400), NOW).unwrap() > u64::MAX / 2);
    }

    #[test]
    fn what_is_outside_the_grammar_is_no_hint() {
        for text in [
            "", "-3", "+5", "NaN", "inf", "1e3", "1.", ".5", "1.5.2", "soon", "12s", "0x10", "٣",
        ] {
            assert_eq!(parse(text, NOW), None, "{text}");
        }
    }
}
