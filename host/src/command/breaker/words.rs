//! How people read what was seen.

use fusewire::core::Phase;
use time::OffsetDateTime;

use super::look::{Look, Order, Standing};
use crate::command::output::printable;

/// From how many openings soon after a close on a domain is said to flap.
const FLAPS: u64 = 2;

/// A moment, as people and logs write it.
pub(super) fn utc(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
    let Ok(at) = OffsetDateTime::from_unix_timestamp(seconds) else {
        return "a time that no calendar has".to_owned();
    };
    let (date, time) = (at.date(), at.time());
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        date.year(),
        u8::from(date.month()),
        date.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

/// A span of time in its two largest units, seconds being the smallest. What is begun counts.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let two = |large: u64, name: &str, small: u64, smaller: &str| match small {
        0 => format!("{large}{name}"),
        small => format!("{large}{name}{small}{smaller}"),
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// 1st, 2nd, 3rd and so on.
pub(super) fn ordinal(n: u32) -> String {
    let ending = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// How long that is from when it was seen.
pub(super) fn left(look: &Look, until_ms: u64) -> String {
    span(until_ms.saturating_sub(look.at_ms))
}

/// What there is to say of a domain, a clause each.
pub(super) fn clauses(look: &Look) -> Vec<String> {
    let mut clauses = Vec::new();
    clauses.extend(look.order.as_ref().map(of_order));
    clauses.extend(of_phase(look));
    if look.flaps >= FLAPS {
        let times = look.flaps;
        clauses.push(format!(
            "flapping: it opened again soon after it had closed, {times} times"
        ));
    }
    clauses.extend(look.hold.as_ref().and_then(|hold| {
        let why = printable(&hold.why);
        match (look.standing, &*why) {
            (Standing::Held, "") => None,
            (Standing::Held, _) => Some(why),
            (_, "") => Some(format!("held for {}", left(look, hold.until_ms))),
            _ => Some(format!("held for {}: {why}", left(look, hold.until_ms))),
        }
    }));
    clauses
}

/// How a domain stands, and for how long where that is known.
pub(super) fn standing(look: &Look) -> String {
    let word = look.standing.word();
    match look.until_ms() {
        Some(0) => format!("{word} until it is cleared"),
        // A probe's end is not the end of its phase.
        Some(until) if look.standing != Standing::HalfOpen => {
            format!("{word} for {}", left(look, until))
        }
        _ => word.to_owned(),
    }
}

/// All that there is to say of a domain, in a line.
pub(super) fn in_a_line(look: &Look) -> String {
    let clauses = match look.recorded {
        true => clauses(look).join("; "),
        false => "it has no record, so it has not tripped of late".to_owned(),
    };
    match &*clauses {
        "" => standing(look),
        said => format!("{}: {said}", standing(look)),
    }
}

/// Whose order it is, and why.
fn of_order(order: &Order) -> String {
    let (who, why) = (printable(&order.who), printable(&order.why));
    match order.enforce_percent {
        0 => format!("by {who}: {why}"),
        percent => format!("{percent} % of refusals enforced, by {who}: {why}"),
    }
}

fn of_phase(look: &Look) -> Option<String> {
    let opening = match (&look.rule, look.openings) {
        (Some(rule), n @ 2..) => {
            format!(
                "by the rule `{}`, the {} time in a row",
                printable(rule),
                ordinal(n)
            )
        }
        (Some(rule), _) => format!("by the rule `{}`", printable(rule)),
        (None, _) => String::new(),
    };
    let opened = match &*opening {
        "" => String::new(),
        opening => format!("; it opened {opening}"),
    };
    match (look.phase, look.open_until_ms, &look.probe) {
        (Phase::Open, until, _) => {
            let open = match (look.order.is_some(), until) {
                (true, Some(until)) => format!("its breaker is open for {}", left(look, until)),
                _ => "opened".to_owned(),
            };
            Some(format!("{open} {opening}").trim_end().to_owned())
        }
        (Phase::HalfOpen, _, Some(probe)) => {
            let (owner, at_most) = (printable(&probe.owner), left(look, probe.until_ms));
            Some(format!(
                "{owner} probes it, for {at_most} at most{}{opened}",
                passed(look)
            ))
        }
        (Phase::HalfOpen, _, None) => {
            Some(format!("the next call is a probe{}{opened}", passed(look)))
        }
        (Phase::Closed, ..) => look.closed_at_ms.filter(|_| look.openings > 0).map(|at| {
            let ago = span(look.at_ms.saturating_sub(at));
            let openings = match look.openings {
                1 => "an opening".to_owned(),
                n => format!("{n} openings in a row"),
            };
            format!("closed {ago} ago, after {openings}")
        }),
    }
}

fn passed(look: &Look) -> String {
    match look.probes_passed {
        0 => String::new(),
        1 => ", one was clean".to_owned(),
        n => format!(", {n} were clean"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_its_two_largest_units() {
        for (ms, text) in [
            (0, "0s"),
            (1, "1s"),
            (59_001, "1m"),
            (242_000, "4m2s"),
            (3_600_000, "1h"),
            (7_500_000, "2h5m"),
            (90_000_000, "1d1h"),
        ] {
            assert_eq!(span(ms), text, "{ms}");
        }
    }

    #[test]
    fn ordinals_are_as_people_say_them() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal).into();
        let all = "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th";
        assert_eq!(said.join(" "), all);
    }

    #[test]
    fn a_moment_is_written_with_its_zone() {
        assert_eq!(utc(1_796_133_723_999), "2026-12-01 14:02:03 UTC");
        assert_eq!(utc(u64::MAX), "a time that no calendar has");
    }
}
