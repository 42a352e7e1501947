//! What people read when a scenario fails.

use std::fmt::Write as _;

use super::play::{Failure, Played};
use super::read::Unreadable;

/// How many lines of the story are told before the step that failed.
const STORY_LINES: usize = 6;

/// The first expectation that did not hold, with the story up to it, and how many came after: what
/// follows from the first is rarely news.
#[must_use]
pub fn failures(file: &str, played: &Played) -> String {
    let Some(first) = played.failures.first() else {
        return String::new();
    };
    let mut text = failure(file, first, &played.story);
    let others = played.failures.len().saturating_sub(1);
    if others > 0 {
        let (s, it) = if others == 1 {
            ("", "it")
        } else {
            ("s", "they")
        };
        let _ = writeln!(
            text,
            "  {others} more expectation{s} did not hold after this one; {it} may follow from it"
        );
    }
    text
}

fn failure(file: &str, failure: &Failure, story: &[String]) -> String {
    let Failure {
        place,
        at,
        doing,
        expected,
        found,
        after,
    } = failure;
    // Writing to a String does not fail.
    let mut text = String::new();
    let _ = writeln!(text, "  {file}:{place}: at {at} {doing}");
    let _ = writeln!(text, "    expected  {expected}");
    let _ = writeln!(text, "    found     {found}");
    let before = story.get(..*after).unwrap_or_default();
    if !before.is_empty() {
        let _ = writeln!(text, "    before it:");
        for line in before.iter().skip(before.len().saturating_sub(STORY_LINES)) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// Every mistake in a scenario, each at its place.
#[must_use]
pub fn mistakes(file: &str, unreadable: &Unreadable) -> String {
    unreadable
        .0
        .iter()
        .map(|problem| format!("  {file}:{problem}\n"))
        .collect()
}

/// The first decision in which two logs of the same scenario differ; `None`: they are the same.
#[must_use]
pub fn log_difference(
    (name, log): (&str, &str),
    (other_name, other): (&str, &str),
) -> Option<String> {
    if log == other {
        return None;
    }
    let (mut lines, mut others) = (log.lines(), other.lines());
    let mut number = 0;
    loop {
        number += 1;
        let (line, other) = (lines.next(), others.next());
        if line == other && line.is_some() {
            continue;
        }
        let width = name.chars().count().max(other_name.chars().count());
        let (line, other) = (line.unwrap_or("(ended)"), other.unwrap_or("(ended)"));
        return Some(format!(
            "  decision {number} differs\n    {name:width$}  {line}\n    {other_name:width$}  {other}\n"
        ));
    }
}
