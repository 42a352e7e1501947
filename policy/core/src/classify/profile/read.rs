//! A profile from JSON: all but the conditions of its rules. Every problem is noted at its place.

use serde_json::Value;

use super::conditions::read_when;
use super::rule::{Believed, HintAt, HintPlace, Rule, Then, WORDS, Word};
use crate::classify::body::json::Pointer;
use crate::classify::body::xml::Place;
use crate::classify::finding::{Again, Finding};
use crate::classify::hint::Unit;
use crate::config::reader::{Reader, quoted};
use crate::observation::{Blame, Effect, Media};

/// The longest phrase that is searched for, in bytes, and the longest reason.
pub(super) const TEXT_MAX: usize = 200;
/// The longest name of a profile or a rule, in bytes.
const NAME_MAX: usize = 48;
/// The longest delay of a rule, in ms: a week, as one service counts.
const DELAY_MAX_MS: u64 = 7 * 24 * 3_600_000;

/// A profile as it is written, without what it inherits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    pub(crate) extends: Option<String>,
    pub(crate) grpc: Option<bool>,
    pub(crate) expect: Option<Media>,
    pub(crate) hints: Vec<HintPlace>,
    pub(crate) rules: Vec<Rule>,
}

impl Written {
    /// Reads a profile; `is_checked`: its rules are known to be in order, as those that are built in.
    pub(super) fn read(at: &Reader<'_>, name: &str, is_checked: bool) -> Self {
        let has_rules = at.has("rules");
        let extends = at.text("extends");
        // For people alone.
        let _ = at.text("about");
        let read = Self {
            extends,
            grpc: at.word_opt("protocol", &[("http", false), ("grpc", true)]),
            expect: expect(at),
            hints: at.list("hints").iter().filter_map(hint_place).collect(),
            rules: at
                .list("rules")
                .iter()
                .enumerate()
                .flat_map(|(n, rule)| read_rule(rule, name, n))
                .collect(),
        };
        if !has_rules && read.extends.is_none() && read.hints.is_empty() && read.grpc.is_none() {
            let right = r#"write [{"when": {"status": 403}, "then": "quota"}]"#;
            at.problem("rules", "this profile has no rules", right);
        }
        at.finish();
        if !is_checked {
            super::check::names(at, &read.rules);
            super::check::unreachable(at, &read.rules);
        }
        read
    }
}

/// What is expected, where that is written.
pub(crate) fn expect(at: &Reader<'_>) -> Option<Media> {
    at.word_opt("expect", Media::WORDS)
}

/// Notes a name that a profile or a rule cannot have.
pub(super) fn check_name(at: &Reader<'_>, key: &str, name: &str, whose: &str) {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_letter) {
        return;
    }
    let wrong = [&quoted(name), " cannot name a ", whose].concat();
    let right = "write 1 to 48 of a to z, 0 to 9, `-`, `_` and `.`";
    at.problem(key, wrong, right);
}

/// A rule: as many as it has alternatives.
fn read_rule(at: &Reader<'_>, profile: &str, written: usize) -> Vec<Rule> {
    let name = match at.text("name") {
        Some(name) => {
            check_name(at, "name", &name, "rule");
            name
        }
        None => {
            let number = written.saturating_add(1);
            ["rule-", itoa::Buffer::new().format(number)].concat()
        }
    };
    let alternatives = match at.value("when") {
        Some(Value::Array(_)) => at.list("when"),
        _ => vec![at.object("when")],
    };
    if alternatives.is_empty() {
        asks_for_nothing(at, "when");
    }
    let then = read_then(at);
    at.finish();
    let name = ["profile/", profile, "/", &name].concat();
    let rule = |when: &Reader<'_>| Rule {
        name: name.clone(),
        written,
        when: read_when(when),
        then: then.clone(),
    };
    alternatives.iter().map(rule).collect()
}

pub(super) fn asks_for_nothing(at: &Reader<'_>, key: &str) {
    let right = r#"write a condition such as {"status": 403}"#;
    at.problem(
        key,
        "this asks for nothing, so it would take every answer",
        right,
    );
}

