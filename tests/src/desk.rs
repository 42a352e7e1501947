//! A folder with a policy in it, and `fusewire policy` run there as people type it.
//!
//! What is not as it should be fails the test that asked, with all that the command wrote.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use fusewire::engine::BUILT_IN;
use tempfile::TempDir;

use crate::tools;

/// A folder to work in, with a policy in it that is not, byte for byte, the built-in one.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A new folder with `policy.wasm` in it. Dropped, all of it is gone.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn laid() -> Self {
        let desk = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let mut bytes = BUILT_IN.to_vec();
        bytes.extend(b"\x00\x05\x04note");
        desk.write("policy.wasm", bytes);
        desk
    }

    /// A file of the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("written");
    }

    /// `fusewire policy`, in the folder, without the words after it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(tools::fusewire());
        command
            .current_dir(self.folder.path())
            .env_remove("FUSEWIRE_KEY_PASSWORD")
            .arg("policy");
        command
    }

    /// Runs `fusewire policy` with these words, which have no blanks in them, to its end.
    #[must_use]
    pub fn run(&self, words: &str) -> Run {
        let mut command = self.command();
        Run::of(words, command.args(words.split(' ')))
    }
}

/// A command that has run.
pub struct Run {
    words: String,
    output: Output,
    out: String,
    err: String,
}

impl Run {
    /// Runs a command to its end.
    ///
    /// # Panics
    /// It cannot be run.
    #[must_use]
    pub fn of(words: &str, command: &mut Command) -> Self {
        let output = command.output().expect("it runs");
        Self {
            words: words.to_owned(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            output,
        }
    }

    /// What it wrote, where it went well.
    ///
    /// # Panics
    /// It did not.
    #[track_caller]
    pub fn good(self) -> String {
        let (words, out, err) = (&self.words, &self.out, &self.err);
        assert!(self.output.status.success(), "policy {words}:\n{out}{err}");
        self.out
    }

    /// What it wrote on both, where it failed as it should.
    ///
    /// # Panics
    /// It did not.
    #[track_caller]
    pub fn bad(self) -> String {
        self.failed(1)
    }

    /// What it wrote, where it was called in a way that it does not know.
    ///
    /// # Panics
    /// It took it.
    #[track_caller]
    pub fn misused(self) -> String {
        self.failed(2)
    }

    #[track_caller]
    fn failed(self, code: i32) -> String {
        let (words, out, err) = (&self.words, &self.out, &self.err);
        let found = self.output.status.code();
        assert_eq!(found, Some(code), "policy {words}:\n{out}{err}");
        format!("{out}{err}")
    }
}

/// Checks that a text has all of these in it.
///
/// # Panics
/// It has not.
#[track_caller]
pub fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}
