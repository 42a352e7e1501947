//! What a value is compared with.

use serde_json::Value;

/// A value as it was seen in an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Seen<'a> {
    /// Of a header, of XML, or the name of an event: compared without regard to ASCII case.
    Plain(&'a str),
    /// A text of a JSON document: compared exactly.
    Text(&'a str),
    Integer(i64),
    /// A number with a fraction, or one that is too large for the others.
    Number(f64),
    Bool(bool),
    Null,
    /// A list or an object, of which nothing is known but whether there is anything in it.
    Container {
        is_empty: bool,
    },
}

/// A value as a rule has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Integer(i64),
    Number(f64),
    Bool(bool),
    Null,
}

impl Literal {
    /// A JSON value, unless it is a list or an object.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(is) => Self::Bool(*is),
            Value::Null => Self::Null,
            Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Number(number.as_f64()?),
            },
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    /// Whether they are the same. A number and a text of the same digits are: services change
    /// between the two.
    fn is(&self, seen: Seen<'_>) -> bool {
        match (self, seen) {
            (Self::Text(text), Seen::Text(seen)) => text == seen,
            (Self::Text(text), Seen::Plain(seen)) => text.eq_ignore_ascii_case(seen),
            (Self::Text(text), Seen::Integer(seen)) => canonical(text) == Some(seen),
            (Self::Integer(integer), Seen::Integer(seen)) => *integer == seen,
            (Self::Integer(integer), Seen::Text(seen) | Seen::Plain(seen)) => {
                canonical(seen) == Some(*integer)
            }
            (Self::Integer(integer), Seen::Number(seen)) => *integer as f64 == seen,
            (Self::Number(number), Seen::Number(seen)) => *number == seen,
            (Self::Number(number), Seen::Integer(seen)) => *number == seen as f64,
            (Self::Bool(is), Seen::Bool(seen)) => *is == seen,
            (Self::Bool(is), Seen::Plain(seen)) => {
                seen.eq_ignore_ascii_case(if *is { "true" } else { "false" })
            }
            (Self::Null, Seen::Null) => true,
            _ => false,
        }
    }
}

/// The integer that is written in this way alone: `010006` is a code, and not 10,006.
fn canonical(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
        && text != "-0";
    if is_plain { text.parse().ok() } else { None }
}

/// What a rule asks of a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Test {
    /// There must be none; nothing else is asked for then.
    pub(crate) absent: bool,
    pub(crate) is: Vec<Literal>,
    pub(crate) not: Vec<Literal>,
    pub(crate) contains: Vec<String>,
    pub(crate) starts: Vec<String>,
    pub(crate) empty: Option<bool>,
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
}

impl Test {
    /// Whether a value that is there passes.
    pub(crate) fn holds(&self, seen: Seen<'_>) -> bool {
        let text = match seen {
            Seen::Plain(text) | Seen::Text(text) => Some(text),
            _ => None,
        };
        !self.absent
            && (self.is.is_empty() || self.is.iter().any(|literal| literal.is(seen)))
            && !self.not.iter().any(|literal| literal.is(seen))
            && any_of(&self.contains, text, |text, phrase| {
                super::super::body::text::contains(text.as_bytes(), phrase)
            })
            && any_of(&self.starts, text, |text, start| {
                text.as_bytes()
                    .get(..start.len())
                    .is_some_and(|beginning| beginning.eq_ignore_ascii_case(start.as_bytes()))
            })
            && self.empty.is_none_or(|empty| empty == is_empty(seen))
            && self.is_within(seen)
    }

    fn is_within(&self, seen: Seen<'_>) -> bool {
        if self.at_least.is_none() && self.at_most.is_none() {
            return true;
        }
        let number = match seen {
            Seen::Integer(seen) => Some(seen as f64),
            Seen::Number(seen) => Some(seen),
            Seen::Plain(text) | Seen::Text(text) => canonical(text).map(|seen| seen as f64),
            _ => None,
        };
        number.is_some_and(|number| {
            self.at_least.is_none_or(|least| number >= least)
                && self.at_most.is_none_or(|most| number <= most)
        })
    }

    /// Whether there being a value is all that is asked.
    pub(crate) fn is_presence(&self) -> bool {
        *self == Self::default()
    }

