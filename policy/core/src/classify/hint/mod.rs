//! When a provider wants to be asked again.
//!
//! | module | subject |
//! |---|---|
//! | [`time`] | how a wait is written |
//! | [`date`] | dates |
//! | [`limits`] | `RateLimit`, and the fields that name a reset |
//! | [`text`] | a wait in a text |
//!
//! The order: a field in milliseconds, `Retry-After`, the exhausted policies of `RateLimit`, the
//! reset of a limit. A field that makes no sense is one that is not there. What comes out is
//! neither clamped nor held against a floor: both depend on the verdict.

mod date;
mod limits;
pub(crate) mod text;
mod time;

pub(crate) use self::time::{Unit, read};
use crate::observation::Response;

/// A provider's word on when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    /// A span; zero where the time is past.
    pub(crate) wait_ms: u64,
    /// The field that told it.
    pub(crate) source: &'static str,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Asked of this client: holds for any failure.
    Asked,
    /// The reset of a limit, which good answers carry too: holds where the limit was met.
    Limit,
}

/// The best hint of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hints {
    pub(crate) asked: Option<Hint>,
    pub(crate) limit: Option<Hint>,
}

/// Every header that is looked at here, in lower case.
pub(crate) const HEADERS: &[&str] = &[
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "retry-after",
    "ratelimit",
    "ratelimit-reset",
    "ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-remaining",
    "x-rate-limit-reset",
    "x-rate-limit-remaining",
    "date",
    "age",
];

/// Fields that ask, the best first, each with what its numbers are.
const ASKING: [(&str, Unit); 4] = [
    ("retry-after-ms", Unit::Milliseconds),
    ("x-ms-retry-after-ms", Unit::Milliseconds),
    ("x-amz-retry-after", Unit::Milliseconds),
    ("retry-after", Unit::Seconds),
];

/// What the headers say.
pub(crate) fn of_headers(response: &Response, now_ms: u64) -> Hints {
    let clock_ms = clock_ms(response, now_ms);
    let asked = ASKING.into_iter().find_map(|(source, unit)| {
        let wait_ms = values(response, source).find_map(|value| {
            first_in_list(value, |text| time::number_or_moment(text, unit, clock_ms))
        })?;
        Some(Hint {
            wait_ms,
            source,
            kind: Kind::Asked,
        })
    });
    let limit = limits::rate_limit(response, clock_ms)
        .map(|wait_ms| (wait_ms, "ratelimit"))
        .or_else(|| limits::reset(response, clock_ms))
        .map(|(wait_ms, source)| Hint {
            wait_ms,
            source,
            kind: Kind::Limit,
        });
    Hints { asked, limit }
}

/// The time by the server's own clock, which its dates are measured from: `Date`, and for an
/// answer out of a cache its age as well (RFC 9111, section 4.2.3). Without a date, `now_ms`.
pub(crate) fn clock_ms(response: &Response, now_ms: u64) -> u64 {
    let date = values(response, "date").find_map(|text| date::http_date(text, now_ms));
    let age = values(response, "age").find_map(time::Decimal::read);
    date.map_or(now_ms, |at| {
        at.saturating_add(age.map_or(0, |age| age.of(1_000)))
    })
}

fn values<'a>(response: &'a Response, name: &'static str) -> impl Iterator<Item = &'a str> {
    response
        .headers
        .iter()
        .filter(move |field| field.name.eq_ignore_ascii_case(name))
        .map(|field| field.value.as_str())
}

/// The first element that can be read, of a field that somebody may have made of several ones.
///
/// Words that cannot be read end the search: a date in a form that nobody knows may have a comma
/// in front of its year.
fn first_in_list(value: &str, read: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let mut rest = value;
    loop {
        let comma = rest.find(',');
        let element = comma.and_then(|at| rest.get(..at)).unwrap_or(rest);
        let tail = comma.and_then(|at| rest.get(at.saturating_add(1)..));
        // HTTP's dates have a comma of their own.
        let with_next = tail.and_then(|tail| {
            let next = tail.find(',').unwrap_or(tail.len());
            rest.get(..element.len().saturating_add(1).saturating_add(next))
        });
        let found = read(element).or_else(|| with_next.and_then(&read));
        if found.is_some() || element.contains(|c: char| c.is_ascii_alphabetic()) {
            return found;
        }
        rest = tail?;
    }
}

