//! The settings as a page for people, in Markdown.

use std::fmt::Write;

use fusewire_core::config::reference::{Form, Setting};

use super::{form, name, settings, text};

const HEAD: &str = "\
# Settings

Everything that can be set in a configuration file of `fusewire`. This page is made by `make reference`
of what the code asks for that reads one: keys, forms, bounds and defaults cannot differ from what holds.
[fusewire.schema.json](fusewire.schema.json) is the same for editors, and `fusewire reference NAME` for
terminals; [fusewire.example.toml](fusewire.example.toml) is a whole file.

For completion, checks and explanations while you type, in editors with a language server for TOML, begin
your file with

```toml
#:schema ./fusewire.schema.json
```

and put what `fusewire reference --schema` prints beside it.

Under each setting stands what it is, how it is written, its default and the reason for that, and what
goes wrong at either end. What can be set under `policy` can be set for one provider alone under
`policy.providers.NAME`; what is not set there is as for all.
";

/// The whole page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for setting in settings() {
        page.push('\n');
        page.push_str(&of(&setting));
    }
    page
}

/// What there is to say of one setting, and of each within it; `None`: there is no such.
#[must_use]
pub fn entry(asked: &str) -> Option<String> {
    let is_asked = |name: &str| {
        let rest = name.strip_prefix(asked);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found: Vec<String> = settings()
        .iter()
        .filter(|setting| {
            let name = name(&setting.path);
            is_asked(&name) || name.strip_prefix("policy.").is_some_and(is_asked)
        })
        .map(of)
        .collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

fn of(setting: &Setting) -> String {
    let mut entry = String::new();
    let is_section = matches!(setting.form, Form::Table | Form::Named | Form::List);
    let mark = if is_section { "##" } else { "###" };
    let _ = writeln!(entry, "{mark} `{}`\n", name(&setting.path));
    let Some(text) = text(&setting.path) else {
        return entry;
    };
    let _ = write!(entry, "{}", text.about);
    if is_section {
        entry.push('\n');
        return entry;
    }
    let written = form(&setting.form);
    let default = match &setting.default {
        Some(default) => format!("; by default `{default}`"),
        None => String::new(),
    };
    let _ = writeln!(entry, " Written as {written}{default}.\n");
    let _ = writeln!(entry, "{}\n", text.why);
    for end in [text.low, text.high] {
        if !end.is_empty() {
            let _ = writeln!(entry, "- {end}");
        }
    }
    entry
}