    /// Whether whatever passes `narrower` passes this as well, as far as that is easily seen.
    pub(super) fn covers(&self, narrower: &Self) -> bool {
        if self == narrower || (self.is_presence() && !narrower.absent) {
            return true;
        }
        let only_values = Self {
            is: self.is.clone(),
            ..Self::default()
        };
        let only_phrases = Self {
            contains: self.contains.clone(),
            ..Self::default()
        };
        if *self == only_values {
            !narrower.is.is_empty() && narrower.is.iter().all(|value| self.is.contains(value))
        } else if *self == only_phrases {
            let is_phrase = |text: &str| {
                self.contains
                    .iter()
                    .any(|phrase| super::super::body::text::contains(text.as_bytes(), phrase))
            };
            (!narrower.contains.is_empty() && narrower.contains.iter().all(|text| is_phrase(text)))
                || (!narrower.is.is_empty()
                    && narrower
                        .is
                        .iter()
                        .all(|value| matches!(value, Literal::Text(text) if is_phrase(text))))
        } else {
            false
        }
    }
}

fn any_of(wanted: &[String], text: Option<&str>, is: impl Fn(&str, &str) -> bool) -> bool {
    wanted.is_empty() || text.is_some_and(|text| wanted.iter().any(|one| is(text, one)))
}

fn is_empty(seen: Seen<'_>) -> bool {
    match seen {
        Seen::Plain(text) => text.trim_ascii().is_empty(),
        Seen::Text(text) => text.is_empty(),
        Seen::Null => true,
        Seen::Container { is_empty } => is_empty,
        Seen::Integer(_) | Seen::Number(_) | Seen::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(literal: Literal) -> Test {
        Test {
            is: vec![literal],
            ..Test::default()
        }
    }

    #[test]
    fn a_number_and_a_text_of_the_same_digits_are_equal_and_other_digits_are_not() {
        let number = is(Literal::Integer(429));
        assert!(number.holds(Seen::Integer(429)) && number.holds(Seen::Text("429")));
        assert!(number.holds(Seen::Number(429.0)) && !number.holds(Seen::Text("0429")));
        let code = is(Literal::Text("010006".into()));
        assert!(code.holds(Seen::Text("010006")));
        assert!(!code.holds(Seen::Integer(10_006)) && !code.holds(Seen::Text("10006")));
        assert!(is(Literal::Text("7".into())).holds(Seen::Integer(7)));
    }

    #[test]
    fn texts_of_json_are_compared_exactly_and_those_of_headers_without_case() {
        let test = is(Literal::Text("OVER_LIMIT".into()));
        assert!(test.holds(Seen::Text("OVER_LIMIT")) && !test.holds(Seen::Text("over_limit")));
        assert!(test.holds(Seen::Plain("over_limit")));
    }

    #[test]
    fn what_is_no_text_contains_no_phrase_and_what_is_no_number_is_within_no_bounds() {
        let phrase = Test {
            contains: vec!["1".into()],
            ..Test::default()
        };
        assert!(!phrase.holds(Seen::Integer(1)) && !phrase.holds(Seen::Null));
        let bounds = Test {
            at_least: Some(200.0),
            at_most: Some(261.0),
            ..Test::default()
        };
        assert!(bounds.holds(Seen::Integer(261)) && bounds.holds(Seen::Text("200")));
        assert!(!bounds.holds(Seen::Integer(262)) && !bounds.holds(Seen::Text("x")));
        assert!(!bounds.holds(Seen::Null) && !bounds.holds(Seen::Number(f64::NAN)));
    }

    #[test]
    fn empty_is_a_list_an_object_a_text_or_null_without_anything_in_it() {
        let empty = Test {
            empty: Some(true),
            ..Test::default()
        };
        for seen in [
            Seen::Container { is_empty: true },
            Seen::Text(""),
            Seen::Null,
            Seen::Plain(" "),
        ] {
            assert!(empty.holds(seen), "{seen:?}");
        }
        for seen in [
            Seen::Container { is_empty: false },
            Seen::Text(" "),
            Seen::Integer(0),
            Seen::Bool(false),
        ] {
            assert!(!empty.holds(seen), "{seen:?}");
        }
    }
}
