//! Which policy is meant, and what else is named on a command line.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs, io};

use anyhow::Context;
use fusewire::policy::{Artefact, LARGEST, PublicKey};
use fusewire::scenario::scenario_files;

/// A policy as it is named: a file, or the one that this host was built with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    BuiltIn,
    File(PathBuf),
}

/// How the one that this host was built with is called. A file of that name is `./built-in`.
const BUILT_IN: &str = "built-in";

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            BUILT_IN => Self::BuiltIn,
            path => Self::File(path.into()),
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str(BUILT_IN),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Source {
    /// Its bytes, with the signature beside it.
    pub(super) fn read(&self) -> io::Result<Artefact> {
        match self {
            Self::BuiltIn => Ok(Artefact::built_in()),
            Self::File(path) => Artefact::read(path, LARGEST),
        }
    }

    /// Its name without its folder.
    pub(super) fn name(&self) -> String {
        match self {
            Self::BuiltIn => BUILT_IN.to_owned(),
            Self::File(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        }
    }

    /// Its file; `None`: the one built in.
    pub(super) fn file(self) -> Option<PathBuf> {
        match self {
            Self::BuiltIn => None,
            Self::File(path) => Some(path),
        }
    }
}

/// A public key as it is given: the key itself, or the file that it is in.
pub(super) fn public_key(text: &str) -> Result<PublicKey, String> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let file = match fs::read_to_string(text) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("neither a public key of minisign nor a file with one".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    file.parse()
        .map_err(|error| format!("in that file: {error}"))
}

/// The scenarios in these files and folders: names and texts.
pub(super) fn scenarios(named: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    let mut scenarios = Vec::new();
    for path in scenario_files(named)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        scenarios.push((name.into_owned(), text));
    }
    Ok(scenarios)
}

/// Writes a file that is there whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}.unfinished", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // Nothing was at this name before.
        let _ = fs::remove_file(&unfinished);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
