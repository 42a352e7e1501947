//! A wait that a text tells: "Retry after 60 sec.", "Please try again in 6m0s".

use super::date::rfc3339;
use super::time::{Decimal, Unit};
use crate::classify::body::text;

/// How much behind a phrase is looked at, in bytes: a bound on the work for each place.
const LOOK: usize = 64;
/// The most bytes between a phrase and its number: more than that is another sentence.
const GAP: usize = 24;
/// Words that may stand between a phrase and its number.
const FILLERS: [&str; 9] = [
    "in", "after", "for", "at", "least", "about", "another", "is", "of",
];

/// The wait in ms that follows a phrase, at the first place where one does. The phrase is
/// compared without regard to ASCII case; a number without a unit is in seconds, or a time.
pub(crate) fn after(body: &[u8], phrase: &str, clock_ms: u64) -> Option<u64> {
    let mut rest = body;
    loop {
        rest = text::after(rest, phrase)?;
        let near = rest.get(..LOOK).unwrap_or(rest);
        if let Some(ms) = start(near).and_then(|text| amount(text, clock_ms)) {
            return Some(ms);
        }
    }
}

/// The text from the first digit on, where only a few separators stand before it. A sign is
/// none: what is negative is no wait.
fn start(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while text.len().saturating_sub(rest.len()) <= GAP {
        rest = match rest {
            [b'0'..=b'9', ..] => return Some(rest),
            [
                b' ' | b'\t' | b':' | b'=' | b'~' | b'"' | b'\'' | b'\\' | b'(' | b'[',
                tail @ ..,
            ] => tail,
            _ => {
                let (word, tail) = word(rest);
                if !FILLERS
                    .iter()
                    .any(|filler| filler.as_bytes().eq_ignore_ascii_case(word))
                {
                    return None;
                }
                tail
            }
        };
    }
    None
}

/// The letters that a text begins with, and the rest.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let letters = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    text.split_at_checked(letters).unwrap_or((&[], text))
}

/// The wait that a text begins with: a date, a number, or numbers with ever smaller units.
fn amount(text: &[u8], clock_ms: u64) -> Option<u64> {
    if matches!(text, [_, _, _, _, b'-', b'0'..=b'9', ..]) {
        let date = text
            .split(|b| !(b.is_ascii_alphanumeric() || b"-:.+".contains(b)))
            .next()?;
        let date = date.strip_suffix(b".").unwrap_or(date);
        return rfc3339(date).map(|at| at.saturating_sub(clock_ms));
    }
    let mut total = None;
    let mut last_ms = u64::MAX;
    let mut rest = text;
    while let Some((number, tail)) = Decimal::take(rest) {
        let (name, behind) = word(skip_spaces(tail));
        match unit_ms(name).filter(|ms| *ms < last_ms) {
            Some(ms) => {
                total = Some(total.unwrap_or(0u64).saturating_add(number.of(ms)));
                last_ms = ms;
                rest = joined(behind);
            }
            None if total.is_none() && ends_number(tail) => {
                return Some(number.wait_ms(Unit::Seconds, clock_ms));
            }
            None => break,
        }
    }
    total
}

/// Whether a number without a unit is over here: not in the midst of a word, a time of day, a
/// range, a share, or a number that is written in another way.
fn ends_number(rest: &[u8]) -> bool {
    !matches!(
        rest,
        [b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'%' | 0x80.., ..]
            | [b':' | b'-' | b'+' | b',' | b'.' | b'/', b'0'..=b'9', ..]
    )
}

fn skip_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|b| **b == b' ').count();
    text.get(spaces..).unwrap_or_default()
}

/// What joins two numbers with their units: nothing, spaces, a comma, "and".
fn joined(text: &[u8]) -> &[u8] {
    let text = skip_spaces(text.strip_prefix(b",").unwrap_or(text));
    skip_spaces(text.strip_prefix(b"and").unwrap_or(text))
}

