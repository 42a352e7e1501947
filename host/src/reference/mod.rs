//! What can be set in a configuration file: for people, and for editors.
//!
//! Keys, forms, bounds and defaults are those that the code asks for which reads a file
//! ([`fusewire_core::config::reference`]); what each is for stands beside it.
//!
//! | module | subject |
//! |---|---|
//! | `texts` | what the gateway's settings are for; those of the policy are in the core |
//! | `tree` | settings as they lie within one another |
//! | `schema` | as a JSON Schema |
//! | `page` | as a page for people |

mod page;
mod schema;
mod texts;
mod tree;

use fusewire_core::config::duration::format_ms;
use fusewire_core::config::reference::{self, Form, Setting, Text};

pub use self::page::{entry, page};
pub use self::schema::schema;
use crate::gateway::config::load;

/// Every setting of a file, in the order in which it is read. Those of the policy that can be set for
/// one provider are listed once.
#[must_use]
pub fn settings() -> Vec<Setting> {
    let mut settings = load::settings();
    let of_policy = reference::settings().into_iter().map(|setting| Setting {
        path: ["/policy", &setting.path].concat(),
        ..setting
    });
    let is_policy = |setting: &Setting| setting.path.starts_with("/policy/");
    let after = settings.iter().rposition(is_policy);
    let at = after.map_or(settings.len(), |at| at + 1);
    settings.splice(at..at, of_policy);
    settings
}

/// What a setting is for.
#[must_use]
pub fn text(path: &str) -> Option<&'static Text> {
    let own = texts::TEXTS.iter().find(|(known, _)| *known == path);
    let own = own.map(|(_, text)| text);
    own.or_else(|| reference::text(path.strip_prefix("/policy")?))
}

/// A setting's path as people write it: `policy.breaker.failures.count`, `providers.NAME.url`.
#[must_use]
pub fn name(path: &str) -> String {
    let path = path.trim_start_matches('/');
    let parts = path.split('/').map(|part| match part {
        "*" if path.starts_with("routes") => "*",
        "*" => "NAME",
        part => part,
    });
    parts.collect::<Vec<_>>().join(".").replace(".*.", "[].")
}

/// How a setting is written, in words.
#[must_use]
pub fn form(form: &Form) -> String {
    let span = |ends: &std::ops::RangeInclusive<u64>| {
        format!(
            "from {} to {}",
            format_ms(*ends.start()),
            format_ms(*ends.end())
        )
    };
    match form {
        Form::Text => "a text".into(),
        Form::Words(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            quoted.join(" or ")
        }
        Form::Flag => "true or false".into(),
        Form::Whole(ends) => format!("a whole number from {} to {}", ends.start(), ends.end()),
        Form::Number(ends) => format!("a number from {} to {}", ends.start(), ends.end()),
        Form::Duration(ends) => format!("a time such as \"30s\", {}", span(ends)),
        Form::DurationOrTable(ends) => {
            format!("a time such as \"30s\", {}, or a table", span(ends))
        }
        Form::Texts => "a list of texts".into(),
        Form::Table => "a table".into(),
        Form::TableOrFalse => "a table, or false".into(),
        Form::Named => "a table for each name".into(),
        Form::List => "a list of tables".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_told_of_and_nothing_else_is() {
        let settings = settings();
        for setting in &settings {
            let path = &setting.path;
            let Some(text) = text(path) else {
                panic!("{path} ({:?}) has no text", setting.form);
            };
            assert!(text.about.ends_with('.'), "{path}: {}", text.about);
            let is_value = !matches!(setting.form, Form::Table | Form::Named | Form::List);
            assert_eq!(!text.why.is_empty(), is_value, "{path}: why");
            let ends = [text.low, text.high].concat();
            assert!(!is_value || !ends.is_empty(), "{path}: what goes wrong");
        }
        for (path, _) in texts::TEXTS {
            let is_there = settings.iter().any(|setting| setting.path == *path);
            assert!(is_there, "{path} is no setting");
        }
    }

    #[test]
    fn the_page_and_the_schema_in_this_folder_are_what_the_code_says() {
        for (file, kept, made) in [
            ("SETTINGS.md", include_str!("../../SETTINGS.md"), page()),
            (
                "fusewire.schema.json",
                include_str!("../../fusewire.schema.json"),
                format!("{:#}", schema()),
            ),
        ] {
            assert!(
                kept.trim_end() == made.trim_end(),
                "host/{file} is not up to date: run `make reference`"
            );
        }
    }

    #[test]
    fn settings_are_named_as_in_a_file() {
        assert_eq!(name("/policy/breaker/quorum"), "policy.breaker.quorum");
        assert_eq!(name("/providers/*/url"), "providers.NAME.url");
        assert_eq!(name("/routes/*/path"), "routes[].path");
    }
}
