//! `fusewire profile list`: all profiles.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::failed;
use super::shelf::{Inheritance, Shelf};
use crate::command::output::{Lines, columns, printable};

#[derive(Args)]
pub(super) struct ListArgs {
    /// A policy's configuration, for its profiles: JSON, or a gateway's TOML
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON, one profile a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let shelf = match Shelf::new(args.config.as_deref()) {
        Ok(shelf) => shelf,
        Err(wrong) => return Ok(failed(&wrong)),
    };
    let profiles = shelf.names().into_iter().filter_map(|name| {
        let inheritance = shelf.inheritance(name)?;
        Some((name, inheritance))
    });
    let mut out = Lines::new();
    match args.json {
        true => {
            for (name, inheritance) in profiles {
                out.line(&as_json(name, &inheritance).to_string())?;
            }
        }
        false => {
            let head = ["NAME", "EXTENDS", "RULES", "ABOUT"].map(str::to_owned);
            let rows = profiles.map(|(name, inheritance)| row(name, &inheritance));
            let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
            for line in columns(&rows) {
                out.line(&line)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn text<'i>(inheritance: &'i Inheritance, key: &str) -> Option<&'i str> {
    inheritance.document().get(key).and_then(Value::as_str)
}

fn row(name: &str, inheritance: &Inheritance) -> [String; 4] {
    let (_, all) = inheritance.rules();
    let extends = text(inheritance, "extends").unwrap_or_default();
    let about = text(inheritance, "about").unwrap_or_default();
    [name, extends, &all.to_string(), about].map(printable)
}

fn as_json(name: &str, inheritance: &Inheritance) -> Value {
    let (own, all) = inheritance.rules();
    json!({
        "name": name,
        "extends": text(inheritance, "extends"),
        "about": text(inheritance, "about"),
        "rules": all,
        "own-rules": own,
    })
}
