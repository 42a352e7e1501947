//! The files that scenarios are in.

use std::io;
use std::path::{Path, PathBuf};

/// Every scenario of a folder (`*.toml`): its file's name, and its text, in order of the names.
///
/// # Errors
/// There is none, or one cannot be read; the text names the file.
pub fn read_folder(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut scenarios = Vec::new();
    for file in in_folder(folder)? {
        let text = std::fs::read_to_string(&file).map_err(|error| with_path(&file, &error))?;
        let name = file.file_name().unwrap_or_default();
        scenarios.push((name.to_string_lossy().into_owned(), text));
    }
    Ok(scenarios)
}

/// The files named, and the scenarios in the folders named, in order of their names.
///
/// # Errors
/// A folder has none, or cannot be read; the text names it.
pub fn scenario_files(named: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            files.extend(in_folder(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn in_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| with_path(folder, &error))? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            inside.push(file);
        }
    }
    if inside.is_empty() {
        let why = format!("{}: there is no scenario (*.toml) in it", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    inside.sort();
    Ok(inside)
}

pub(super) fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
