//! Names, times and words.

use std::ops::RangeInclusive;

use fusewire_core::config::Reader;
use fusewire_core::{Domain, Target};
use serde_json::Value;

/// The longest time in a scenario, in ms: a thousand days, beyond any setting.
const TIME_MAX_MS: u64 = 86_400_000_000;

/// The largest whole number: what every reader of JSON agrees on.
pub(super) const WHOLE_MAX: u64 = (1 << 53) - 1;

/// A time since the beginning, or a span, in ms.
pub(super) fn time_ms(reader: &Reader<'_>, key: &str) -> Option<u64> {
    reader.duration_ms_opt(key, 0..=TIME_MAX_MS)
}

pub(super) fn optional_whole(
    reader: &Reader<'_>,
    key: &str,
    bounds: RangeInclusive<u64>,
) -> Option<u64> {
    let (has, lowest) = (reader.has(key), *bounds.start());
    let number = reader.whole(key, lowest, bounds);
    has.then_some(number)
}

pub(super) fn optional_flag(reader: &Reader<'_>, key: &str) -> Option<bool> {
    let has = reader.has(key);
    let flag = reader.flag(key, false);
    has.then_some(flag)
}

/// One of the members of an enumeration, by the contract's name.
pub(super) fn optional_word<T: Copy + PartialEq>(
    reader: &Reader<'_>,
    key: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Option<T> {
    let words: Vec<(&str, T)> = all.iter().map(|member| (name(*member), *member)).collect();
    let has = reader.has(key);
    let word = reader.word(key, &words, *all.first()?);
    has.then_some(word)
}

/// A text, or a list of texts.
pub(super) fn texts_or_text(reader: &Reader<'_>, key: &str) -> Option<Vec<String>> {
    match reader.value(key)? {
        Value::String(text) => Some(vec![text.clone()]),
        _ => reader.texts(key),
    }
}

/// A target: `provider`, `provider@account`, `provider/operation`, `provider@account/operation`,
/// or a table of these for names that the short form cannot tell apart.
pub(super) fn target(reader: &Reader<'_>, key: &str) -> Option<Target> {
    match reader.value(key)? {
        Value::String(text) => Some(target_of(text)),
        Value::Object(_) => {
            let table = reader.object(key);
            let target = Target {
                provider: table.text("provider").unwrap_or_default(),
                account: table.text("account"),
                operation: table.text("operation"),
            };
            table.finish();
            Some(target)
        }
        _ => {
            let right = "write `provider`, `provider@account`, `provider/operation` or \
                         `provider@account/operation` in quotes";
            reader.problem(key, format!("`{key}` is not a target"), right);
            None
        }
    }
}

pub(super) fn target_of(text: &str) -> Target {
    let (head, operation) = match text.split_once('/') {
        Some((head, operation)) => (head, Some(operation.to_owned())),
        None => (text, None),
    };
    let (provider, account) = match head.split_once('@') {
        Some((provider, account)) => (provider, Some(account.to_owned())),
        None => (head, None),
    };
    Target {
        provider: provider.to_owned(),
        account,
        operation,
    }
}

/// A domain's name.
pub(super) fn domain(reader: &Reader<'_>, key: &str) -> Option<String> {
    let name = reader.text(key)?;
    if let Err(wrong) = Domain::parse(&name) {
        reader.problem(
            key,
            wrong,
            "write `provider`, `provider@account` or `provider/operation`",
        );
        return None;
    }
    Some(name)
}
