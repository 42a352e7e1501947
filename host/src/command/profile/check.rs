//! `fusewire profile check`: what is wrong with profiles in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use fusewire::core::classify::profile::library;
use fusewire::core::{Config, Problem};
use fusewire::toml_places::Document;
use serde_json::json;

use super::failed;
use super::shelf::rules;
use crate::command::output;
use crate::command::settings::{document, lines};

#[derive(Args)]
pub(super) struct CheckArgs {
    /// One profile, or several under `profiles`: JSON, or TOML; a gateway's configuration has them
    /// under `policy.profiles`
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.display().to_string();
    let text = match fs::read_to_string(&args.file) {
        Ok(text) => text,
        Err(error) => return Ok(failed(&[format!("{file}: {error}")])),
    };
    let document = match document(&args.file, &text) {
        Ok(document) => document,
        Err(misplaced) => return Ok(failed(&[format!("{file}:{misplaced}")])),
    };
    let (problems, profiles, count) = checked(&args.file, &document);
    if !problems.is_empty() {
        return Ok(failed(&lines(&file, &document, problems)));
    }
    output::line(&format!(
        "{file}: good, with {} and {}",
        counted(profiles, "profile"),
        counted(count, "rule")
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn counted(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// Every problem, and how many profiles and rules there are.
fn checked(file: &Path, document: &Document) -> (Vec<Problem>, usize, usize) {
    for (at, of) in [("/profiles", ""), ("/policy/profiles", "/policy")] {
        let Some(profiles) = document.value.pointer(at) else {
            continue;
        };
        // They may inherit from one another, so they are read as a configuration has them.
        let read = Config::from_value(&json!({"profiles": profiles}));
        let mut problems = read.err().unwrap_or_default();
        for problem in &mut problems {
            problem.path.insert_str(0, of);
        }
        let all = profiles.as_object();
        let count = all.map(|all| all.values().map(|one| rules(one).len()).sum());
        return (problems, all.map_or(0, |all| all.len()), count.unwrap_or(0));
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let problems = library::check(&name, &document.value);
    (problems, 1, rules(&document.value).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn of(toml: &str) -> (usize, usize, usize) {
        let document = Document::parse(toml).unwrap();
        let (problems, profiles, count) = checked(Path::new("mine.toml"), &document);
        (problems.len(), profiles, count)
    }

    #[test]
    fn profiles_are_found_by_themselves_in_a_table_and_in_a_gateways_configuration() {
        let rule = "[[rules]]\nwhen = { status = 403 }\nthen = \"quota\"\n";
        assert_eq!(of(rule), (0, 1, 1));
        for table in ["profiles", "policy.profiles"] {
            let text = rule.replace("rules", &format!("{table}.mine.rules"));
            assert_eq!(of(&text), (0, 1, 1), "{text}");
        }
        let other: Value = json!({"profiles": {"a": {"extends": "b"}, "b": {"rules": 4}}});
        let document = fusewire::json_places::parse(&other.to_string()).unwrap();
        let (problems, ..) = checked(Path::new("x.json"), &document);
        assert_eq!(
            problems.first().map(|p| &*p.path),
            Some("/profiles/b/rules")
        );
    }
}
