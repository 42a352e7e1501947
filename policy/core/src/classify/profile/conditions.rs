//! The conditions of a rule from JSON, and the tests in them.

use serde_json::Value;

use super::read::{TEXT_MAX, asks_for_nothing};
use super::rule::{Asked, EventTest, Kind, When};
use super::test::{Literal, Test};
use crate::classify::body::json::Pointer;
use crate::classify::body::xml::Place;
use crate::classify::grpc;
use crate::classify::media::Magic;
use crate::config::reader::{Reader, quoted};
use crate::observation::Media;

pub(super) fn read_when(at: &Reader<'_>) -> When {
    let when = When {
        status: statuses(at),
        headers: fields(at, "header"),
        trailers: fields(at, "trailer"),
        media: phrases(at, "media"),
        magic: kinds(at),
        grpc: codes(at),
        expect: words(at, "expect", Media::WORDS),
        json: places(at, "json", Pointer::parse),
        xml: places(at, "xml", Place::parse),
        text: phrases(at, "text"),
        event: at.has("event").then(|| EventTest {
            test: test(at, "event"),
            number: 0,
        }),
    };
    if when.is_empty() {
        asks_for_nothing(at, "");
    }
    at.finish();
    when
}

/// Items that may be one or a list, each read alone.
fn items<T>(
    at: &Reader<'_>,
    key: &str,
    form: impl FnOnce() -> String,
    read: impl Fn(&Value) -> Option<T>,
) -> Vec<T> {
    let Some(value) = at.value(key) else {
        return Vec::new();
    };
    let all: Option<Vec<T>> = match value {
        Value::Array(list) if !list.is_empty() => list.iter().map(&read).collect(),
        one => read(one).map(|one| vec![one]),
    };
    all.unwrap_or_else(|| {
        at.problem(
            key,
            ["`", key, "` has something in it that does not belong there"].concat(),
            ["write ", &form(), ", or a list of such"].concat(),
        );
        Vec::new()
    })
}

fn statuses(at: &Reader<'_>) -> Vec<(u16, u16)> {
    let form = || r#"a status from 100 to 999 such as 429, "4xx" or "500-504""#.into();
    items(at, "status", form, |value| {
        let range = match value {
            Value::Number(number) => {
                let status = u16::try_from(number.as_u64()?).ok()?;
                (status, status)
            }
            Value::String(text) => range(text)?,
            _ => return None,
        };
        // Beyond these no answer of HTTP is.
        let is_possible = (100..=range.1).contains(&range.0) && range.1 <= 999;
        is_possible.then_some(range)
    })
}

/// `429`, `4xx` or `500-504`.
fn range(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| text.parse::<u16>().ok();
    match text.strip_suffix("xx") {
        Some(class) => {
            let from = number(class)?.checked_mul(100)?;
            Some((from, from.checked_add(99)?))
        }
        None => {
            let (from, to) = text.split_once('-').unwrap_or((text, text));
            Some((number(from)?, number(to)?))
        }
    }
}

fn codes(at: &Reader<'_>) -> Vec<u32> {
    let form = || r#"a status such as 8 or "RESOURCE_EXHAUSTED""#.into();
    items(at, "grpc", form, |value| match value {
        Value::Number(number) => u32::try_from(number.as_u64()?).ok(),
        Value::String(text) => grpc::code(text),
        _ => None,
    })
}

fn words<T: Copy>(at: &Reader<'_>, key: &str, words: &[(&str, T)]) -> Vec<T> {
    let form = || {
        let words: Vec<String> = words.iter().map(|(word, _)| quoted(word)).collect();
        ["one of ", &words.join(", ")].concat()
    };
    items(at, key, form, |value| {
        let text = value.as_str()?;
        let found = words.iter().find(|(word, _)| *word == text)?;
        Some(found.1)
    })
}

fn kinds(at: &Reader<'_>) -> Vec<Kind> {
    let form = || r#"a form such as "png", "image", "html" or "empty""#.into();
    items(at, "magic", form, |value| match value.as_str()? {
        "image" => Some(Kind::Image),
        name => Magic::from_name(name).map(Kind::Magic),
    })
}

fn phrases(at: &Reader<'_>, key: &str) -> Vec<String> {
    let form = || "a text of 1 to 200 bytes".into();
    items(at, key, form, |value| {
        let text = value.as_str()?;
        let is_fit = (1..=TEXT_MAX).contains(&text.len());
        is_fit.then(|| text.to_owned())
    })
}

/// Tests of fields, by the fields' names.
fn fields(at: &Reader<'_>, key: &str) -> Vec<(String, Test)> {
    let table = at.object(key);
    let names = table.names();
    let is_token = |name: &str| {
        !name.is_empty()
            && name.len() <= 128
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    for name in names.iter().filter(|name| !is_token(name)) {
        table.problem(
            name,
            "this cannot name a field",
            "write a name such as \"retry-after\"",
        );
    }
    names
        .iter()
        .map(|name| (name.to_ascii_lowercase(), test(&table, name)))
        .collect()
}

/// Tests of places in the body, by the places.
fn places<P>(
    at: &Reader<'_>,
    key: &str,
    parse: impl Fn(&str) -> Result<P, &'static str>,
) -> Vec<Asked<P>> {
    let table = at.object(key);
    let mut asked = Vec::new();
    for name in table.names() {
        let test = test(&table, name);
        match parse(name) {
            Ok(at) => asked.push(Asked {
                at,
                test,
                place: 0,
                number: 0,
            }),
            Err(wrong) => table.problem(name, wrong, ""),
        }
    }
    asked
}

fn test(at: &Reader<'_>, key: &str) -> Test {
    let form = || {
        r#"true, false, a value, a list of values, or a table such as { contains = "quota" }"#
            .into()
    };
    match at.value(key) {
        None | Some(Value::Bool(true)) => Test::default(),
        Some(Value::Bool(false)) => Test {
            absent: true,
            ..Test::default()
        },
        Some(Value::Object(_)) => table_test(&at.object(key)),
        Some(_) => Test {
            is: items(at, key, form, Literal::of),
            ..Test::default()
        },
    }
}

fn table_test(at: &Reader<'_>) -> Test {
    let value = || "a value".into();
    let number = |key: &str| at.number_opt(key, -9.0e15..=9.0e15, "a number");
    let read = Test {
        absent: false,
        is: items(at, "is", value, Literal::of),
        not: items(at, "not", value, Literal::of),
        contains: phrases(at, "contains"),
        starts: phrases(at, "starts"),
        empty: at.flag_opt("empty"),
        at_least: number("at-least"),
        at_most: number("at-most"),
    };
    at.finish();
    read
}