fn unit_ms(name: &[u8]) -> Option<u64> {
    /// Without the plural.
    const UNITS: [(&str, u64); 15] = [
        ("ms", 1),
        ("msec", 1),
        ("milli", 1),
        ("millisecond", 1),
        ("s", 1_000),
        ("sec", 1_000),
        ("second", 1_000),
        ("m", 60_000),
        ("min", 60_000),
        ("minute", 60_000),
        ("h", 3_600_000),
        ("hr", 3_600_000),
        ("hour", 3_600_000),
        ("d", 86_400_000),
        ("day", 86_400_000),
    ];
    let find = |name: &[u8]| {
        UNITS
            .into_iter()
            .find(|(unit, _)| unit.as_bytes().eq_ignore_ascii_case(name))
    };
    let (_, ms) = find(name).or_else(|| match name {
        [one @ .., b's' | b'S'] => find(one),
        _ => None,
    })?;
    Some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    fn wait(body: &str, phrase: &str) -> Option<u64> {
        after(body.as_bytes(), phrase, NOW)
    }

    #[test]
    fn a_wait_is_read_as_services_word_it() {
        for (body, phrase, ms) in [
            (
                "Too many requests. Retry after 60 sec.",
                "retry after",
                60_000,
            ),
            (
                "Rate limit reached. Please try again in 1.2s.",
                "try again in",
                1_200,
            ),
            (
                "Please try again in 6m0s. Visit",
                "please try again",
                360_000,
            ),
            ("wait 20 seconds", "wait", 20_000),
            ("wait for at least 20 second(s)", "wait", 20_000),
            ("in 350ms", "in", 350),
            ("try again in 2 minutes", "TRY AGAIN", 120_000),
            ("try again in 1 hour", "try again", 3_600_000),
            ("try again in 1 day", "try again", 86_400_000),
            ("try again in 2 DAYS", "try again", 172_800_000),
            ("try again in 7 hrs", "try again", 25_200_000),
            ("try again in 5 Msecs", "try again", 5),
            ("try again in 5 milliseconds", "try again", 5),
            ("try again in 1 minute and 30 seconds", "try again", 90_000),
            ("try again in 1 hour, 2 mins", "try again", 3_720_000),
            ("try again in 1h2m3.5s", "try again", 3_723_500),
            ("retry after: 60", "retry after", 60_000),
            ("retry after = '60'", "retry after", 60_000),
            ("{\"retry_after\": 1.25, \"code\": 3}", "retry_after", 1_250),
            ("{\\\"retry_after\\\":60}", "retry_after", 60_000),
            ("{\"reset\":1767225660,\"x\":1}", "reset", 60_000),
            ("{\"reset\":1767225660000}", "reset", 60_000),
            ("available after 2026-01-01T00:01:00Z.", "available", 60_000),
            ("retry after 60 requests", "retry after", 60_000),
            ("retry after 60 sec. 3 errors", "retry after", 60_000),
            ("retry after 60 sec 3 errors", "retry after", 60_000),
            ("retry after 60 sec 3 h", "retry after", 60_000),
            ("retry after 0", "retry after", 0),
            (
                "do not retry after this. Retry after 7 s",
                "retry after",
                7_000,
            ),
            ("retry after retry after 7 s", "retry after", 7_000),
        ] {
            assert_eq!(wait(body, phrase), Some(ms), "{body}");
        }
    }

    #[test]
    fn what_is_no_wait_is_not_guessed_at() {
        for body in [
            "",
            "wait",
            "wait ",
            "wait, 5",
            "wait. 5 errors",
            "wait a while, or 5 minutes",
            "waiting 5",
            "wait -5 seconds",
            "wait +5",
            "wait .5",
            "wait NaN",
            "wait inf",
            "wait 1e3",
            "wait 5xx",
            "wait 3rd",
            "wait 5%",
            "wait 1,000 seconds",
            "wait 10:30",
            "wait 60-90 seconds",
            "wait 1.2.3",
            "wait 1_000",
            "wait 2026-01-01",
            "wait until 5",
            "wait 5µs",
            "wait                                 5",
        ] {
            assert_eq!(wait(body, "wait"), None, "{body}");
        }
        assert_eq!(wait("wait 5", ""), None);
        assert_eq!(wait("5", "a phrase longer than the body"), None);
    }

    proptest! {
        #[test]
        fn no_body_makes_the_reader_panic(body: Vec<u8>, phrase in ".{0,3}", clock: u64) {
            let _ = after(&body, &phrase, clock);
        }

        #[test]
        fn no_text_behind_a_phrase_makes_the_reader_panic(
            body in "wait(( |in|for|-|:|[0-9]{1,22}|\\.|ms|sec|m|h|days|and|,|T|Z){0,12})", clock: u64,
        ) {
            let _ = after(body.as_bytes(), "wait", clock);
        }

        #[test]
        fn a_wait_is_found_wherever_it_stands(before in "[^0-9]{0,80}", seconds in 0u64..100_000, behind in "[^0-9]{0,80}") {
            let body = format!("{before}~Retry after {seconds} sec. {behind}");
            prop_assert_eq!(wait(&body, "retry AFTER"), Some(seconds * 1_000));
        }
    }
}
