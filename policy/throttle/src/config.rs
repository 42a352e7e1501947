//! The configuration: what can be set, and every problem in what was.
//!
//! ```json
//! {
//!   "prefix": "fusewire",
//!   "k": 2, "window": "2m", "minimum": 10, "refuse-at-most": 0.95, "hold": "1s", "attempts": 3,
//!   "providers": { "nominatim": { "k": 1.5 } }
//! }
//! ```

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::bindings::exports::fusewire::policy::lifecycle::Problem;
use crate::names;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The longest prefix, in bytes: with the longest name it leaves a key well within the contract's
/// 512.
const PREFIX_MAX_BYTES: usize = 64;

/// What holds for one provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    /// How many times as many calls as are accepted are made. Two, as the book has it: less wastes
    /// what the provider could do, and more wastes what it does on calls that it turns away.
    pub(crate) k: f64,
    /// How far back is looked, in ms. Two minutes, as the book has it.
    pub(crate) window_ms: u64,
    /// The fewest requests within the window of which a share is taken. Ten: three failures at
    /// night are no overload.
    pub(crate) minimum: u64,
    /// The largest share that is refused. The formula alone approaches 1 as more is refused, and a
    /// busy provider that came back would be asked once a minute. One call in twenty finds out
    /// soon, and is no burden.
    pub(crate) refuse_at_most: f64,
    /// For how long a host may admit calls on one answer while nothing is refused, in ms. In that
    /// time calls cost no store operation, and a failing provider is asked as before.
    pub(crate) hold_ms: u64,
    /// Attempts at one provider in one call, the first included.
    pub(crate) attempts: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: 2.0,
            window_ms: 2 * MINUTE,
            minimum: 10,
            refuse_at_most: 0.95,
            hold_ms: SECOND,
            attempts: 3,
        }
    }
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// What every key begins with; two fleets on one store have two.
    pub(crate) prefix: String,
    defaults: Settings,
    providers: Vec<(String, Settings)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            prefix: "fusewire".into(),
            defaults: Settings::default(),
            providers: Vec::new(),
        }
    }
}

impl Config {
    /// Reads a configuration. The error is every problem in it.
    pub(crate) fn read(json: &str) -> Result<Self, Vec<Problem>> {
        let root: Value = match serde_json::from_slice(json.as_bytes()) {
            Ok(root) => root,
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                let wrong = format!("this is not JSON from line {line}, column {column} on");
                return Err(vec![problem("", wrong, "write an object")]);
            }
        };
        let mut problems = Vec::new();
        let mut config = Self::default();
        let Some(object) = object(&root, "", &mut problems) else {
            return Err(problems);
        };
        config.defaults.read(object, "", &mut problems);
        if let Some(prefix) = object.get("prefix") {
            match prefix.as_str().filter(|prefix| begins_keys(prefix)) {
                Some(prefix) => config.prefix = prefix.into(),
                None => problems.push(problem(
                    "/prefix",
                    format!("{} cannot begin a key", shown(prefix)),
                    r"write 1 to 64 bytes without control characters or any of {}*?[]\",
                )),
            }
        }
        if let Some(providers) = object.get("providers") {
            config.read_providers(providers, &mut problems);
        }
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(problems)
        }
    }

    fn read_providers(&mut self, providers: &Value, problems: &mut Vec<Problem>) {
        let Some(providers) = object(providers, "/providers", problems) else {
            return;
        };
        for (name, value) in providers {
            let path = pointer("/providers", name);
            if let Err(wrong) = names::check_provider(name) {
                problems.push(problem(&path, wrong, "write a provider's name"));
            }
            let Some(own) = object(value, &path, problems) else {
                continue;
            };
            for key in ["prefix", "providers"] {
                if own.contains_key(key) {
                    let wrong = format!("`{key}` is not a setting of one provider");
                    let right = "set it for all, or leave it out";
                    problems.push(problem(&pointer(&path, key), wrong, right));
                }
            }
            // What it does not set, it has from the settings for all.
            let mut settings = self.defaults;
            settings.read(own, &path, problems);
            self.providers.push((name.clone(), settings));
        }
    }

    /// What holds for this provider.
    pub(crate) fn settings(&self, provider: &str) -> &Settings {
        let own = self.providers.iter().find(|(name, _)| name == provider);
        own.map_or(&self.defaults, |(_, settings)| settings)
    }
}

impl Settings {
    /// Takes over what is set in `object`.
    fn read(&mut self, object: &Map<String, Value>, path: &str, problems: &mut Vec<Problem>) {
        for (key, value) in object {
            let right = match key.as_str() {
                "k" => take(
                    value.as_f64(),
                    1.0..=100.0,
                    &mut self.k,
                    "a number from 1 to 100",
                ),
                "window" => take(
                    span_ms(value),
                    SECOND..=HOUR,
                    &mut self.window_ms,
                    "a span such as \"2m\", from 1s to 1h",
                ),
                "minimum" => take(
                    value.as_u64(),
                    1..=1_000_000,
                    &mut self.minimum,
                    "a whole number from 1 to 1000000",
                ),
                "refuse-at-most" => take(
                    value.as_f64(),
                    0.0..=0.999,
                    &mut self.refuse_at_most,
                    "a number from 0 to 0.999",
                ),
                "hold" => take(
                    span_ms(value),
                    0..=MINUTE,
                    &mut self.hold_ms,
                    "a span such as \"500ms\", from 0s to 1m",
                ),
                "attempts" => take(
                    value.as_u64().and_then(|whole| u32::try_from(whole).ok()),
                    1..=10,
                    &mut self.attempts,
                    "a whole number from 1 to 10",
                ),
                "prefix" | "providers" => None,
                _ => {
                    let wrong = format!("`{}` is not a setting", plain(key));
                    let right = "known here: k, window, minimum, refuse-at-most, hold, attempts; \
                                 for all also prefix, providers";
                    problems.push(problem(&pointer(path, key), wrong, right));
                    continue;
                }
            };
            if let Some(right) = right {
                let wrong = format!("`{key}` is {}", shown(value));
                let right = format!("write {right}");
                problems.push(problem(&pointer(path, key), wrong, &right));
            }
        }
    }
}