#[cfg(test)]
pub(in crate::classify) mod tests {
    use super::*;
    use crate::observation::Field;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NOW: u64 = 1_767_225_600_000;

    pub(in crate::classify) fn response(headers: &[(&str, &str)]) -> Response {
        let field = |(name, value): &(&str, &str)| Field {
            name: (*name).into(),
            value: (*value).into(),
        };
        Response {
            status: 429,
            headers: headers.iter().map(field).collect(),
            ..Response::default()
        }
    }

    fn best(headers: &[(&str, &str)]) -> Option<(u64, &'static str)> {
        let hints = of_headers(&response(headers), NOW);
        hints.asked.or(hints.limit).map(|h| (h.wait_ms, h.source))
    }

    #[test]
    fn a_field_in_milliseconds_wins_over_retry_after_and_that_over_limits() {
        let all = [
            ("x-rate-limit-reset", "8", "x-rate-limit-reset", 8_000),
            ("X-RateLimit-Reset", "7", "x-ratelimit-reset", 7_000),
            ("RateLimit-Reset", "6", "ratelimit-reset", 6_000),
            ("RateLimit", "\"a\";r=0;t=5", "ratelimit", 5_000),
            ("Retry-After", "4", "retry-after", 4_000),
            ("x-amz-retry-after", "3", "x-amz-retry-after", 3),
            ("x-ms-retry-after-ms", "2", "x-ms-retry-after-ms", 2),
            ("Retry-After-Ms", "1", "retry-after-ms", 1),
        ];
        let mut headers = vec![];
        for (name, value, source, ms) in all {
            headers.push((name, value));
            assert_eq!(best(&headers), Some((ms, source)), "{headers:?}");
        }
        let hints = of_headers(&response(&headers), NOW);
        assert_eq!(hints.limit.map(|h| h.source), Some("ratelimit"));
        assert_eq!(hints.limit.map(|h| h.kind), Some(Kind::Limit));
        assert_eq!(hints.asked.map(|h| h.kind), Some(Kind::Asked));
        for (_, _, source, _) in all {
            assert!(HEADERS.contains(&source));
        }
        for (reset, remaining) in limits::RESETS {
            assert!(HEADERS.contains(&reset) && HEADERS.contains(&remaining));
        }
    }

    #[test]
    fn a_field_that_makes_no_sense_leaves_the_word_to_the_next() {
        for bad in [
            "", " ", "abc", "-3", "+3", "NaN", "inf", "1e3", "12s", "soon", "1.", "٣",
        ] {
            let headers = [("retry-after-ms", bad), ("retry-after", "3")];
            assert_eq!(best(&headers), Some((3_000, "retry-after")), "{bad}");
            let headers = [("retry-after", bad), ("x-ratelimit-reset", "3")];
            assert_eq!(best(&headers), Some((3_000, "x-ratelimit-reset")), "{bad}");
            assert_eq!(best(&[("retry-after", bad)]), None, "{bad}");
        }
    }

    #[test]
    fn of_several_fields_or_a_list_the_first_that_can_be_read_counts() {
        for (values, ms) in [
            (&["x", "5", "7"][..], Some(5_000)),
            (&["5, 7"], Some(5_000)),
            (&["-1, 7"], Some(7_000)),
            (&[",,7"], Some(7_000)),
            (&["Thu, 01 Jan 2026 00:00:30 GMT, 7"], Some(30_000)),
            (&["7, Thu, 01 Jan 2026 00:00:30 GMT"], Some(7_000)),
            (&["?, Thu, 01 Jan 2026 00:00:30 GMT"], Some(30_000)),
            (&["January 1, 2026"], None),
            (&["Thu, 32 Jan 2026 00:00:30 GMT, 2026"], None),
            (&[",,,"], None),
        ] {
            let headers: Vec<_> = values.iter().map(|v| ("Retry-After", *v)).collect();
            assert_eq!(best(&headers).map(|(ms, _)| ms), ms, "{values:?}");
        }
    }

