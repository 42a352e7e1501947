//! A policy's configuration in a file: JSON by itself, or the `[policy]` of a gateway's TOML.

use std::fs;
use std::path::{Path, PathBuf};

use fusewire::core::{Config, Problem};
use fusewire::gateway::config::Finding;
use fusewire::json_places;
use fusewire::toml_places::{Document, Misplaced};
use serde_json::{Map, Value};

/// A policy's configuration, and where each part of it was written.
pub(super) struct Settings {
    file: String,
    /// The configuration.
    pub(super) value: Value,
    /// The component that a gateway would use, where the file names one.
    pub(super) component: Option<PathBuf>,
    document: Document,
    /// Where in the document the configuration is.
    at: &'static str,
}

/// Reads a text with places: TOML where the file's name ends so, or else JSON.
pub(super) fn document(path: &Path, text: &str) -> Result<Document, Misplaced> {
    match is_toml(path) {
        true => Document::parse(text),
        false => json_places::parse(text),
    }
}

fn is_toml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

/// Problems of a document as lines, in the order of the file.
pub(super) fn lines(file: &str, document: &Document, problems: Vec<Problem>) -> Vec<String> {
    let found = Finding::all(problems, document);
    found.iter().map(|one| format!("{file}:{one}")).collect()
}

impl Settings {
    /// Reads a file. What is wrong with it is told a line each.
    pub(super) fn read(path: &Path) -> Result<Self, Vec<String>> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| vec![format!("{file}: {error}")])?;
        let document =
            document(path, &text).map_err(|misplaced| vec![format!("{file}:{misplaced}")])?;
        let is_gateways = is_toml(path);
        let mut value = match is_gateways {
            false => document.value.clone(),
            true => document.value.get("policy").cloned().unwrap_or_else(empty),
        };
        let component = match value.as_object_mut().filter(|_| is_gateways) {
            None => None,
            Some(settings) => settings.remove("component"),
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let component = component.as_ref().and_then(Value::as_str);
        Ok(Self {
            component: component.map(|file| folder.join(file)),
            at: if is_gateways { "/policy" } else { "" },
            file,
            value,
            document,
        })
    }

    /// What the built-in policy has against it, a line each.
    pub(super) fn problems(&self) -> Vec<String> {
        let problems = Config::from_value(&self.value).err().unwrap_or_default();
        self.located(problems)
    }

    /// What a policy has against it, a line each.
    pub(super) fn located(&self, mut problems: Vec<Problem>) -> Vec<String> {
        for problem in &mut problems {
            problem.path.insert_str(0, self.at);
        }
        lines(&self.file, &self.document, problems)
    }
}

/// A configuration that sets nothing.
pub(super) fn empty() -> Value {
    Value::Object(Map::new())
}
