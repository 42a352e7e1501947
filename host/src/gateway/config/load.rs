//! From a file to a [`Config`], or to all that is wrong with it.

use std::path::Path;

use fusewire_core::Problem;
use fusewire_core::config::Reader;
use serde_json::Value;

use super::finding::{CheckError, Finding};
use super::read::{self, Findings};
use super::{Config, PolicyConfig};
use crate::engine::{ComponentEngine, Limits, LoadError};
use crate::guard::DEFAULT_PREFIX;
use crate::toml_places::Document;

/// Reads and checks a configuration file.
///
/// # Errors
/// The file cannot be read, or every problem that it has, each at its place.
pub fn load(path: &Path) -> Result<Config, CheckError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &file, path.parent().unwrap_or(Path::new(""))),
        Err(error) => Err(CheckError::File { file, error }),
    }
}

/// Checks a configuration. `file` is its name in messages, and `folder` where files are that it
/// names.
///
/// # Errors
/// Every problem that it has, each at its place.
pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Config, CheckError> {
    let problems = |problems| CheckError::Problems {
        file: file.to_owned(),
        problems,
    };
    let document = Document::parse(text).map_err(|error| {
        problems(vec![Finding {
            place: error.place,
            setting: String::new(),
            wrong: error.message,
            right: String::new(),
        }])
    })?;
    let root = Reader::root(&document.value);
    let findings = Findings::default();
    let policy = policy(&root, folder, &findings);
    let mut config = read::config(&root, policy, &findings);
    root.finish();

    let (mut wrong, warnings) = findings.into_parts();
    wrong.extend(root.problems());
    let wrong = located(wrong, &document);
    if !wrong.is_empty() {
        return Err(problems(wrong));
    }
    config.warnings = located(warnings, &document);
    Ok(config)
}

/// In the order of the file, so that they are read along with it.
fn located(problems: Vec<Problem>, document: &Document) -> Vec<Finding> {
    let mut located: Vec<Finding> = problems
        .into_iter()
        .map(|p| Finding::new(p, document))
        .collect();
    located.sort_by_key(|finding| finding.place);
    located
}

/// The policy's settings are the policy's to judge: they are passed on as they are, but for the
/// component's file.
fn policy(root: &Reader<'_>, folder: &Path, findings: &Findings) -> PolicyConfig {
    let section = root.object("policy");
    let component = section.text("component").map(|file| folder.join(file));
    let mut settings = root.value("policy").cloned().unwrap_or_default();
    match settings.as_object_mut() {
        Some(settings) => drop(settings.remove("component")),
        None => settings = Value::Object(serde_json::Map::new()),
    }
    let prefix = settings.get("prefix").and_then(Value::as_str);
    let policy = PolicyConfig {
        component,
        prefix: prefix.unwrap_or(DEFAULT_PREFIX).into(),
        json: settings.to_string(),
    };
    for mut problem in policy_problems(&policy, &settings) {
        problem.path.insert_str(0, "/policy");
        findings.problem(problem);
    }
    policy
}

/// What the policy has against its settings. The built-in one is made of the same core as this
/// host, so it need not be run.
fn policy_problems(policy: &PolicyConfig, settings: &Value) -> Vec<Problem> {
    let Some(file) = &policy.component else {
        return fusewire_core::config::Config::from_value(settings)
            .err()
            .unwrap_or_default();
    };
    match ComponentEngine::from_file(file, &policy.json, Limits::default()) {
        Ok(_) => Vec::new(),
        Err(LoadError::Configuration(problems)) => problems,
        Err(error) => vec![Problem {
            path: "/component".into(),
            wrong: format!("{}: {error}", file.display()),
            right: "write the path of a policy, from this file's folder".into(),
        }],
    }
}