/// Takes over what was found, or answers what would be right.
fn take<T: PartialOrd>(
    found: Option<T>,
    range: RangeInclusive<T>,
    to: &mut T,
    right: &'static str,
) -> Option<&'static str> {
    match found.filter(|found| range.contains(found)) {
        Some(found) => {
            *to = found;
            None
        }
        None => Some(right),
    }
}

/// "500ms", "30s", "2m", "1h".
fn span_ms(value: &Value) -> Option<u64> {
    let text = value.as_str()?;
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ms)
}

/// A prefix must not end the hash tag of the keys, and must not mean something in a pattern.
fn begins_keys(prefix: &str) -> bool {
    !prefix.is_empty()
        && prefix.len() <= PREFIX_MAX_BYTES
        && !prefix
            .chars()
            .any(|c| c.is_control() || r"{}*?[]\".contains(c))
}

fn object<'a>(
    value: &'a Value,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<&'a Map<String, Value>> {
    let object = value.as_object();
    if object.is_none() {
        let wrong = format!("this is {}", shown(value));
        problems.push(problem(path, wrong, "write an object"));
    }
    object
}

fn problem(path: &str, wrong: String, right: &str) -> Problem {
    Problem {
        path: path.into(),
        wrong,
        right: right.into(),
    }
}

/// The JSON Pointer (RFC 6901) to a member of the object at `path`.
fn pointer(path: &str, key: &str) -> String {
    [path, "/", &key.replace('~', "~0").replace('/', "~1")].concat()
}

/// A value in a message: not the whole of what may be long, and no fractions, whose printing is 3 KB
/// of component.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(negative)) => negative.to_string(),
            (None, None) => "a number with a fraction".into(),
        },
        Value::String(text) => ["\"", &plain(text), "\""].concat(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// A text in a message, in one line and not too long.
fn plain(text: &str) -> String {
    let mut plain: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
    if plain.len() < text.len() {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_configuration_is_the_defaults() {
        assert_eq!(Config::read("{}"), Ok(Config::default()));
    }

    #[test]
    fn a_provider_has_what_it_does_not_set_from_the_settings_for_all() {
        let json = r#"{"k": 3, "window": "90s", "hold": "0ms", "providers": {"p": {"k": 1.5}}}"#;
        let config = Config::read(json).unwrap();
        let (own, general) = (config.settings("p"), config.settings("q"));
        assert_eq!((own.k, own.window_ms, own.hold_ms), (1.5, 90_000, 0));
        assert_eq!((general.k, general.window_ms), (3.0, 90_000));
    }

    #[test]
    fn every_problem_is_found_in_one_pass_and_told_at_its_place() {
        let json = r#"{"prefix": "a{b", "k": 0.5, "window": "2 minutes", "minimum": -1, "kk": 1,
            "refuse-at-most": 1, "attempts": "three", "hold": [],
            "providers": {"a/b": {"k": null, "prefix": "x"}, "c": 7}}"#;
        let problems = Config::read(json).unwrap_err();
        let mut paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(
            paths,
            [
                "/attempts",
                "/hold",
                "/k",
                "/kk",
                "/minimum",
                "/prefix",
                "/providers/a~1b",
                "/providers/a~1b/k",
                "/providers/a~1b/prefix",
                "/providers/c",
                "/refuse-at-most",
                "/window",
            ]
        );
        assert!(
            problems
                .iter()
                .all(|p| !p.wrong.is_empty() && !p.right.is_empty())
        );
    }

    #[test]
    fn a_problem_says_what_is_there_and_what_would_be_right() {
        let problems = Config::read(r#"{"window": "2 minutes"}"#).unwrap_err();
        let [problem] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert_eq!(problem.wrong, "`window` is \"2 minutes\"");
        assert_eq!(problem.right, "write a span such as \"2m\", from 1s to 1h");
    }

    #[test]
    fn what_is_no_object_is_one_problem_with_the_whole() {
        for json in ["", "[]", "{\"k\": 2", "nonsense"] {
            let problems = Config::read(json).unwrap_err();
            assert!(problems.iter().all(|p| p.path.is_empty()) && problems.len() == 1);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_read(json: String) {
            let _ = Config::read(&json);
        }

        #[test]
        fn a_span_is_read_exactly_or_not_at_all(number: u64, unit in "ms|s|m|h|d|") {
            let factor = match unit.as_str() {
                "ms" => Some(1),
                "s" => Some(1_000),
                "m" => Some(60_000),
                "h" => Some(3_600_000),
                _ => None,
            };
            let expected = factor.and_then(|factor: u64| number.checked_mul(factor));
            prop_assert_eq!(span_ms(&format!("{number}{unit}").into()), expected);
        }
    }
}
