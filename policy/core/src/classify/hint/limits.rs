//! What a service tells of its rate limits: the `RateLimit` field of the IETF draft
//! (draft-ietf-httpapi-ratelimit-headers), and the older fields that name a reset.
//!
//! Both stand on good answers too, so they only ever say how long a refused client waits.

use super::time::{Decimal, Unit, number_or_moment};
use super::{first_in_list, values};
use crate::observation::Response;

/// The fields that name a reset, each with the one that says how much is left until then.
pub(super) const RESETS: [(&str, &str); 3] = [
    ("ratelimit-reset", "ratelimit-remaining"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-rate-limit-reset", "x-rate-limit-remaining"),
];

/// The wait that the first usable reset tells, in ms, and where.
pub(super) fn reset(response: &Response, clock_ms: u64) -> Option<(u64, &'static str)> {
    RESETS.into_iter().find_map(|(reset, remaining)| {
        if is_left(response, remaining) {
            return None;
        }
        let wait_ms = values(response, reset).find_map(|text| {
            // Seconds, a time, or a date: milliseconds alone cannot be told from seconds.
            first_in_list(text, |text| number_or_moment(text, Unit::Seconds, clock_ms))
        })?;
        Some((wait_ms, reset))
    })
}

/// Whether there is something left under every limit: then another limit refused the call, and
/// the reset of this one is not what to wait for.
fn is_left(response: &Response, remaining: &'static str) -> bool {
    let mut numbers = values(response, remaining)
        .flat_map(|text| text.split(','))
        .map(Decimal::read)
        .peekable();
    numbers.peek().is_some() && numbers.all(|number| number.is_some_and(|n| !n.is_zero()))
}

/// The longest wait, in ms, that the exhausted policies of `RateLimit` tell. All fields of that
/// name are one list (RFC 9651, section 4.2), and a malformed list is ignored as a whole, as the
/// draft wants it.
pub(super) fn rate_limit(response: &Response, clock_ms: u64) -> Option<u64> {
    let mut wait = None;
    for text in values(response, "ratelimit") {
        let mut rest = text.trim_ascii().as_bytes();
        while !rest.is_empty() {
            let (policy, tail) = policy(rest)?;
            if policy.remaining == 0 {
                let until = policy.reset.map(|t| t.wait_ms(Unit::Seconds, clock_ms));
                wait = wait.max(until);
            }
            rest = match skip(tail, b" \t") {
                [] => &[],
                [b',', tail @ ..] => match skip(tail, b" \t") {
                    [] => return None,
                    tail => tail,
                },
                _ => return None,
            };
        }
    }
    wait
}

struct Policy {
    remaining: u64,
    reset: Option<Decimal>,
}

/// One member of the list: `"name";r=0;t=12`, with other parameters in any order.
fn policy(text: &[u8]) -> Option<(Policy, &[u8])> {
    let (_, mut rest) = match text {
        // The draft wants a string; an early form of it had tokens.
        [b'"' | b'*' | b'a'..=b'z' | b'A'..=b'Z', ..] => value(text)?,
        _ => return None,
    };
    let (mut remaining, mut reset) = (None, None);
    while let [b';', tail @ ..] = rest {
        let tail = skip(tail, b" ");
        let end = count(tail, is_key);
        let (key, tail) = tail.split_at_checked(end)?;
        if !matches!(key, [b'a'..=b'z' | b'*', ..]) {
            return None;
        }
        let (number, tail) = match tail {
            [b'=', tail @ ..] => value(tail)?,
            _ => (None, tail),
        };
        match key {
            b"r" => remaining = Some(number?),
            b"t" => reset = Some(number?),
            _ => {}
        }
        rest = tail;
    }
    let policy = Policy {
        remaining: remaining?.of(1),
        reset,
    };
    Some((policy, rest))
}

/// A bare item (RFC 9651, section 3.3): the number where it is an integer without sign, and
/// what follows it.
fn value(text: &[u8]) -> Option<(Option<Decimal>, &[u8])> {
    match text {
        [b'0'..=b'9', ..] => number(text),
        [b'-' | b'@', tail @ ..] => {
            let tail = match text {
                [b'@', b'-', tail @ ..] => tail,
                _ => tail,
            };
            number(tail).map(|(_, rest)| (None, rest))
        }
        [b'"', tail @ ..] | [b'%', b'"', tail @ ..] => string(tail).map(|rest| (None, rest)),
        [b':', tail @ ..] => match skip_while(tail, is_base64) {
            [b':', rest @ ..] => Some((None, rest)),
            _ => None,
        },
        [b'?', b'0' | b'1', rest @ ..] => Some((None, rest)),
        [b'*' | b'a'..=b'z' | b'A'..=b'Z', ..] => Some((None, skip_while(text, is_token))),
        _ => None,
    }
}

/// At most fifteen digits, or twelve and three behind a point (RFC 9651, section 4.2.4).
fn number(text: &[u8]) -> Option<(Option<Decimal>, &[u8])> {
    let (number, rest) = Decimal::take(text)?;
    let digits = count(text, |b| b.is_ascii_digit());
    let length = text.len().checked_sub(rest.len())?;
    if length == digits {
        return (digits <= 15 && !matches!(rest, [b'.', ..])).then_some((Some(number), rest));
    }
    (digits <= 12 && length.saturating_sub(digits) <= 4).then_some((None, rest))
}

/// What follows the closing quotation mark.
fn string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest {
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'"' | b'\\', tail @ ..] => tail,
            [b'\\', ..] => return None,
            [b' '..=b'~', tail @ ..] => tail,
            _ => return None,
        };
    }
}