fn read_then(at: &Reader<'_>) -> Option<Then> {
    if !at.has("then") {
        let right = r#"write a word such as "throttled""#;
        at.problem("then", "the rule does not say what it means", right);
    }
    let word = at.word("then", WORDS, Word::Generic);
    let finding = word.finding();
    // All keys are read either way, so that each problem is told at once.
    let base = finding.unwrap_or(Finding::caller(""));
    let finding_read = Finding {
        again: again(at, base.again),
        next_provider: at.flag("next", base.next_provider),
        effect: at.word("effect", EFFECTS, base.effect),
        blame: at.word("blame", Blame::WORDS, base.blame),
        floor_ms: at.duration_ms("delay", base.floor_ms, 0..=DELAY_MAX_MS),
        ..base
    };
    let because = phrase(at, "because");
    let hint = if at.has("hint") {
        match at.object_or_false("hint") {
            None => Believed::Nothing,
            Some(hint) => hint_place(&hint).map_or(Believed::Usual, Believed::First),
        }
    } else {
        Believed::Usual
    };
    let then = Then {
        finding: finding_read,
        because,
        hint,
    };
    finding.map(|_| then)
}

/// The effects that a rule may have: whether an answer was slow is the clock's to say.
const EFFECTS: &[(&str, Effect)] = &[
    ("success", Effect::Success),
    ("failure", Effect::Failure),
    ("neutral", Effect::Neutral),
];

fn again(at: &Reader<'_>, base: Again) -> Again {
    match at.value("retry") {
        None => base,
        Some(Value::Bool(true)) => Again::Always,
        Some(Value::Bool(false)) => Again::Never,
        Some(Value::String(word)) if word == "idempotent" => Again::IfIdempotent,
        Some(_) => {
            at.problem(
                "retry",
                "this does not say whether to try again",
                r#"write true, false or "idempotent""#,
            );
            base
        }
    }
}

fn phrase(at: &Reader<'_>, key: &str) -> Option<String> {
    let text = at.text(key)?;
    if text.len() <= TEXT_MAX && !text.contains(char::is_control) {
        return Some(text);
    }
    let right = "write at most 200 bytes without control characters";
    at.problem(
        key,
        "this text is too long, or has control characters",
        right,
    );
    None
}

const UNITS: &[(&str, Unit)] = &[
    ("auto", Unit::Auto),
    ("s", Unit::Seconds),
    ("ms", Unit::Milliseconds),
    ("epoch-s", Unit::EpochSeconds),
    ("epoch-ms", Unit::EpochMilliseconds),
    ("date", Unit::Date),
    ("duration", Unit::Duration),
];

fn hint_place(at: &Reader<'_>) -> Option<HintPlace> {
    let unit = at.word("unit", UNITS, Unit::Auto);
    let mut found = Vec::new();
    for (key, text) in ["header", "trailer", "json", "xml", "text"].map(|key| (key, at.text(key))) {
        let Some(text) = text else { continue };
        let place = match key {
            "header" => Ok(HintAt::Header(text.to_ascii_lowercase())),
            "trailer" => Ok(HintAt::Trailer(text.to_ascii_lowercase())),
            "json" => Pointer::parse(&text).map(HintAt::Json),
            "xml" => Place::parse(&text).map(HintAt::Xml),
            _ if (1..=TEXT_MAX).contains(&text.len()) => Ok(HintAt::Text(text)),
            _ => Err("a phrase has 1 to 200 bytes"),
        };
        match place {
            Ok(place) => found.push(place),
            Err(wrong) => at.problem(key, wrong, ""),
        }
    }
    if found.len() != 1 {
        let wrong = "a hint is told at one place";
        let right = r#"write one of `header`, `trailer`, `json`, `xml` and `text`"#;
        at.problem("", wrong, right);
    }
    at.finish();
    found.pop().map(|at| HintPlace { at, unit })
}
