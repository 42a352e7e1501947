//! Packing scenarios into a policy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Artefact, Place, Result};

/// The component with the scenarios that it is to carry.
pub(crate) fn pack(place: &Place, artefact: Artefact, component: &[u8]) -> Result<Vec<u8>> {
    pack_all(place, artefact.scenarios(), component)
        .map_err(|error| format!("{} cannot carry its scenarios: {error}", artefact.file()))
}

/// The component with these scenarios: files of the workspace, and folders of them.
pub(crate) fn pack_all(place: &Place, named: &[&str], component: &[u8]) -> Result<Vec<u8>> {
    let mut scenarios = Vec::new();
    for named in named {
        for path in files(&place.workspace.join(named))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&path).map_err(|error| told(&path, &error))?;
            scenarios.push((name.into_owned(), text));
        }
    }
    fusewire_sections::with_scenarios(component, &scenarios)
}

/// A scenario, or those in a folder in order of their names, so that what is built is the same
/// everywhere.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    if path.extension().is_none() && !path.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| told(path, &error))? {
        let file = entry.map_err(|error| told(path, &error))?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