fn is_key(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn count(text: &[u8], is: fn(u8) -> bool) -> usize {
    text.iter().take_while(|b| is(**b)).count()
}

fn skip_while(text: &[u8], is: fn(u8) -> bool) -> &[u8] {
    text.get(count(text, is)..).unwrap_or_default()
}

fn skip<'a>(text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    let skipped = text.iter().take_while(|b| bytes.contains(b)).count();
    text.get(skipped..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::hint::tests::response;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    fn wait(text: &str) -> Option<u64> {
        rate_limit(&response(&[("RateLimit", text)]), NOW)
    }

    #[test]
    fn the_longest_wait_of_the_exhausted_policies_counts() {
        for (text, ms) in [
            (r#""default";r=0;t=12"#, Some(12_000)),
            (r#""burst";r=4;t=2, "daily";r=0;t=5400"#, Some(5_400_000)),
            (r#""burst";r=0;t=2,"daily";r=0;t=60"#, Some(60_000)),
            (r#""burst";r=0;t=60 ,	"daily";r=0;t=2"#, Some(60_000)),
            (r#""burst";r=9;t=2"#, None),
            (r#""burst";r=0"#, None),
            (r#""burst";t=3;r=0;pk=:cHsdsRa894==:"#, Some(3_000)),
            (
                r#""burst"; r=0; t=3; q=10; w=1.5; x; y=?1; z="a\"b"; d=@-1; s=-2"#,
                Some(3_000),
            ),
            (r#""a \\ \" , b";r=0;t=3"#, Some(3_000)),
            ("default;r=0;t=12", Some(12_000)),
            (r#""burst";r=5;r=0;t=3"#, Some(3_000)),
            (r#""burst";r=0;t=1767225660"#, Some(60_000)),
            ("", None),
        ] {
            assert_eq!(wait(text), ms, "{text}");
        }
    }

    #[test]
    fn a_malformed_field_is_ignored_as_a_whole() {
        for text in [
            "default r=0 t=x",
            r#""a";r=0;t=5, "b";r=0;t=x"#,
            r#""a";r=0;t=5,"#,
            r#", "a";r=0;t=5"#,
            r#""a";r=0;t=-5"#,
            r#""a";r=0;t=1.5"#,
            r#""a";r=0;t=5."#,
            r#""a";r=-1;t=5"#,
            r#""a";r;t=5"#,
            r#""a";t=5"#,
            r#""a";r=0;t=1000000000000000"#,
            r#""a";r=0;T=5"#,
            r#""a";r=0;t =5"#,
            r#""a;r=0;t=5"#,
            r#""a\x";r=0;t=5"#,
            "\"ä\";r=0;t=5",
            r#"("a" "b");r=0;t=5"#,
            "5;r=0;t=5",
            "limit=10, remaining=0, reset=5",
            r#""a";r=0;t=5 x"#,
            r#""a";r=0;;t=5"#,
            r#""a";r=0;p=:a b:;t=5"#,
        ] {
            assert_eq!(wait(text), None, "{text}");
        }
        let both = response(&[("ratelimit", r#""a";r=0;t=5"#), ("ratelimit", "broken r")]);
        assert_eq!(rate_limit(&both, NOW), None);
    }

    #[test]
    fn several_fields_are_one_list() {
        let two = response(&[
            ("ratelimit", r#""a";r=0;t=5"#),
            ("RateLimit", r#""b";r=0;t=7, "c";r=1;t=90"#),
        ]);
        assert_eq!(rate_limit(&two, NOW), Some(7_000));
    }

    #[test]
    fn a_reset_is_read_in_every_form_that_services_send() {
        for (text, ms) in [
            ("53", 53_000),
            ("1.5", 1_500),
            ("1767225625", 25_000),
            ("1767225625000", 25_000),
            ("1767225000", 0),
            ("Thu, 01 Jan 2026 00:00:25 GMT", 25_000),
            ("2026-01-01T00:00:25Z", 25_000),
            ("2026-01-01T01:00:25.5+01:00", 25_500),
        ] {
            for (name, remaining) in RESETS {
                for left in [
                    &[][..],
                    &[(remaining, "0")],
                    &[(remaining, "-1")],
                    &[(remaining, "?")],
                ] {
                    let all = [&[(name, text)], left].concat();
                    assert_eq!(reset(&response(&all), NOW), Some((ms, name)), "{all:?}");
                }
                for left in ["1", "0.5", " 12 ", "3, 4"] {
                    let all = [(name, text), (remaining, left)];
                    assert_eq!(reset(&response(&all), NOW), None, "{all:?}");
                }
            }
        }
    }

    #[test]
    fn the_reset_of_a_limit_that_is_not_used_up_leaves_the_word_to_the_next() {
        let two = response(&[
            ("ratelimit-reset", "53"),
            ("ratelimit-remaining", "10"),
            ("x-ratelimit-reset", "soon"),
            ("x-rate-limit-reset", "4"),
            ("x-rate-limit-remaining", "5, 0"),
        ]);
        assert_eq!(reset(&two, NOW), Some((4_000, "x-rate-limit-reset")));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text: String, left: String, clock: u64) {
            let _ = rate_limit(&response(&[("ratelimit", &text), ("ratelimit", &left)]), clock);
            let _ = reset(&response(&[("ratelimit-reset", &text), ("ratelimit-remaining", &left)]), clock);
        }

        #[test]
        fn what_looks_like_a_list_makes_no_reader_panic(text in "[\"a;rt=0-9.,:?@%* \\\\]{0,40}", clock: u64) {
            let _ = rate_limit(&response(&[("ratelimit", &text)]), clock);
        }

        #[test]
        fn what_was_written_is_read(
            policies in prop::collection::vec(("[a-z\\\\ ,;=]{0,6}", 0u64..3, 0u64..100_000), 1..5),
        ) {
            let text: Vec<_> = policies
                .iter()
                .map(|(name, r, t)| format!("\"{}\";r={r};t={t}", name.replace('\\', "\\\\")))
                .collect();
            let longest = policies.iter().filter(|p| p.1 == 0).map(|p| p.2 * 1_000).max();
            prop_assert_eq!(wait(&text.join(", ")), longest);
        }
    }
}
