//! From a TOML text to a scenario, or to every mistake in it at its place.
//!
//! | module | subject |
//! |---|---|
//! | `action` | what a step does |
//! | `observation` | how a call ended, and what is expected of the verdict |
//! | `expect` | what is expected of admissions, records, states and events |
//! | `value` | names, times and words |

mod action;
mod expect;
mod observation;
mod value;

use std::collections::BTreeSet;

use fusewire_core::config::Reader;
use serde_json::Value;

use self::action::ACTIONS;
use self::value::{WHOLE_MAX, optional_whole, texts_or_text, time_ms};
use super::script::{Action, Scenario, Step};
use crate::toml_places::{Document, Misplaced};

/// The most repetitions of one step: enough for any window, few enough that a slip of the finger
/// does not take all day.
const TIMES_MAX: u64 = 10_000;

/// A scenario that cannot be played, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct Unreadable(pub Vec<Misplaced>);

fn lines(problems: &[Misplaced]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Every mistake in it, in the order of the text. The configuration is not looked at: only
    /// the policy knows what is right there.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let document = Document::parse(text).map_err(|error| Unreadable(vec![error]))?;
        let root = Reader::root(&document.value);
        let title = root.text("title").unwrap_or_default();
        if !root.has("title") {
            root.problem(
                "title",
                "the scenario has no title",
                "write `title = \"what it promises\"`",
            );
        }
        let about = root.text("about").unwrap_or_default();
        let traps = traps(&root);
        let config = match root.value("config") {
            None => Value::Object(serde_json::Map::new()),
            Some(config) if config.is_object() => config.clone(),
            Some(_) => {
                root.problem(
                    "config",
                    "`config` is not a table",
                    "begin it with `[config]`",
                );
                Value::Null
            }
        };
        let clocks = clocks(&root);
        let steps = steps(&root);
        root.finish();
        let mut problems: Vec<Misplaced> = root
            .problems()
            .into_iter()
            .map(|problem| Misplaced {
                place: document.place(&problem.path),
                message: match problem.right.as_str() {
                    "" => problem.wrong,
                    right => format!("{}; {right}", problem.wrong),
                },
            })
            .collect();
        if problems.is_empty() {
            Ok(Self {
                title,
                about,
                traps,
                config,
                clocks,
                steps,
                document,
            })
        } else {
            problems.sort_by_key(|problem| problem.place);
            Err(Unreadable(problems))
        }
    }
}

fn traps(root: &Reader<'_>) -> Vec<u64> {
    let Some(value) = root.value("trap") else {
        return Vec::new();
    };
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let traps: Vec<u64> = items.iter().filter_map(Value::as_u64).collect();
    if traps.len() != items.len() {
        root.problem(
            "trap",
            "`trap` is not a number",
            "write `trap = 3` or `trap = [3, 5]`",
        );
    }
    traps
}

fn clocks(root: &Reader<'_>) -> Vec<(String, i64)> {
    let Some(value) = root.value("clocks") else {
        return Vec::new();
    };
    let Some(table) = value.as_object() else {
        root.problem(
            "clocks",
            "`clocks` is not a table",
            "begin it with `[clocks]`",
        );
        return Vec::new();
    };
    let reader = root.object("clocks");
    let offset = |text: &str| {
        let (sign, span) = match text.strip_prefix('-') {
            Some(span) => (-1, span),
            None => (1, text.strip_prefix('+')?),
        };
        let ms = fusewire_core::config::duration::parse_ms(span)?;
        i64::try_from(ms).ok().map(|ms| sign * ms)
    };
    let mut clocks = Vec::new();
    for (name, value) in table {
        match value.as_str().and_then(offset) {
            Some(ms) => clocks.push((name.clone(), ms)),
            None => reader.problem(
                name,
                format!("the clock of `{name}` is not off by a span of time"),
                "write one such as \"+80ms\" for a clock that is fast, or \"-2s\" for a slow one",
            ),
        }
    }
    clocks
}

fn steps(root: &Reader<'_>) -> Vec<Step> {
    if !root.has("step") {
        let _ = root.value("step");
        root.problem(
            "step",
            "the scenario has no steps",
            "begin one with `[[step]]`",
        );
        return Vec::new();
    }
    let mut names = Names::default();
    let mut steps: Vec<Step> = Vec::new();
    for (index, reader) in root.list("step").iter().enumerate() {
        let before = steps.last().map_or(0, Step::ends_ms);
        steps.extend(step(reader, format!("/step/{index}"), before, &mut names));
    }
    steps
}

/// Reads one step. `before` is when the step before is over, in ms since the beginning.
fn step(reader: &Reader<'_>, pointer: String, before: u64, names: &mut Names) -> Option<Step> {
    let at_ms = time_ms(reader, "at").unwrap_or(before);
    if at_ms < before {
        let before = fusewire_core::config::duration::format_ms(before);
        reader.problem(
            "at",
            "the story goes back in time",
            format!("the step before is over at \"{before}\", so write that or later"),
        );
    }
    let times = reader.whole("times", 1, 1..=TIMES_MAX);
    let every_ms = time_ms(reader, "every").unwrap_or(0);
    let by = texts_or_text(reader, "by").unwrap_or_else(|| vec!["a".into()]);
    if by.is_empty() {
        reader.problem("by", "nobody does this", "write the name of an instance");
    }
    let entropy = optional_whole(reader, "entropy", 0..=WHOLE_MAX);
    let operations = optional_whole(reader, "operations", 0..=64);
    let events = expect::events(reader);
    let action = action(reader, times, names)?;
    Some(Step {
        pointer,
        at_ms,
        times,
        every_ms,
        by,
        entropy,
        action,
        events,
        operations,
    })
}

fn action(reader: &Reader<'_>, times: u64, names: &mut Names) -> Option<Action> {
    let found: Vec<_> = ACTIONS
        .iter()
        .filter(|(name, _)| reader.has(name))
        .collect();
    match found.as_slice() {
        [(_, read)] => {
            let action = read(reader, times, names);
            reader.finish();
            action
        }
        [] => {
            let known: Vec<String> = ACTIONS
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            reader.problem(
                "",
                "this step does nothing",
                format!("give it one of {}", known.join(", ")),
            );
            None
        }
        [(first, _), (second, _), ..] => {
            let wrong = format!("`{first}` and `{second}` are two steps");
            reader.problem(second, wrong, "begin each with its own `[[step]]`");
            None
        }
    }
}

/// The names that steps have given to admissions so far.
#[derive(Debug, Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// Gives a name to the admission of this step.
    fn give(&mut self, reader: &Reader<'_>, times: u64) -> Option<String> {
        let name = reader.text("as")?;
        if times > 1 {
            let wrong = format!("`{name}` would be the name of {times} admissions");
            reader.problem(
                "as",
                wrong,
                "repeat a step without a name, or name one that is not repeated",
            );
        } else if !self.0.insert(name.clone()) {
            let wrong = format!("`{name}` is the name of an earlier admission");
            reader.problem("as", wrong, "choose another name");
        }
        Some(name)
    }

    /// The name of an earlier admission.
    fn know(&self, reader: &Reader<'_>, key: &str) -> Option<String> {
        let name = reader.text(key)?;
        if !self.0.contains(&name) {
            let given: Vec<String> = self.0.iter().map(|name| format!("`{name}`")).collect();
            let right = match given.as_slice() {
                [] => "name one with `as` in an earlier step".to_owned(),
                given => format!("so far there are {}", given.join(", ")),
            };
            reader.problem(
                key,
                format!("no admission before this is named `{name}`"),
                right,
            );
        }
        Some(name)
    }
}
