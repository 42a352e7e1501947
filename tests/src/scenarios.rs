//! The scenarios of this repository.

use std::path::{Path, PathBuf};

use fusewire::scenario::{Scenario, report};

/// Every scenario of the built-in policy with its name, in order of the names.
///
/// # Panics
/// One cannot be read; the message says what is wrong with it.
#[must_use]
pub fn scenarios() -> Vec<(String, Scenario)> {
    scenarios_in("tests/scenarios")
}

/// Every scenario in a folder of this repository, as [`scenarios`].
///
/// # Panics
/// As [`scenarios`].
#[must_use]
pub fn scenarios_in(folder: &str) -> Vec<(String, Scenario)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let directory = root.join(folder);
    let mut files: Vec<PathBuf> = directory
        .read_dir()
        .expect("the folder of scenarios")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let name = file.file_stem().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&file).expect("a scenario's text");
            let scenario = Scenario::parse(&text)
                .unwrap_or_else(|error| panic!("{}", report::mistakes(&name, &error)));
            (name, scenario)
        })
        .collect()
}
