//! What can be set, as data: for editors and people.
//!
//! Keys, forms, bounds and defaults are noted while the very code runs that reads a configuration, so
//! they cannot differ from what is read. What a setting is for stands in `texts`.
//!
//! | module | subject |
//! |---|---|
//! | `texts` | what each setting is for, why its default is what it is, what goes wrong at either end |

mod texts;

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use serde_json::Value;

use super::{Config, Reader};

/// How a setting is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A text.
    Text,
    /// One of these words.
    Words(Vec<String>),
    /// True or false.
    Flag,
    /// A whole number within bounds.
    Whole(RangeInclusive<u64>),
    /// A number within bounds.
    Number(RangeInclusive<f64>),
    /// A duration such as "30s" within bounds, in ms.
    Duration(RangeInclusive<u64>),
    /// The same, or a table.
    DurationOrTable(RangeInclusive<u64>),
    /// A list of texts.
    Texts,
    /// A table.
    Table,
    /// A table, or `false`.
    TableOrFalse,
    /// A table with a table under each name.
    Named,
    /// A list of tables.
    List,
}

impl Form {
    pub(super) fn words<T>(words: &[(&str, T)]) -> Self {
        Self::Words(words.iter().map(|(word, _)| (*word).to_owned()).collect())
    }
}

/// What a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// What it is, in a sentence or two, with its unit.
    pub about: &'static str,
    /// Why its default is what it is; empty for a table.
    pub why: &'static str,
    /// What goes wrong where it is too small, or off; empty where nothing does.
    pub low: &'static str,
    /// What goes wrong where it is too large, or on; empty where nothing does.
    pub high: &'static str,
}

/// A value: what it is, why it is so by default, what goes wrong where it is too small, and too large.
#[must_use]
pub const fn value(
    about: &'static str,
    why: &'static str,
    low: &'static str,
    high: &'static str,
) -> Text {
    Text {
        about,
        why,
        low,
        high,
    }
}

/// A table of values.
#[must_use]
pub const fn table(about: &'static str) -> Text {
    value(about, "", "", "")
}

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Where it is: a JSON Pointer, with `*` in the place of any name or number.
    pub path: String,
    /// How it is written.
    pub form: Form,
    /// What holds where it is left out; `None`: nothing of that kind.
    pub default: Option<Value>,
}

/// Settings as they are asked for.
#[derive(Debug, Default)]
pub struct Notes(RefCell<Vec<Setting>>);

impl Notes {
    pub(super) fn take(&self, path: String, form: Form, default: Option<Value>) {
        let mut notes = self.0.borrow_mut();
        let noted = notes.iter_mut().find(|setting| setting.path == path);
        match noted {
            // A table may be looked at before what is in it is asked for.
            Some(noted) if noted.form == Form::Table => noted.form = form,
            Some(_) => {}
            None => notes.push(Setting {
                path,
                form,
                default,
            }),
        }
    }
}

/// What this code asks a reader for, in the order in which it does.
#[must_use]
pub fn noted(read: impl FnOnce(&Reader<'_>)) -> Vec<Setting> {
    let notes = Rc::new(Notes::default());
    read(&Reader::noting(Rc::clone(&notes)));
    notes.0.take()
}

/// Every setting of a policy but those inside of profiles, which `policy/PROFILES.md` has. What can be
/// set for one provider is what can be set for all, and is not listed again.
#[must_use]
pub fn settings() -> Vec<Setting> {
    let mut settings = noted(|root| drop(Config::read(root)));
    settings.retain(|setting| {
        !["/profiles/", "/providers/"]
            .iter()
            .any(|part| setting.path.starts_with(part))
    });
    settings
}

/// What a policy's setting is for.
#[must_use]
pub fn text(path: &str) -> Option<&'static Text> {
    let known = texts::TEXTS.iter().find(|(known, _)| *known == path);
    known.map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_told_of_and_nothing_else_is() {
        let settings = settings();
        for Setting { path, form, .. } in &settings {
            let Some(text) = text(path) else {
                panic!("{path} ({form:?}) has no text");
            };
            assert!(text.about.ends_with('.'), "{path}: {}", text.about);
            let is_value = !matches!(form, Form::Table | Form::Named | Form::List);
            assert_eq!(!text.why.is_empty(), is_value, "{path}: why");
            assert!(
                !(is_value && text.low.is_empty() && text.high.is_empty()),
                "{path}: what goes wrong"
            );
        }
        for (path, _) in texts::TEXTS {
            assert!(
                settings.iter().any(|setting| setting.path == *path),
                "{path} is no setting"
            );
        }
    }

    #[test]
    fn what_is_noted_is_what_is_read() {
        let settings = settings();
        let of = |path: &str| {
            settings
                .iter()
                .find(|setting| setting.path == path)
                .unwrap()
        };
        let count = of("/breaker/failures/count");
        assert_eq!(count.form, Form::Whole(1..=1_000_000));
        assert_eq!(count.default, Some(5.into()));
        assert_eq!(of("/breaker/ramp").form, Form::TableOrFalse);
        assert_eq!(of("/breaker/store-failure").default, Some("local".into()));
        assert_eq!(of("/slow").default, Some("10s".into()));
        assert_eq!(of("/slow/learnt/times").default, Some(3.0.into()));
    }

    #[test]
    fn a_provider_can_set_what_can_be_set_for_all() {
        let all = noted(|root| drop(Config::read(root)));
        for Setting { path, form, .. } in settings() {
            if ["/prefix", "/providers", "/profiles"].contains(&path.as_str()) {
                continue;
            }
            let own = ["/providers/*", &path].concat();
            let same = |setting: &Setting| setting.path == own && setting.form == form;
            assert!(all.iter().any(same), "{own}");
        }
    }
}
