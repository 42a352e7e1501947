//! Rules that can never decide, and names that stand twice.

use super::rule::{Asked, Rule, When};
use super::test::Test;
use crate::config::reader::{Reader, quoted};

/// Reports rules of one name.
pub(super) fn names(at: &Reader<'_>, rules: &[Rule]) {
    let mut told = None;
    for rule in rules {
        let mut others = rules.iter().filter(|other| other.written < rule.written);
        let Some(other) = others.find(|other| other.name == rule.name) else {
            continue;
        };
        // Once, however many alternatives it has.
        if told.replace(rule.written) == Some(rule.written) {
            continue;
        }
        let number = other.written.saturating_add(1);
        let wrong = [
            "rule ",
            itoa::Buffer::new().format(number),
            " has this name already",
        ]
        .concat();
        let right = "give each its own: they are counted by name";
        at.element("rules", rule.written)
            .problem("name", wrong, right);
    }
}

/// Reports rules behind one that takes every answer which they would take.
pub(super) fn unreachable(at: &Reader<'_>, rules: &[Rule]) {
    for (n, rule) in rules.iter().enumerate() {
        let taker = rules
            .iter()
            .take(n)
            .find(|earlier| covers(&earlier.when, &rule.when));
        if let Some(taker) = taker {
            let name = taker.name.rsplit('/').next().unwrap_or_default();
            let (what, before) = match taker.written == rule.written {
                true => ("an alternative of this rule", "another"),
                false => ("this rule", ""),
            };
            let before = match before.is_empty() {
                true => quoted(name),
                false => before.into(),
            };
            let wrong = [
                what,
                " is never reached: ",
                &before,
                " before it takes every answer that it would",
            ]
            .concat();
            let right = "move it before that one, or make that one narrower";
            at.element("rules", rule.written)
                .problem("when", wrong, right);
        }
    }
}

/// Whether whatever passes `narrower` passes `wider` as well, as far as that is easily seen: every
/// condition of `wider` has one in `narrower` that asks for no less.
fn covers(wider: &When, narrower: &When) -> bool {
    let statuses = wider.status.is_empty()
        || (!narrower.status.is_empty()
            && narrower.status.iter().all(|(from, to)| {
                let mut ranges = wider.status.iter();
                ranges.any(|(least, most)| least <= from && to <= most)
            }));
    statuses
        && list(&wider.media, &narrower.media)
        && list(&wider.magic, &narrower.magic)
        && list(&wider.grpc, &narrower.grpc)
        && list(&wider.expect, &narrower.expect)
        && list(&wider.text, &narrower.text)
        && fields(&wider.headers, &narrower.headers)
        && fields(&wider.trailers, &narrower.trailers)
        && match (&wider.event, &narrower.event) {
            (None, None) => true,
            // What the one asks of the body the other asks of an event.
            (None, Some(_)) => wider.json.is_empty(),
            (Some(_), None) => false,
            (Some(wider), Some(narrower)) => wider.test.covers(&narrower.test),
        }
        && places(&wider.json, &narrower.json)
        && places(&wider.xml, &narrower.xml)
}

fn list<T: PartialEq>(wider: &[T], narrower: &[T]) -> bool {
    wider.is_empty() || (!narrower.is_empty() && narrower.iter().all(|one| wider.contains(one)))
}

fn fields(wider: &[(String, Test)], narrower: &[(String, Test)]) -> bool {
    wider.iter().all(|(name, test)| {
        let mut same = narrower.iter().filter(|(other, _)| other == name);
        same.any(|(_, narrower)| test.covers(narrower))
    })
}

fn places<P: PartialEq>(wider: &[Asked<P>], narrower: &[Asked<P>]) -> bool {
    wider.iter().all(|asked| {
        let mut same = narrower.iter().filter(|other| other.at == asked.at);
        same.any(|narrower| asked.test.covers(&narrower.test))
    })
}
