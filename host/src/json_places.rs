//! JSON that remembers where each value was written: what [`toml_places`](crate::toml_places) is for
//! TOML.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::toml_places::{Document, Lines, Misplaced, Place, pointer_to};

/// Reads a text of JSON, and nothing looser than JSON.
///
/// # Errors
/// The first thing that is wrong with it: the syntax, or a key that an object has twice, of which
/// readers take one or the other.
pub fn parse(text: &str) -> Result<Document, Misplaced> {
    let value = serde_json::from_str(text).map_err(|error| Misplaced {
        place: Place {
            line: error.line().max(1),
            column: error.column().max(1),
        },
        message: syntax(&error),
    })?;
    let mut reading = Reading {
        lines: Lines::of(text),
        places: HashMap::new(),
    };
    // It has been read as JSON, so that nothing is left for this to refuse.
    if let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        && let Some(node) = &parsed.value
    {
        reading.node(node, "")?;
    }
    Ok(Document::new(value, reading.places))
}

/// What is wrong, without the place, which is told apart.
fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.find(" at line ").unwrap_or(text.len());
    format!("this is not JSON: {}", text.get(..end).unwrap_or(&text))
}

struct Reading<'a> {
    lines: Lines<'a>,
    places: HashMap<String, Place>,
}

impl Reading<'_> {
    fn node(&mut self, node: &Node<'_>, pointer: &str) -> Result<(), Misplaced> {
        match node {
            Node::Object(object) => {
                for property in &object.properties {
                    self.property(property, pointer)?;
                }
            }
            Node::Array(list) => {
                for (at, element) in list.elements.iter().enumerate() {
                    let inner = format!("{pointer}/{at}");
                    self.note(&inner, element.range().start);
                    self.node(element, &inner)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn property(&mut self, property: &ObjectProp<'_>, pointer: &str) -> Result<(), Misplaced> {
        let name = property.name.as_str();
        let inner = pointer_to(pointer, name);
        if let Some(first) = self.note(&inner, property.range.start) {
            return Err(Misplaced {
                place: self.place(property.range.start),
                message: format!("`{name}` is here a second time; the first is in line {first}"),
            });
        }
        self.node(&property.value, &inner)
    }

    /// Notes a place, and answers the line of the one that was noted before.
    fn note(&mut self, pointer: &str, at: usize) -> Option<usize> {
        let place = self.place(at);
        let before = self.places.insert(pointer.to_owned(), place);
        before.map(|place| place.line)
    }

    fn place(&self, at: usize) -> Place {
        self.lines.place(Some(Range { start: at, end: at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"é\": \"é\", \"a/b\": [1, {\"deep\": null}],\n  \"last\": true\n}\n";

    #[test]
    fn every_part_is_found_at_its_line_and_what_is_missing_where_it_should_be() {
        let document = parse(TEXT).unwrap();
        assert_eq!(document.value["a/b"][1]["deep"], serde_json::Value::Null);
        for (pointer, place) in [
            ("", "1:1"),
            ("/é", "2:3"),
            ("/a~1b", "2:13"),
            ("/a~1b/0", "2:21"),
            ("/a~1b/1/deep", "2:25"),
            ("/a~1b/1/missing", "2:24"),
            ("/last", "3:3"),
        ] {
            assert_eq!(document.place(pointer).to_string(), place, "{pointer}");
        }
    }

    #[test]
    fn what_is_not_json_and_what_is_there_twice_is_reported_at_its_place() {
        for (text, message) in [
            (
                "{\"a\": 1,\n \"a\": 2}",
                "2:2: `a` is here a second time; the first is in line 1",
            ),
            ("{\"a\": 1,}", "1:9: this is not JSON: trailing comma"),
            ("{\n// no\n}", "2:1: this is not JSON: "),
            ("", "1:1: this is not JSON: EOF while parsing a value"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
