//! Walks a JSON document, and notes what is wrong with it, and where.
//!
//! A [`Reader`] stands at one object. Each getter names a key and a default; what is missing gets
//! the default, what is wrong gets the default and a [`Problem`]. When the object has been read,
//! [`Reader::finish`] reports the keys that nobody asked for. So one pass finds everything.
//!
//! With the feature `reference` a reader that stands at no document notes what the getters ask for:
//! which keys, of which form, within which bounds, with which default. So what is documented is what
//! is read.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::duration;
#[cfg(feature = "reference")]
use super::reference::{Form, Notes};

/// Notes a getter's call, where notes are taken.
macro_rules! note {
    ($reader:ident, $key:expr, $form:expr, $default:expr) => {
        #[cfg(feature = "reference")]
        if let Some(notes) = &$reader.notes {
            notes.take($reader.path($key), $form, $default);
        }
    };
}

/// Something in a configuration that cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where: a JSON Pointer (RFC 6901).
    pub path: String,
    /// What is wrong.
    pub wrong: String,
    /// What would be right.
    pub right: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() {
            "/"
        } else {
            &self.path
        };
        write!(f, "{path}: {}", self.wrong)?;
        if self.right.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.right)
        }
    }
}

/// Stands at one object of the document.
pub struct Reader<'a> {
    object: Option<&'a Map<String, Value>>,
    path: String,
    asked: RefCell<Vec<String>>,
    problems: Rc<RefCell<Vec<Problem>>>,
    #[cfg(feature = "reference")]
    notes: Option<Rc<Notes>>,
}

impl<'a> Reader<'a> {
    /// Stands at no document, and has these notes taken of everything that is asked for.
    #[cfg(feature = "reference")]
    pub(super) fn noting(notes: Rc<Notes>) -> Self {
        Self {
            object: None,
            path: String::new(),
            asked: RefCell::default(),
            problems: Rc::default(),
            notes: Some(notes),
        }
    }

    /// A reader below this one.
    fn below(&self, object: Option<&'a Map<String, Value>>, path: String) -> Self {
        Self {
            object,
            path,
            asked: RefCell::default(),
            problems: Rc::clone(&self.problems),
            #[cfg(feature = "reference")]
            notes: self.notes.clone(),
        }
    }

    /// Whether notes are taken. Everything is there then.
    fn is_noting(&self) -> bool {
        #[cfg(feature = "reference")]
        return self.notes.is_some();
        #[cfg(not(feature = "reference"))]
        false
    }

    /// Stands at the root of a document, which must be an object.
    #[must_use]
    pub fn root(document: &'a Value) -> Self {
        let reader = Self {
            object: document.as_object(),
            path: String::new(),
            asked: RefCell::default(),
            problems: Rc::default(),
            #[cfg(feature = "reference")]
            notes: None,
        };
        if reader.object.is_none() {
            reader.problem_at(
                String::new(),
                found("the configuration", document),
                "write an object".into(),
            );
        }
        reader
    }

    /// The pointer to a key of this object.
    #[must_use]
    pub fn path(&self, key: &str) -> String {
        let mut path = self.path.clone();
        path.push('/');
        for c in key.chars() {
            match c {
                '~' => path.push_str("~0"),
                '/' => path.push_str("~1"),
                other => path.push(other),
            }
        }
        path
    }

    /// Notes a problem with a key of this object; with an empty one, of the object itself.
    pub fn problem(&self, key: &str, wrong: impl Into<String>, right: impl Into<String>) {
        let path = match key.is_empty() {
            true => self.path.clone(),
            false => self.path(key),
        };
        self.problem_at(path, wrong.into(), right.into());
    }

    fn problem_at(&self, path: String, wrong: String, right: String) {
        self.problems
            .borrow_mut()
            .push(Problem { path, wrong, right });
    }

