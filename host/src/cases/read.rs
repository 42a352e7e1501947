//! From a line of JSON to an input or a case.

use fusewire_core::config::Reader;
use fusewire_core::{Blame, Effect, Media, Outcome, Problem};
use serde_json::Value;

use super::case::{Case, Expected, Input};
use super::mistake::Mistake;
use super::observed;
use super::setup::{Setup, Whom};

/// The largest number of a line: what every reader of JSON agrees on.
pub(super) const LARGEST: u64 = (1 << 53) - 1;

/// What holds for all that is read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// By whose settings all are judged, whatever they say of themselves.
    pub whom: Option<Whom>,
    /// What the caller can use, where an input does not say.
    pub expect: Option<Media>,
    /// The request's method, where an input does not say.
    pub method: Option<String>,
    /// When it is, in ms since 1970, where an input does not say.
    pub now_ms: u64,
}

impl Reading {
    /// Reads a line as an input. `number` is the line's, counted from one.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn input(&self, line: &str, number: u64) -> Result<Input, Vec<Mistake>> {
        self.read(line, number, |root| self.input_at(root))
    }

    /// Reads a line as a case.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn case(&self, line: &str, number: u64) -> Result<Case, Vec<Mistake>> {
        self.read(line, number, |root| {
            let input = self.input_at(root);
            if input.id.is_none() {
                root.problem("id", "the case has no name", "write \"id\": \"a-name\"");
            }
            Case {
                id: input.id.clone().unwrap_or_default(),
                group: text(root, "group")
                    .or_else(|| text(root, "service"))
                    .unwrap_or_else(|| "cases".into()),
                why: text(root, "why").unwrap_or_default(),
                expected: expected(root),
                input,
            }
        })
    }

    /// Reads a text of cases, one a line; empty lines are skipped.
    ///
    /// # Errors
    /// Every mistake in any of them.
    pub fn cases(&self, text: &str) -> Result<Vec<Case>, Vec<Mistake>> {
        let (mut cases, mut mistakes) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match self.case(line, number) {
                Ok(case) => cases.push(case),
                Err(more) => mistakes.extend(more),
            }
        }
        if mistakes.is_empty() {
            Ok(cases)
        } else {
            Err(mistakes)
        }
    }

    fn read<T>(
        &self,
        line: &str,
        number: u64,
        read: impl FnOnce(&Reader<'_>) -> T,
    ) -> Result<T, Vec<Mistake>> {
        let document: Value = serde_json::from_str(line).map_err(|error| {
            let wrong = format!("this is not JSON from column {} on", error.column());
            vec![Mistake::of_line(number, wrong, "write one object a line")]
        })?;
        if !document.is_object() {
            let wrong = "this is not an object";
            return Err(vec![Mistake::of_line(
                number,
                wrong,
                "write one object a line",
            )]);
        }
        let root = Reader::root(&document);
        let read = read(&root);
        let problems = root.problems();
        if problems.is_empty() {
            return Ok(read);
        }
        let mistakes = problems
            .into_iter()
            .map(|problem| Mistake::new(number, problem));
        Err(mistakes.collect())
    }

    fn input_at(&self, root: &Reader<'_>) -> Input {
        let inner = root.has("input").then(|| root.object("input"));
        let at = inner.as_ref().unwrap_or(root);
        Input {
            id: text(root, "id"),
            setup: self.setup(root, at),
            observation: observed::observation(at, self),
        }
    }

    fn setup(&self, root: &Reader<'_>, at: &Reader<'_>) -> Setup {
        let named = || {
            let provider = text(at, "provider").map(Whom::Provider);
            provider.or_else(|| text(at, "profile").map(Whom::Profile))
        };
        let of_service = || match text(root, "service").as_deref() {
            None => Whom::General,
            Some("any") => Whom::Profile("http".into()),
            Some(service) => Whom::Profile(service.to_owned()),
        };
        let whom = self.whom.clone().or_else(named).unwrap_or_else(of_service);
        Setup {
            whom,
            slow_ms: whole(at, "slow_ms", LARGEST),
            require_key: text(at, "require_key").map(|key| pointer(&key)),
        }
    }
}

/// A key as a pointer to it; a pointer stays as it is.
fn pointer(key: &str) -> String {
    match key.starts_with('/') {
        true => key.to_owned(),
        false => crate::toml_places::pointer_to("", key),
    }
}

