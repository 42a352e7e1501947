//! Cores with the known mistakes of breakers in them, each of which a scenario has to notice.
//!
//! A scenario that no mistake can break shows nothing. So every trap of published breakers, and
//! every rule of this one, has a mutant here: the core with that one mistake in it. The test of this
//! crate builds each behind the driver (the package in `driver/`), plays every scenario of
//! `tests/scenarios` through it, and holds it to the scenarios that are said to catch it. The list
//! is in `mutants/`, with a README.
//!
//! | module | subject |
//! |---|---|
//! | [`list`] | the mutants, read from their files |
//! | [`made`] | the mutants that cargo-mutants makes, from its list |
//! | [`workshop`] | a copy of the core that mistakes are put into and built |
//! | [`judge`] | which scenarios a driver fails |
//! | [`table`] | what came of it, for people |
//!
//! The command `fusewire-mutate` asks the same judge, and the core's unit tests, about each mutant
//! that cargo-mutants makes: `make mutants`.

pub mod judge;
pub mod list;
pub mod made;
pub mod table;
pub mod workshop;

use std::path::{Path, PathBuf};

/// An error is a text for the person who tests: nothing here can be handled by a program.
pub type Result<T> = std::result::Result<T, String>;

/// A file or folder of this repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The text of a file.
fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