    /// Whether the object has this key. Does not count as asking for it.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.is_noting() || self.object.is_some_and(|o| o.contains_key(key))
    }

    /// Whether the object has one of these keys. Does not count as asking for them.
    #[must_use]
    pub fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    /// The raw value of a key.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        self.asked.borrow_mut().push(key.into());
        self.object.and_then(|o| o.get(key))
    }

    fn typed<T>(
        &self,
        key: &str,
        form: impl FnOnce() -> String,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let read = read(value);
        if read.is_none() {
            self.not_of_the_form(key, value, &form());
        }
        read
    }

    fn not_of_the_form(&self, key: &str, value: &Value, form: &str) {
        self.problem(
            key,
            found(&format!("`{key}`"), value),
            format!("write {form}"),
        );
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<String> {
        note!(self, key, Form::Text, None);
        self.typed(
            key,
            || "a text in quotes".into(),
            |v| v.as_str().map(str::to_owned),
        )
    }

    /// One of a few words.
    pub fn word<T: Copy + PartialEq>(&self, key: &str, words: &[(&str, T)], default: T) -> T {
        note!(self, key, Form::words(words), {
            let word = words.iter().find(|(_, meaning)| *meaning == default);
            word.map(|(word, _)| Value::from(*word))
        });
        self.a_word(key, words).unwrap_or(default)
    }

    /// One of a few words, without a default.
    pub fn word_opt<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        note!(self, key, Form::words(words), None);
        self.a_word(key, words)
    }

    fn a_word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let form = || {
            let quoted: Vec<String> = words.iter().map(|(w, _)| quoted(w)).collect();
            quoted.join(" or ")
        };
        self.typed(key, form, |v| {
            let text = v.as_str()?;
            let word = words.iter().find(|(w, _)| *w == text)?;
            Some(word.1)
        })
    }

    /// A yes or no.
    pub fn flag(&self, key: &str, default: bool) -> bool {
        note!(self, key, Form::Flag, Some(default.into()));
        self.a_flag(key).unwrap_or(default)
    }

    /// A yes or no, without a default.
    pub fn flag_opt(&self, key: &str) -> Option<bool> {
        note!(self, key, Form::Flag, None);
        self.a_flag(key)
    }

    fn a_flag(&self, key: &str) -> Option<bool> {
        self.typed(key, || "true or false".into(), Value::as_bool)
    }

    /// A whole number within bounds.
    pub fn whole(&self, key: &str, default: u64, bounds: RangeInclusive<u64>) -> u64 {
        note!(self, key, Form::Whole(bounds.clone()), Some(default.into()));
        let form = || format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.typed(key, form, |v| v.as_u64().filter(|n| bounds.contains(n)))
            .unwrap_or(default)
    }

    /// A number within bounds, which `form` names: "a number from 1 to 10".
    pub fn number(&self, key: &str, default: f64, bounds: RangeInclusive<f64>, form: &str) -> f64 {
        note!(
            self,
            key,
            Form::Number(bounds.clone()),
            Some(default.into())
        );
        self.a_number(key, bounds, form).unwrap_or(default)
    }

    /// A number within bounds, without a default.
    pub fn number_opt(&self, key: &str, bounds: RangeInclusive<f64>, form: &str) -> Option<f64> {
        note!(self, key, Form::Number(bounds.clone()), None);
        self.a_number(key, bounds, form)
    }

    fn a_number(&self, key: &str, bounds: RangeInclusive<f64>, form: &str) -> Option<f64> {
        self.typed(
            key,
            || form.into(),
            |v| v.as_f64().filter(|n| bounds.contains(n)),
        )
    }

    /// A duration within bounds, all in milliseconds.
    pub fn duration_ms(&self, key: &str, default: u64, bounds: RangeInclusive<u64>) -> u64 {
        note!(
            self,
            key,
            Form::Duration(bounds.clone()),
            Some(duration::format_ms(default).into())
        );
        self.a_duration_ms(key, bounds).unwrap_or(default)
    }

    /// A duration within bounds, all in milliseconds, or else a table that it is a part of: a reader
    /// there, in the place of the duration.
    pub fn duration_ms_or_object(
        &self,
        key: &str,
        default: u64,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, Self> {
        note!(
            self,
            key,
            Form::DurationOrTable(bounds.clone()),
            Some(duration::format_ms(default).into())
        );
        let value = self.object.and_then(|o| o.get(key));
        if self.is_noting() || value.is_some_and(Value::is_object) {
            return Err(self.an_object(key));
        }
        Ok(self.a_duration_ms(key, bounds).unwrap_or(default))
    }

    /// A duration within bounds, all in milliseconds, without a default.
    pub fn duration_ms_opt(&self, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        note!(self, key, Form::Duration(bounds.clone()), None);
        self.a_duration_ms(key, bounds)
    }

    fn a_duration_ms(&self, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let form = || {
            format!(
                "{} from {} to {}",
                duration::FORM,
                duration::format_ms(*bounds.start()),
                duration::format_ms(*bounds.end())
            )
        };
        self.typed(key, form, |v| {
            v.as_str()
                .and_then(duration::parse_ms)
                .filter(|ms| bounds.contains(ms))
        })
    }

    /// A list of texts.
    pub fn texts(&self, key: &str) -> Option<Vec<String>> {
        note!(self, key, Form::Texts, None);
        self.typed(
            key,
            || "a list of texts".into(),
            |v| {
                v.as_array()?
                    .iter()
                    .map(|item| item.as_str().map(str::to_owned))
                    .collect()
            },
        )
    }

    /// Goes down into an object; an empty one where the key is missing.
    #[must_use]
    pub fn object(&self, key: &str) -> Reader<'a> {
        note!(self, key, Form::Table, None);
        self.an_object(key)
    }

    fn an_object(&self, key: &str) -> Reader<'a> {
        let object = self.typed(key, || "a table".into(), Value::as_object);
        self.below(object, self.path(key))
    }

    /// Goes down into an object that may be switched off by `false`: `None` where it is.
    #[must_use]
    pub fn object_or_false(&self, key: &str) -> Option<Reader<'a>> {
        note!(self, key, Form::TableOrFalse, None);
        if self.object.and_then(|o| o.get(key)) == Some(&Value::Bool(false)) {
            let _ = self.value(key);
            return None;
        }
        Some(self.an_object(key))
    }

    /// The keys of this object. Does not count as asking for them.
    #[must_use]
    pub fn names(&self) -> Vec<&'a str> {
        let object = self.object.into_iter();
        object.flat_map(Map::keys).map(String::as_str).collect()
    }

    /// Stands at an element of a list, for a problem that shows when all of it has been read.
    #[must_use]
    pub fn element(&self, key: &str, index: usize) -> Reader<'a> {
        let list = self.object.and_then(|o| o.get(key));
        self.at_element(list.and_then(|list| list.get(index)), key, index)
    }

    fn at_element(&self, item: Option<&'a Value>, key: &str, index: usize) -> Reader<'a> {
        let mut path = self.path(key);
        path.push('/');
        path.push_str(itoa::Buffer::new().format(index));
        self.below(item.and_then(Value::as_object), path)
    }

    /// Goes down into each object of a table of objects, in order of the names.
    #[must_use]
    pub fn objects(&self, key: &str) -> Vec<(String, Reader<'a>)> {
        note!(self, key, Form::Named, None);
        let table = self.an_object(key);
        if self.is_noting() {
            let any = table.below(None, table.path("*"));
            return vec![("*".into(), any)];
        }
        let names: Vec<String> = table
            .object
            .map(|o| o.keys().cloned().collect())
            .unwrap_or_default();
        names
            .into_iter()
            .map(|name| {
                let inner = table.an_object(&name);
                (name, inner)
            })
            .collect()
    }

    /// Goes down into each object of a list of objects.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<Reader<'a>> {
        note!(self, key, Form::List, None);
        if self.is_noting() {
            return vec![self.below(None, [self.path(key).as_str(), "/*"].concat())];
        }
        let Some(items) = self.typed(key, || "a list of tables".into(), Value::as_array) else {
            return Vec::new();
        };
        items
            .iter()
            .enumerate()
            .map(|(i, item)| {
                let inner = self.at_element(Some(item), key, i);
                if inner.object.is_none() {
                    self.problem_at(
                        inner.path.clone(),
                        found("this", item),
                        "write a table".into(),
                    );
                }
                inner
            })
            .collect()
    }

    /// Reports the keys of this object that nobody asked for.
    pub fn finish(&self) {
        let Some(object) = self.object else { return };
        let asked = self.asked.borrow();
        for key in object.keys().filter(|key| !asked.contains(key)) {
            let mut known: Vec<&str> = Vec::new();
            for name in asked.iter().filter(|name| !name.is_empty()) {
                if !known.contains(&name.as_str()) {
                    known.push(name);
                }
            }
            let right = match known.iter().find(|k| close(k, key)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            self.problem(key, format!("`{key}` is not a setting"), right);
        }
    }

    /// Every problem noted so far by this reader and all that came from the same root.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.borrow().clone()
    }
}