fn expected(root: &Reader<'_>) -> Expected {
    if !root.has("expected") {
        let right = "write \"expected\": {\"outcome\": …}";
        root.problem("expected", "nothing is expected of the verdict", right);
        return Expected::default();
    }
    let at = root.object("expected");
    let is_slow = matches!(at.value("outcome"), Some(Value::String(word)) if word == "slow");
    let outcome = match is_slow {
        true => Some(Outcome::Success),
        false => word(&at, "outcome", Outcome::from_name, names(Outcome::ALL)),
    };
    let effect = word(&at, "breaker_effect", Effect::from_name, names(Effect::ALL));
    let expected = Expected {
        outcome,
        effect: effect.or(is_slow.then_some(Effect::SlowSuccess)),
        counts: flag(&at, "counts_against_breaker"),
        blame: word(&at, "blame", Blame::from_name, names(Blame::ALL)),
        retry_same: flag(&at, "retry_same"),
        next_provider: flag(&at, "next_provider"),
        min_delay_ms: whole(&at, "min_delay_ms", LARGEST),
        rule: text(&at, "rule"),
    };
    let is_wrong = root
        .problems()
        .iter()
        .any(|Problem { path, .. }| path.starts_with("/expected"));
    if expected.is_empty() && !is_wrong {
        let right = "write what is expected, such as \"outcome\"";
        root.problem("expected", "nothing is expected of the verdict", right);
    }
    expected
}

fn names<T: std::fmt::Display>(all: &[T]) -> String {
    let names = all.iter().map(|member| format!("\"{member}\""));
    names.collect::<Vec<_>>().join(", ")
}

/// One of the contract's words, which may have `_` for `-`.
fn word<T>(
    at: &Reader<'_>,
    key: &str,
    from_name: impl Fn(&str) -> Option<T>,
    known: String,
) -> Option<T> {
    let word = text(at, key)?;
    let found = from_name(&word.replace('_', "-"));
    if found.is_none() {
        at.problem(
            key,
            format!("{word:?} is not known"),
            format!("known are {known}"),
        );
    }
    found
}

/// A text; null is none.
pub(super) fn text(at: &Reader<'_>, key: &str) -> Option<String> {
    given(at, key).and_then(|()| at.text(key))
}

/// A yes or no; null is none.
pub(super) fn flag(at: &Reader<'_>, key: &str) -> Option<bool> {
    given(at, key).map(|()| at.flag(key, false))
}

/// A whole number up to this one; null is none.
pub(super) fn whole(at: &Reader<'_>, key: &str, most: u64) -> Option<u64> {
    given(at, key).map(|()| at.whole(key, 0, 0..=most))
}

