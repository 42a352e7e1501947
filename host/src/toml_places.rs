//! TOML as JSON that remembers where each value was written.
//!
//! Everything that reads settings walks JSON and names a problem by a JSON Pointer
//! ([`fusewire_core::config::Reader`]); people write TOML, and look for a line. This module is the
//! bridge: a [`Document`] has the value, and a place in the text for every pointer into it. A text of
//! JSON becomes the same in [`json_places`](crate::json_places).

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml_edit::{Item, Key, TableLike};

/// A place in a text: line and column (in characters), both counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text that is not TOML or JSON, or has something in it that JSON has no word for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Misplaced {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A text as JSON, with the places of its parts.
#[derive(Debug, Clone)]
pub struct Document {
    /// The whole text as a JSON object.
    pub value: Value,
    /// By JSON Pointer. A value that has a key is where its key is; one in a list is where it
    /// begins.
    places: HashMap<String, Place>,
}

impl Document {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// The first thing that is wrong with it: the syntax, or a value that is not JSON (a date, an
    /// infinite number).
    pub fn parse(text: &str) -> Result<Self, Misplaced> {
        let lines = Lines::of(text);
        let document = toml_edit::Document::parse(text).map_err(|error| Misplaced {
            place: lines.place(error.span()),
            message: error.message().trim_end().replace('\n', "; "),
        })?;
        let mut reading = Reading {
            lines,
            places: HashMap::new(),
        };
        let value = reading.table(document.as_table(), "")?;
        Ok(Self {
            value,
            places: reading.places,
        })
    }

    pub(crate) fn new(value: Value, places: HashMap<String, Place>) -> Self {
        Self { value, places }
    }

    /// Where the value of this JSON Pointer was written. For one that was not written, where the
    /// nearest part around it was, and so the whole text's beginning in the last resort.
    #[must_use]
    pub fn place(&self, pointer: &str) -> Place {
        let mut rest = pointer;
        loop {
            if let Some(place) = self.places.get(rest) {
                return *place;
            }
            match rest.rfind('/') {
                Some(end) => rest = &rest[..end],
                None => return Place { line: 1, column: 1 },
            }
        }
    }
}

struct Reading<'a> {
    lines: Lines<'a>,
    places: HashMap<String, Place>,
}

impl Reading<'_> {
    fn table(&mut self, table: &dyn TableLike, pointer: &str) -> Result<Value, Misplaced> {
        let mut object = Map::new();
        for (name, item) in table.iter() {
            let inner = pointer_to(pointer, name);
            let span = table.key(name).and_then(Key::span).or_else(|| item.span());
            self.places.insert(inner.clone(), self.lines.place(span));
            object.insert(name.to_owned(), self.item(item, &inner)?);
        }
        Ok(Value::Object(object))
    }

    fn item(&mut self, item: &Item, pointer: &str) -> Result<Value, Misplaced> {
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, pointer),
            Item::Table(table) => self.table(table, pointer),
            Item::ArrayOfTables(tables) => {
                let mut list = Vec::with_capacity(tables.len());
                for (at, table) in tables.iter().enumerate() {
                    let inner = format!("{pointer}/{at}");
                    self.places
                        .insert(inner.clone(), self.lines.place(table.span()));
                    list.push(self.table(table, &inner)?);
                }
                Ok(Value::Array(list))
            }
        }
    }

    fn value(&mut self, value: &toml_edit::Value, pointer: &str) -> Result<Value, Misplaced> {
        use toml_edit::Value as Toml;
        Ok(match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::from(*number.value()),
            Toml::Float(number) => match Number::from_f64(*number.value()) {
                Some(number) => Value::Number(number),
                None => return Err(self.misplaced(value, "a number here must be finite")),
            },
            Toml::Boolean(flag) => Value::Bool(*flag.value()),
            Toml::Datetime(_) => {
                let message = "dates and times have no meaning here; write a text in quotes";
                return Err(self.misplaced(value, message));
            }
            Toml::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    let inner = format!("{pointer}/{at}");
                    self.places
                        .insert(inner.clone(), self.lines.place(item.span()));
                    list.push(self.value(item, &inner)?);
                }
                Value::Array(list)
            }
            Toml::InlineTable(table) => self.table(table, pointer)?,
        })
    }

    fn misplaced(&self, value: &toml_edit::Value, message: &str) -> Misplaced {
        Misplaced {
            place: self.lines.place(value.span()),
            message: message.to_owned(),
        }
    }
}

/// The pointer to a key of the object at this pointer.
pub(crate) fn pointer_to(object: &str, key: &str) -> String {
    format!("{object}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A JSON Pointer as people write it: `/routes/0/chain` is `routes[0].chain`.
#[must_use]
pub fn dotted(pointer: &str) -> String {
    let mut text = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            text.push_str(&format!("[{part}]"));
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&part);
        }
    }
    text
}

/// Where the lines of a text begin.
pub(crate) struct Lines<'a> {
    text: &'a str,
    begins: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let begins = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        Self {
            text,
            begins: begins.collect(),
        }
    }

    /// The place of a span's beginning; without a span, of the text's.
    pub(crate) fn place(&self, span: Option<Range<usize>>) -> Place {
        let at = span.map_or(0, |span| span.start).min(self.text.len());
        let line = self.begins.partition_point(|begin| *begin <= at);
        let begin = self
            .begins
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(0);
        let column = self
            .text
            .get(begin..at)
            .map_or(0, |part| part.chars().count())
            + 1;
        Place { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "\
title = \"é\"
list = [1, { \"a/b\" = 2.5 }]

[outer.inner]
flag = true

[[step]]
at = \"1s\"

[[step]]
at = \"2s\"
";

    #[test]
    fn the_value_is_what_the_same_document_is_in_json() {
        let expected = json!({
            "title": "é",
            "list": [1, {"a/b": 2.5}],
            "outer": {"inner": {"flag": true}},
            "step": [{"at": "1s"}, {"at": "2s"}],
        });
        assert_eq!(Document::parse(TEXT).unwrap().value, expected);
    }

    #[test]
    fn every_part_is_found_at_its_line_and_what_is_missing_where_it_should_be() {
        let document = Document::parse(TEXT).unwrap();
        for (pointer, place) in [
            ("", "1:1"),
            ("/title", "1:1"),
            ("/list/0", "2:9"),
            ("/list/1/a~1b", "2:14"),
            ("/outer", "4:2"),
            ("/outer/inner", "4:8"),
            ("/outer/inner/flag", "5:1"),
            ("/outer/inner/missing/deep", "4:8"),
            ("/step/0", "7:1"),
            ("/step/1", "10:1"),
            ("/step/1/at", "11:1"),
            ("/nothing", "1:1"),
        ] {
            assert_eq!(document.place(pointer).to_string(), place, "{pointer}");
        }
    }

    #[test]
    fn what_is_not_toml_and_what_is_not_json_is_reported_at_its_place() {
        for (text, message) in [
            ("a = 1\nb = = 2\n", "2:5: "),
            ("a = 1\na = 2\n", "2:1: "),
            ("\"é\" = nan", "1:7: a number here must be finite"),
            (
                "x = [\n  1979-05-27,\n]",
                "2:3: dates and times have no meaning here; write a text in quotes",
            ),
        ] {
            let error = Document::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