/// A text in quotes, without what would break the line. (Rust's own form of a quoted text brings
/// tables of all of Unicode with it.)
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        quoted.push(if c.is_control() { '\u{fffd}' } else { c });
    }
    quoted.push('"');
    quoted
}

/// "`x` is a number", without repeating values that may be long or secret.
fn found(what: &str, value: &Value) -> String {
    let kind = match value {
        Value::Null => "null".into(),
        Value::Bool(b) => format!("{b}"),
        // Not the number's own form: printing doubles would be a tenth of the component.
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => format!("{n}"),
            (_, Some(n)) => format!("{n}"),
            _ => "a number with a fraction".into(),
        },
        Value::String(s) if s.chars().count() <= 40 => quoted(s),
        Value::String(_) => "a long text".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    };
    format!("{what} is {kind}")
}

/// Whether two keys differ by a slip: `_` for `-`, letter case, or one letter more or less.
#[must_use]
pub fn close(known: &str, key: &str) -> bool {
    fn plain(name: &str) -> impl DoubleEndedIterator<Item = u8> {
        name.bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|b| b.to_ascii_lowercase())
    }
    let (a, b) = (plain(known).count(), plain(key).count());
    let front = plain(known)
        .zip(plain(key))
        .take_while(|(x, y)| x == y)
        .count();
    let back = plain(known)
        .rev()
        .zip(plain(key).rev())
        .take_while(|(x, y)| x == y)
        .count();
    let one_off = front.saturating_add(back) >= a.max(b).saturating_sub(1) && a.abs_diff(b) <= 1;
    (a == b && front == a) || (one_off && a.min(b) >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_problem_is_reported_in_one_pass_and_at_its_place() {
        let document = json!({"a": {"b": "x", "cool_down": "3s"}, "list": [{}, 4], "n": -1});
        let root = Reader::root(&document);
        let a = root.object("a");
        a.whole("b", 1, 0..=9);
        a.duration_ms("cool-down", 1, 0..=9);
        a.finish();
        for item in root.list("list") {
            item.finish();
        }
        root.whole("n", 1, 0..=9);
        root.finish();
        let lines: Vec<String> = root.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "/a/b: `b` is \"x\"; write a whole number from 0 to 9",
                "/a/cool_down: `cool_down` is not a setting; did you mean `cool-down`?",
                "/list/1: this is 4; write a table",
                "/n: `n` is -1; write a whole number from 0 to 9",
            ]
        );
    }

    #[test]
    fn what_is_found_is_named_and_nothing_long_or_secret_is_repeated() {
        let (short, long) = ("x".repeat(40), "x".repeat(41));
        for (value, named) in [
            (json!(null), "it is null".to_owned()),
            (json!(true), "it is true".into()),
            (json!(7), "it is 7".into()),
            (json!(u64::MAX), "it is 18446744073709551615".into()),
            (json!(-7), "it is -7".into()),
            (json!(0.5), "it is a number with a fraction".into()),
            (json!(short), format!("it is \"{short}\"")),
            (json!(long), "it is a long text".into()),
            (json!([]), "it is a list".into()),
            (json!({}), "it is a table".into()),
        ] {
            assert_eq!(found("it", &value), named);
        }
    }

    #[test]
    fn each_form_is_read_within_its_bounds_and_anything_else_is_a_problem() {
        let document = json!({
            "texts": ["a", "b"], "mixed": ["a", 1], "span": "3s", "long": "1h", "flag": false,
            "half": 0.5, "two": 2.0, "word": "b", "list": [{"n": 4}], "pace": {"n": 5}, "limit": "2s",
            "off": false, "named": {"x": {"n": 6}}
        });
        let root = Reader::root(&document);
        assert_eq!(root.texts("texts"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(root.texts("none"), None);
        assert_eq!(root.texts("mixed"), None);
        assert_eq!(root.duration_ms_opt("span", 0..=3_000), Some(3_000));
        assert_eq!(root.duration_ms_opt("long", 0..=3_000), None);
        assert_eq!(root.duration_ms_opt("none", 0..=3_000), None);
        assert_eq!(
            (root.flag("flag", true), root.flag("none", true)),
            (false, true)
        );
        assert_eq!(root.flag_opt("none"), None);
        assert_eq!(root.number("half", 9.0, 0.0..=1.0, "a share"), 0.5);
        assert_eq!(root.number_opt("two", 0.0..=1.0, "a share"), None);
        assert_eq!(root.word("word", &[("a", 1), ("b", 2)], 1), 2);
        assert_eq!(root.word_opt("none", &[("a", 1)]), None);
        let list = root.list("list");
        assert_eq!((list.len(), list[0].whole("n", 0, 0..=9)), (1, 4));
        assert_eq!(list[0].path("n"), "/list/0/n");
        let limit = root.duration_ms_or_object("limit", 1, 0..=9_000);
        assert_eq!(limit.ok(), Some(2_000));
        let pace = root
            .duration_ms_or_object("pace", 1, 0..=9_000)
            .err()
            .unwrap();
        assert_eq!(pace.whole("n", 0, 0..=9), 5);
        assert!(root.object_or_false("off").is_none());
        assert!(root.object_or_false("none").is_some());
        let named = root.objects("named");
        assert_eq!(
            (named[0].0.as_str(), named[0].1.whole("n", 0, 0..=9)),
            ("x", 6)
        );
        let problems = root.problems();
        let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["/mixed", "/long", "/two"]);
    }

    #[test]
    fn a_slip_of_one_letter_is_recognised_and_another_word_is_not() {
        assert!(
            close("windows", "window") && !close("window", "windwo") && close("lease", "leese")
        );
        assert!(!close("lease", "probe") && !close("count", "c"));
        assert!(close("cool-down", "cool_down") && close("idle", "IDLE"));
        assert!(!close("abc", "xyz") && !close("ab", "a") && !close("first", "firsties"));
    }
}