fn given(at: &Reader<'_>, key: &str) -> Option<()> {
    at.value(key).filter(|value| !value.is_null()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusewire_core::TransportFailure;

    const NOW: u64 = 1_767_225_600_000;

    fn reading() -> Reading {
        Reading {
            now_ms: NOW,
            ..Reading::default()
        }
    }

    fn input(line: &str) -> Input {
        reading().input(line, 1).unwrap()
    }

    fn mistakes(line: &str) -> String {
        let mistakes = reading().case(line, 7).unwrap_err();
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn a_case_has_all_that_is_written_and_what_is_usual_for_the_rest() {
        let line = r#"{
            "id": "x", "service": "any", "why": "so", "source": 4,
            "input": {"transport": "h2_refused_stream", "status": null, "headers": null,
                      "body_prefix": "", "latency_ms": 5, "method": "POST"},
            "expected": {"outcome": "slow", "counts_against_breaker": false}
        }"#;
        let case = reading().case(line, 1).unwrap();
        assert_eq!((&*case.group, &*case.why), ("any", "so"));
        assert_eq!(case.input.setup, Setup::profile("http"));
        let seen = &case.input.observation;
        assert_eq!(seen.failure, Some(TransportFailure::RefusedStream));
        assert_eq!((&seen.response, seen.idempotent), (&None, false));
        assert_eq!((seen.now_ms, seen.latency_ms), (NOW, 5));
        assert_eq!(case.expected.outcome, Some(Outcome::Success));
        assert_eq!(case.expected.effect, Some(Effect::SlowSuccess));
    }

    #[test]
    fn an_answer_is_read_with_its_fields_its_trailers_and_its_body() {
        let seen = input(
            r#"{"status": 200, "headers": {"A": ["1", "2"]}, "trailers": {"t": "3"},
                "body_prefix": "{\"a\":", "body_tail": "1}", "now": "2026-01-01T01:00:00+01:00",
                "expect": "mvt", "min_budget_ms": 5, "delivered_partial": true, "cause": "c"}"#,
        )
        .observation;
        assert_eq!((seen.now_ms, seen.expect), (NOW, Media::VectorTile));
        assert_eq!(
            (seen.minimum_budget_ms, seen.delivered_partial),
            (Some(5), true)
        );
        let response = seen.response.unwrap();
        let fields = response.headers.iter().chain(&response.trailers);
        let fields: Vec<_> = fields.map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(fields, [("A", "1"), ("A", "2"), ("t", "3")]);
        assert_eq!(response.body.as_deref(), Some(&b"{\"a\":1}"[..]));
    }

    #[test]
    fn a_body_is_none_where_nobody_looked_and_where_http_has_none() {
        for (line, body) in [
            (r#"{"status": 200}"#, None),
            (r#"{"status": 304, "body_prefix": ""}"#, None),
            (
                r#"{"status": 200, "body_prefix": "", "method": "HEAD"}"#,
                None,
            ),
            (r#"{"status": 200, "body_prefix": ""}"#, Some(&b""[..])),
            (
                r#"{"status": 200, "body_base64": "iVA="}"#,
                Some(&b"\x89P"[..]),
            ),
        ] {
            let response = input(line).observation.response.unwrap();
            assert_eq!(response.body.as_deref(), body, "{line}");
        }
    }

    #[test]
    fn whom_it_is_judged_by_is_said_by_the_reader_the_input_or_the_service() {
        let whom = |line: &str| input(line).setup.whom;
        let line = r#"{"status": 200, "service": "a", "profile": "b", "provider": "c"}"#;
        assert_eq!(whom(line), Whom::Provider("c".into()));
        let line = r#"{"service": "a", "input": {"status": 200, "profile": "b"}}"#;
        assert_eq!(whom(line), Whom::Profile("b".into()));
        let line = r#"{"service": "a", "status": 200, "require_key": "a/b"}"#;
        assert_eq!(whom(line), Whom::Profile("a".into()));
        assert_eq!(input(line).setup.require_key.as_deref(), Some("/a~1b"));
        let all = Reading {
            whom: Some(Whom::Profile("d".into())),
            ..reading()
        };
        assert_eq!(
            all.input(line, 1).unwrap().setup.whom,
            Whom::Profile("d".into())
        );
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_its_key() {
        let line = r#"{"input": {"transport": "bad luck", "latency_ms": -1, "now": "today",
                       "expect": "pdf", "body_base64": "!"}, "expected": {"outcome": "fine"}}"#;
        let told = mistakes(line);
        for begins in [
            "7: id: the case has no name; write",
            "7: input.transport: \"bad luck\" is not known; known are dns-not-found, ",
            "7: input.latency_ms: `latency_ms` is -1; write",
            "7: input.now: \"today\" is not a time; write",
            "7: input.expect: \"pdf\" cannot be expected; write",
            "7: expected.outcome: \"fine\" is not known; known are \"success\"",
        ] {
            let is_told = told.lines().any(|line| line.starts_with(begins));
            assert!(is_told, "{begins} is not in:\n{told}");
        }
        assert!(mistakes(r#"{"id": "x", "input": {}}"#).contains("neither an answer nor"));
        assert!(
            mistakes(r#"{"id": "x", "input": {"status": 200}, "expected": {}}"#)
                .contains("7: expected: nothing is expected")
        );
        assert!(mistakes("{\"id\": ").starts_with("7: this is not JSON from column"));
    }

    #[test]
    fn a_verdict_differs_field_by_field() {
        let policy = fusewire_core::Policy::default();
        let line = r#"{"id": "x", "input": {"status": 503}, "expected": {"outcome": "success",
            "breaker_effect": "failure", "min_delay_ms": 5, "rule": "status/503"}}"#;
        let case = reading().case(line, 1).unwrap();
        let target = fusewire_core::Target::provider("p");
        let verdict = policy.classify(&target, &case.input.observation);
        let differences = case.expected.differences(&verdict);
        let fields: Vec<_> = differences
            .iter()
            .map(|d| (d.field, &*d.expected, &*d.found))
            .collect();
        assert_eq!(
            fields,
            [
                ("outcome", "success", "transient"),
                ("min_delay_ms", "5", "0")
            ]
        );
    }
}
