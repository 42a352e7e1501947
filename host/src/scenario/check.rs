//! What was expected, against what was found.

use fusewire_core::config::duration::format_ms;
use fusewire_core::{Admission, Decision, Fact, Step};
use serde_json::Value;

use super::script::{Expected, Field, NextStep, START_MS, Want};
use super::words;

/// An expectation that did not hold: what was expected, and what was found.
pub(super) type Difference = (String, String);

pub(super) fn admission(expected: &Expected, found: &Admission) -> Option<Difference> {
    let holds = match (expected, &found.decision) {
        (Expected::Admitted, Decision::Allowed(_)) => true,
        (Expected::Allowed, Decision::Allowed(permit)) => !permit.probe,
        (Expected::Probe, Decision::Allowed(permit)) => permit.probe,
        (
            Expected::Refused {
                reason,
                retry_after_ms,
                domain,
                says,
            },
            Decision::Refused(refusal),
        ) => {
            reason.is_none_or(|reason| reason == refusal.reason)
                && retry_after_ms.is_none_or(|ms| ms == refusal.retry_after_ms)
                && domain
                    .as_ref()
                    .is_none_or(|domain| *domain == refusal.domain)
                && says
                    .as_ref()
                    .is_none_or(|says| refusal.detail.contains(says))
        }
        _ => false,
    };
    (!holds).then(|| (words::expected(expected), words::admission(found)))
}

/// How long an admission holds, as time since the beginning.
pub(super) fn holds_until(expected_ms: u64, found: &Admission) -> Option<Difference> {
    let expected = START_MS.saturating_add(expected_ms);
    (expected != found.holds_until_ms).then(|| {
        let words = |ms| format!("the answer holds until {}", words::moment(ms));
        (words(expected), words(found.holds_until_ms))
    })
}

pub(super) fn events(expected: &[String], found: &[String]) -> Option<Difference> {
    (expected != found).then(|| (words::events(expected), words::events(found)))
}

pub(super) fn operations(expected: u64, found: u64) -> Option<Difference> {
    let words = |n| format!("{n} store operation{}", if n == 1 { "" } else { "s" });
    (expected != found).then(|| (words(expected), words(found)))
}

pub(super) fn next_step(expected: NextStep, found: &Step) -> Option<Difference> {
    let holds = match (expected, found) {
        (NextStep::Retry(after), Step::Retry(found)) => after.is_none_or(|ms| ms == *found),
        (NextStep::Done, Step::Done)
        | (NextStep::NextProvider, Step::NextProvider)
        | (NextStep::GiveUp, Step::GiveUp(_)) => true,
        _ => false,
    };
    let expected = match expected {
        NextStep::Done => "done".into(),
        NextStep::Retry(None) => "retry".into(),
        NextStep::Retry(Some(ms)) => format!("retry after {}", format_ms(ms)),
        NextStep::NextProvider => "next-provider".into(),
        NextStep::GiveUp => "give-up".into(),
    };
    (!holds).then(|| (expected, step(found)))
}

/// A planner's step in words.
pub(super) fn step(step: &Step) -> String {
    match step {
        Step::Done => "done".into(),
        Step::Retry(ms) => format!("retry after {}", format_ms(*ms)),
        Step::NextProvider => "next-provider".into(),
        Step::GiveUp(why) => format!("give-up: {why}"),
    }
}

/// Every subject that is not as expected, in one difference.
pub(super) fn facts(expected: &[(String, Option<String>)], found: &[Fact]) -> Option<Difference> {
    let words = |subject: &str, value: Option<&str>| match value {
        Some(value) => format!("{subject} = {value}"),
        None => format!("nothing of {subject}"),
    };
    let differing = expected.iter().filter_map(|(subject, wanted)| {
        let value = found
            .iter()
            .find(|fact| fact.subject == *subject)
            .map(|fact| fact.value.as_str());
        let wanted = wanted.as_deref();
        (value != wanted).then(|| (words(subject, wanted), words(subject, value)))
    });
    let (expected, found): (Vec<_>, Vec<_>) = differing.unzip();
    (!expected.is_empty()).then(|| (expected.join(", "), found.join(", ")))
}

/// Every field of `found` that is not as expected, in one difference.
pub(super) fn fields(expected: &[Field], found: &Value) -> Option<Difference> {
    let differing: Vec<Difference> = expected
        .iter()
        .filter_map(|field| {
            let value = found
                .pointer(field.pointer)
                .filter(|value| !is_nothing(value));
            let holds = match (&field.want, value) {
                (Want::Nothing, value) => value.is_none(),
                (Want::Is(Value::Bool(false)), None) => true,
                (Want::Is(wanted), value) => value == Some(wanted),
                (Want::Time(ms), value) => {
                    value.and_then(Value::as_u64) == Some(START_MS.saturating_add(*ms))
                }
                (Want::Span(ms), value) => value.and_then(Value::as_u64).unwrap_or(0) == *ms,
            };
            (!holds).then(|| {
                let name = &field.name;
                (
                    format!("{name} = {}", wanted(&field.want)),
                    format!("{name} = {}", shown(&field.want, value)),
                )
            })
        })
        .collect();
    if differing.is_empty() {
        return None;
    }
    let (expected, found): (Vec<_>, Vec<_>) = differing.into_iter().unzip();
    Some((expected.join(", "), found.join(", ")))
}

/// Whether a value says what a missing one says.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn wanted(want: &Want) -> String {
    match want {
        Want::Nothing => "nothing".into(),
        Want::Is(value) => plain(value),
        Want::Time(ms) | Want::Span(ms) => format_ms(*ms),
    }
}

/// A value in the words of what was wanted: a time as a time.
fn shown(want: &Want, value: Option<&Value>) -> String {
    match (want, value) {
        (_, None) => "nothing".into(),
        (Want::Span(_), Some(value)) => value.as_u64().map_or_else(|| plain(value), format_ms),
        (Want::Time(_) | Want::Nothing, Some(value)) => match value.as_u64() {
            Some(ms) if ms >= START_MS => words::moment(ms),
            _ => plain(value),
        },
        (Want::Is(_), Some(value)) => plain(value),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