    #[test]
    fn dates_and_times_are_measured_by_the_clock_of_the_server() {
        // Its clock is an hour ahead.
        let date = ("Date", "Thu, 01 Jan 2026 01:00:00 GMT");
        for (name, value, ms) in [
            ("retry-after", "Thu, 01 Jan 2026 01:00:30 GMT", 30_000),
            ("retry-after", "Thursday, 01-Jan-26 01:00:30 GMT", 30_000),
            ("retry-after", "30", 30_000),
            ("x-ratelimit-reset", "1767229230", 30_000),
            ("x-ratelimit-reset", "1767229230000", 30_000),
            ("x-ratelimit-reset", "2026-01-01T01:00:30Z", 30_000),
            ("ratelimit", "\"a\";r=0;t=30", 30_000),
        ] {
            assert_eq!(
                best(&[date, (name, value)]).map(|b| b.0),
                Some(ms),
                "{value}"
            );
        }
        let until = ("retry-after", "Thu, 01 Jan 2026 01:00:30 GMT");
        for (age, ms) in [("10", 20_000), ("60", 0), ("-10", 30_000), ("x", 30_000)] {
            assert_eq!(
                best(&[date, until, ("age", age)]).map(|b| b.0),
                Some(ms),
                "{age}"
            );
        }
        let no_date = [("date", "today"), ("age", "10"), until];
        assert_eq!(best(&no_date).map(|b| b.0), Some(3_630_000));
    }

    /// The headers of known services, and the wait in ms.
    #[test]
    fn what_services_send_is_understood() {
        for (headers, wait) in [
            (&[("retry-after", "soon")][..], None),
            (
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1767225660"),
                ],
                Some(60_000),
            ),
            (&[("ratelimit", "default r=0 t=x")], None),
            (
                &[
                    ("ratelimit-reset", "1767225625"),
                    ("ratelimit-remaining", "0"),
                ],
                Some(25_000),
            ),
            (
                &[("retry-after-ms", "1200"), ("retry-after", "2")],
                Some(1_200),
            ),
            (&[("retry-after", " 7 ")], Some(7_000)),
            (
                &[("retry-after", "Thu, 01 Jan 2026 00:30:00 GMT")],
                Some(1_800_000),
            ),
            (&[("ratelimit", "\"default\";r=0;t=12")], Some(12_000)),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "999999999")], Some(999_999_999_000)),
            (
                &[("retry-after", "Thursday, 01-Jan-26 00:00:10 GMT")],
                Some(10_000),
            ),
            (
                &[
                    ("x-rate-limit-reset", "1767225604"),
                    ("x-rate-limit-remaining", "0"),
                ],
                Some(4_000),
            ),
            (
                &[("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT")],
                Some(2_335_219_200_000),
            ),
            (&[("x-ms-retry-after-ms", "2500")], Some(2_500)),
            (&[("retry-after", "0")], Some(0)),
            (
                &[("retry-after-ms", "abc"), ("retry-after", "3")],
                Some(3_000),
            ),
            (&[("retry-after", "86400")], Some(86_400_000)),
            (
                &[("ratelimit", "\"burst\";r=4;t=2, \"daily\";r=0;t=5400")],
                Some(5_400_000),
            ),
            (&[("retry-after", "5")], Some(5_000)),
            (
                &[("ratelimit-reset", "53"), ("ratelimit-remaining", "0")],
                Some(53_000),
            ),
            (
                &[("ratelimit", "\"default\";r=0;t=90"), ("retry-after", "6")],
                Some(6_000),
            ),
            (&[("retry-after", "+3")], None),
            (
                &[
                    ("x-ratelimit-reset", "1767225000"),
                    ("x-ratelimit-remaining", "0"),
                ],
                Some(0),
            ),
            (&[("retry-after-ms", "850")], Some(850)),
            (&[("x-amz-retry-after", "700")], Some(700)),
        ] {
            assert_eq!(best(headers).map(|(ms, _)| ms), wait, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn no_headers_make_the_reader_panic(
            headers in prop::collection::vec((0..HEADERS.len(), ".{0,40}"), 0..8), now: u64,
        ) {
            let headers: Vec<_> = headers.iter().map(|(at, value)| (HEADERS[*at], value.as_str())).collect();
            let _ = of_headers(&response(&headers), now);
        }

        #[test]
        fn no_list_makes_the_reader_panic(value in "[0-9,. A-Z:-]{0,60}", now: u64) {
            let _ = of_headers(&response(&[("retry-after", &value), ("date", &value)]), now);
        }
    }
}
