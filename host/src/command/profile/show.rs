//! `fusewire profile show`: one profile, rule by rule.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fusewire::core::config::reader::close;
use serde_json::Value;

use super::shelf::{Inheritance, Shelf, rules};
use super::{failed, words};
use crate::command::output::{Lines, Paint, printable, row, width, wrapped};

#[derive(Args)]
pub(super) struct ShowArgs {
    /// The profile
    #[arg(value_name = "NAME")]
    name: String,
    /// A policy's configuration, for its profiles: JSON, or a gateway's TOML
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As it is written, in JSON, without what it inherits
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let shelf = match Shelf::new(args.config.as_deref()) {
        Ok(shelf) => shelf,
        Err(wrong) => return Ok(failed(&wrong)),
    };
    let Some(inheritance) = shelf.inheritance(&args.name) else {
        let near = shelf
            .names()
            .into_iter()
            .find(|known| close(known, &args.name));
        let hint = match near {
            Some(near) => format!("did you mean {near:?}?"),
            None => "`fusewire profile list` has all of them".to_owned(),
        };
        let name = &args.name;
        return Ok(failed(&[format!(
            "fusewire: there is no profile {name:?}; {hint}"
        )]));
    };
    let mut out = Lines::new();
    match args.json {
        true => out.line(shelf.text(&args.name).trim_end())?,
        false => {
            for line in lines(&args.name, &inheritance, Paint::of_stdout()) {
                out.line(&line)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn lines(name: &str, inheritance: &Inheritance, paint: Paint) -> Vec<String> {
    let mut lines = vec![name.to_owned()];
    let mut say = |name: &str, text: &str| lines.extend(row(name, &printable(text), paint));
    if let Some(about) = inheritance.document().get("about").and_then(Value::as_str) {
        say("about", about);
    }
    let bases: Vec<&str> = inheritance
        .0
        .iter()
        .skip(1)
        .map(|(name, _)| name.as_str())
        .collect();
    if !bases.is_empty() {
        say("extends", &bases.join(", which extends "));
    }
    say("protocol", inheritance.said("protocol").unwrap_or("http"));
    if let Some(expect) = inheritance.said("expect") {
        say("expects", expect);
    }
    for (_, document) in &inheritance.0 {
        let hints = document.get("hints").and_then(Value::as_array);
        for hint in hints.into_iter().flatten() {
            say("waits", &words::hint(hint));
        }
    }
    for (at, (profile, document)) in inheritance.0.iter().enumerate() {
        if rules(document).is_empty() {
            continue;
        }
        lines.push(String::new());
        lines.push(match at {
            0 => paint.faint("rules, of which the first that fits decides"),
            _ => paint.faint(&format!("inherited from {profile}")),
        });
        lines.extend(rules_of(document, paint));
    }
    lines.push(String::new());
    let last = "what no rule decides is left to the media type and the HTTP status";
    lines.push(paint.faint(last));
    lines
}

/// Each rule: its name, what it asks for, and below what it says.
fn rules_of(document: &Value, paint: Paint) -> Vec<String> {
    let names: Vec<String> = rules(document)
        .iter()
        .enumerate()
        .map(
            |(at, rule)| match rule.get("name").and_then(Value::as_str) {
                Some(name) => printable(name),
                None => format!("rule-{}", at + 1),
            },
        )
        .collect();
    let longest = names.iter().map(|name| name.chars().count()).max();
    let indent = longest.unwrap_or_default() + 4;
    let room = width().saturating_sub(indent).max(30);
    let mut lines = Vec::new();
    for (name, rule) in names.iter().zip(rules(document)) {
        let when = words::when(rule)
            .iter()
            .enumerate()
            .flat_map(|(at, when)| {
                let or = if at == 0 { "" } else { "or " };
                wrapped(&printable(&format!("{or}{when}")), room)
            })
            .collect::<Vec<_>>();
        let then = wrapped(&printable(&words::then(rule)), room.saturating_sub(3));
        let mut name = format!("  {name:0$}", indent - 2);
        for line in when {
            lines.push(format!("{name}{line}"));
            name = " ".repeat(indent);
        }
        for (at, line) in then.iter().enumerate() {
            let arrow = if at == 0 { "-> " } else { "   " };
            lines.push(format!(
                "{:indent$}{}",
                "",
                paint.good(&format!("{arrow}{line}"))
            ));
        }
    }
    lines
}
