//! The providers of the file.

use std::time::Duration;

use fusewire_core::config::reader::close;
use fusewire_core::config::{Reader, duration};
use fusewire_core::{Problem, Target};
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::read::{Findings, HOUR, bytes, span};
use super::{ProviderConfig, Secret};
use crate::gateway::headers::may_be_configured;
use crate::gateway::template::Template;
use crate::gateway::upstream::Limits;

/// How much of an answer is kept back by default, in bytes: most answers of web APIs whole.
const BUFFER: u64 = 256 << 10;
/// How many redirects are followed by default: one to the right spelling, one to a slash, and
/// some to spare.
const REDIRECTS: u64 = 5;

/// Each provider, in order of the names.
pub(super) fn providers(root: &Reader<'_>, findings: &Findings) -> Vec<ProviderConfig> {
    let read: Vec<ProviderConfig> = root
        .objects("providers")
        .into_iter()
        .map(|(name, section)| {
            let is_token = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.len() <= fusewire_core::target::NAME_MAX_BYTES
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if !is_token {
                findings.problem(Problem {
                    path: section.path("").trim_end_matches('/').into(),
                    wrong: format!("{name:?} cannot name a provider, since it stands in headers"),
                    right: "write a letter, then letters, digits, `-`, `_` or `.`".into(),
                });
            }
            provider(name, &section, findings)
        })
        .collect();
    if read.is_empty() && !root.has_any(&["providers", "exchange"]) {
        let right = r#"write [providers.NAME] with a `url`"#;
        root.problem("providers", "there is no provider", right);
    }
    read
}

fn provider(name: String, section: &Reader<'_>, findings: &Findings) -> ProviderConfig {
    let account = section.text("account");
    let operation = section.text("operation");
    let target = Target {
        provider: name,
        account,
        operation,
    };
    for (key, part) in [
        ("account", &target.account),
        ("operation", &target.operation),
    ] {
        if let Some(part) = part {
            let mut alone = Target::provider("provider");
            match key {
                "account" => alone.account = Some(part.clone()),
                _ => alone.operation = Some(part.clone()),
            }
            if let Err(wrong) = alone.domains() {
                section.problem(key, wrong, "");
            }
        }
    }
    let read = ProviderConfig {
        target,
        url: url(section),
        limits: limits(section),
        headers: headers(section, findings),
        redirects: usize::try_from(section.whole("redirects", REDIRECTS, 0..=20)).unwrap_or(0),
        buffer: bytes(section, "buffer", BUFFER),
    };
    section.finish();
    read
}

fn url(section: &Reader<'_>) -> Template {
    if !section.has("url") {
        let right = r#"write a URL such as "https://geo.example/search?q={q}""#;
        section.problem("url", "`url` is missing", right);
    }
    match section.text("url").as_deref().map(Template::parse) {
        Some(Ok(template)) => template,
        Some(Err(malformed)) => {
            section.problem("url", malformed.wrong, malformed.right);
            Template::default()
        }
        None => Template::default(),
    }
}

fn limits(section: &Reader<'_>) -> Limits {
    let default = Limits::default();
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let total = span(section, "total", ms(default.total), 1..=HOUR);
    // What is not set shrinks with the total, so that setting the total alone is enough.
    let limit = |key, default: Duration| span(section, key, ms(default.min(total)), 1..=HOUR);
    let limits = Limits {
        connect: limit("connect", default.connect),
        read: limit("read", default.read),
        // How much of it a probe gets is the policy's word.
        probe: limit("probe", total),
        total,
    };
    for (key, limit) in [
        ("connect", limits.connect),
        ("read", limits.read),
        ("probe", limits.probe),
    ] {
        if limit > total {
            let total = duration::format_ms(ms(total));
            let wrong = format!("this limit would never fire: the total is {total}");
            section.problem(key, wrong, "lower it, or raise `total`");
        }
    }
    limits
}

fn headers(section: &Reader<'_>, findings: &Findings) -> Vec<(HeaderName, Secret)> {
    let table = section.object("headers");
    let names = section.value("headers").and_then(Value::as_object);
    let mut headers = Vec::new();
    for name in names.into_iter().flat_map(|names| names.keys()) {
        let Some(value) = table.text(name).map(Secret::new) else {
            continue;
        };
        match value.reveal() {
            Err(unset) => findings.warn(table.path(name), unset, "set it before `serve`"),
            Ok(value) if HeaderValue::from_str(&value).is_err() => {
                table.problem(
                    name,
                    "the value has a character in it that no field may have",
                    "",
                );
            }
            Ok(_) => {}
        }
        match HeaderName::try_from(name) {
            Ok(field) if !may_be_configured(&field) => {
                table.problem(name, "the gateway makes this field itself", "leave it out");
            }
            Ok(name) => headers.push((name, value)),
            Err(_) => table.problem(name, format!("{name:?} cannot name a field"), ""),
        }
    }
    headers
}

/// What is right in place of a provider's name that nobody has.
pub(super) fn near(name: &str, providers: &[ProviderConfig]) -> String {
    let names: Vec<&str> = providers
        .iter()
        .map(|p| p.target.provider.as_str())
        .collect();
    match names.iter().find(|known| close(known, name)) {
        Some(near) => format!("did you mean {near:?}?"),
        None if names.is_empty() => "write [providers.NAME] first".into(),
        None => format!("known here: {}", names.join(", ")),
    }
}
