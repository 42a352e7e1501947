//! From a file to a [`Config`], or to all that is wrong with it.

use std::path::Path;

use fusewire_core::Problem;
use fusewire_core::config::Reader;
use fusewire_core::config::reference::{self, Setting};
use serde_json::Value;

use super::finding::{CheckError, Finding};
use super::read::{self, Findings};
use super::rollout::{RolloutConfig, rollout};
use super::{Config, PolicyConfig, Source};
use crate::engine::{ComponentEngine, LoadError};
use crate::guard::DEFAULT_PREFIX;
use crate::policy::{Artefact, Digest};
use crate::toml_places::Document;

/// Reads and checks a configuration file.
///
/// # Errors
/// The file cannot be read, or every problem that it has, each at its place.
pub fn load(path: &Path) -> Result<Config, CheckError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let mut config = parse(&text, &file, path.parent().unwrap_or(Path::new("")))?;
            config.source = Some(Source {
                file: path.to_owned(),
                text: Digest::of(text.as_bytes()),
            });
            Ok(config)
        }
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
    let rollout = rollout(&root, folder, &findings);
    let (policy, unusable) = policy(&root, folder, &rollout, &findings);
    let mut config = read::config(&root, policy, rollout, &findings);
    root.finish();

    let (mut wrong, warnings) = findings.into_parts();
    wrong.extend(root.problems());
    // A host that keeps its last good policy may start with that one.
    let (unusable, fatal) = match config.rollout.folder {
        Some(_) => (unusable, Vec::new()),
        None => (Vec::new(), unusable),
    };
    wrong.extend(fatal);
    let wrong = Finding::all(wrong, &document);
    if !wrong.is_empty() {
        return Err(problems(wrong));
    }
    config.warnings = Finding::all(warnings, &document);
    config.policy.problems = Finding::all(unusable, &document);
    Ok(config)
}

/// What can be set in the file, but for the policy's own settings.
#[must_use]
pub fn settings() -> Vec<Setting> {
    reference::noted(|root| {
        let findings = Findings::default();
        let rollout = rollout(root, Path::new(""), &findings);
        let (policy, _) = policy(root, Path::new(""), &rollout, &findings);
        read::config(root, policy, rollout, &findings);
    })
}

/// The policy's settings are the policy's to judge: they are passed on as they are, but for the
/// component's file. Answers as well what is wrong with that.
fn policy(
    root: &Reader<'_>,
    folder: &Path,
    rollout: &RolloutConfig,
    findings: &Findings,
) -> (PolicyConfig, Vec<Problem>) {
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
        problems: Vec::new(),
    };
    let in_policy = |mut problem: Problem| {
        problem.path.insert_str(0, "/policy");
        problem
    };
    let Some(file) = &policy.component else {
        // The built-in one is made of the same core as this host, so it need not be run.
        let settings = fusewire_core::config::Config::from_value(&settings);
        for problem in settings.err().unwrap_or_default() {
            findings.problem(in_policy(problem));
        }
        return (policy, Vec::new());
    };
    let problems = component_problems(file, &policy.json, rollout);
    let problems = problems.into_iter().map(in_policy).collect();
    (policy, problems)
}

/// Why a component cannot be used with these settings: whether it is trusted, and what it has
/// against them.
fn component_problems(file: &Path, settings: &str, rollout: &RolloutConfig) -> Vec<Problem> {
    let of_component = |why: String, right: &str| {
        vec![Problem {
            path: "/component".into(),
            wrong: why,
            right: right.into(),
        }]
    };
    let artefact = match Artefact::read(file, rollout.largest) {
        Ok(artefact) => artefact,
        Err(error) => {
            let right = "write the path of a policy, from this file's folder";
            return of_component(error.to_string(), right);
        }
    };
    let trusted = rollout
        .trust
        .check_digest(&artefact)
        .and_then(|_| rollout.trust.check_signature(&artefact));
    if let Err(why) = trusted {
        return of_component(format!("{}: {why}", file.display()), "");
    }
    match ComponentEngine::from_bytes(artefact.bytes(), settings, rollout.limits) {
        Ok(_) => Vec::new(),
        Err(LoadError::Configuration(problems)) => problems,
        Err(error) => of_component(
            format!("{}: {error}", file.display()),
            "`fusewire policy verify` shows how far it comes",
        ),
    }
}
