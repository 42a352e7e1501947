//! A copy of the core that mistakes are put into and built.
//!
//! It is a workspace of its own, with the core and the driver where they are in the repository, the
//! same versions of all that they depend on, and a target folder of its own that is kept: the
//! compiler then does again only what a mistake has changed, which takes half a second.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Result, repository, text};

const CORE: &str = "policy/core";
const DRIVER: &str = "tests/mutants/driver";
const CORE_PACKAGE: &str = "fusewire-core";
const DRIVER_PACKAGE: &str = "fusewire-mutants-driver";

/// The scenarios and the unit tests take a second each.
const SECONDS_MAX: u32 = 30;
const KIB_MAX: u32 = 4 << 20;

/// What of the repository's manifest the copy's has too.
const SHARED: [&str; 4] = [
    "[workspace.package]",
    "[workspace.dependencies]",
    "[workspace.lints.rust]",
    "[workspace.lints.clippy]",
];

/// Unoptimised and without debug information: what is built here runs for a second, once.
const PROFILE: &str = "[profile.dev]\nopt-level = 0\ndebug = false\nincremental = true\n";

/// A copy of the core.
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// Makes a folder such a copy, or brings the one that it is up to date.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn at(folder: &Path) -> Result<Self> {
        let folder = std::path::absolute(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = text(&repository("Cargo.lock"))?;
        write(
            &folder.join("Cargo.toml"),
            &manifest(&text(&repository("Cargo.toml"))?),
        )?;
        // What is built there takes others off its own lock file, and never adds any.
        write(&folder.join("Cargo.lock"), &lock)?;
        for part in [CORE, DRIVER] {
            for inside in ["Cargo.toml", "src", "profiles"] {
                let from = repository(part).join(inside);
                mirror(&from, &folder.join(part).join(inside))?;
            }
        }
        Ok(Self { folder })
    }

    /// Builds the driver around the core as it is. Answers the program, which the next build
    /// replaces.
    ///
    /// # Errors
    /// It does not compile: the text is the compiler's.
    pub fn build(&self) -> Result<PathBuf> {
        self.cargo(&["build", "--package", DRIVER_PACKAGE])?;
        Ok(self.target().join("debug").join(DRIVER_PACKAGE))
    }

    /// Runs the core's unit tests as it is, and answers whether they pass.
    ///
    /// # Errors
    /// They do not compile: the text is the compiler's.
    pub fn test(&self) -> Result<bool> {
        let built = self.cargo(&[
            "test",
            "--package",
            CORE_PACKAGE,
            "--lib",
            // What is only there for the reference is judged as well.
            "--features",
            "reference",
            "--no-run",
            "--message-format",
            "json",
        ])?;
        let executable = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(line.get("executable")?.as_str()?.to_owned())
        };
        let program = built.lines().find_map(executable);
        let program = program.ok_or("cargo names no program with the tests")?;
        let passed = limited(Path::new(&program))
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .env("RUST_BACKTRACE", "0")
            .current_dir(self.folder.join(CORE))
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        Ok(passed.status.success())
    }

    /// Does something with a change in the core: `change` makes of a file's text, from
    /// the workspace's folder on, another one.
    ///
    /// # Errors
    /// The file cannot be changed, or what is done fails.
    pub fn with<T>(
        &self,
        file: &str,
        change: impl FnOnce(&str) -> Result<String>,
        act: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        let path = self.folder.join(file);
        let right = text(&path)?;
        let wrong = change(&right)?;
        fs::write(&path, wrong).map_err(|error| format!("{}: {error}", path.display()))?;
        let done = act(self);
        write(&path, &right)?;
        done
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// What cargo prints.
    fn cargo(&self, arguments: &[&str]) -> Result<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let ran = Command::new(cargo)
            .current_dir(&self.folder)
            .args(arguments)
            .args(["--quiet", "--offline", "--target-dir"])
            .arg(self.target())
            // A mistake may leave something unused.
            .env("RUSTFLAGS", "--allow warnings")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        match ran.status.success() {
            true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
        }
    }
}

/// A program with a mistake in it, which may go on for ever, and take all memory that there is.
pub(crate) fn limited(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(limits(program));
    command
}

/// What has a shell run a program for so many seconds of a processor, in so many KiB.
pub(crate) fn limits(program: &Path) -> [OsString; 3] {
    let script = format!("ulimit -t {SECONDS_MAX} && ulimit -v {KIB_MAX} && exec \"$0\"");
    ["-c".into(), script.into(), program.into()]
}

/// The manifest of a workspace with the core and the driver in it, made of the repository's own.
fn manifest(repository: &str) -> String {
    let mut manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{CORE:?}, {DRIVER:?}]\n{PROFILE}");
    let mut shared = false;
    for line in repository.lines() {
        if line.starts_with('[') {
            shared = SHARED.contains(&line.trim_end());
        }
        if shared {
            manifest.push_str(line);
            manifest.push('\n');
        }
    }
    manifest
}

/// Makes `to` the same as `from`, a file or a folder, and leaves alone what is the same already.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return match from.exists() {
            true => write(to, &text(from)?),
            false => Ok(()),
        };
    }
    let names = |folder: &Path| -> Result<BTreeSet<_>> {
        let unreadable = |error| format!("{}: {error}", folder.display());
        let entries = folder.read_dir().map_err(unreadable)?;
        entries
            .map(|entry| Ok(entry.map_err(unreadable)?.file_name()))
            .collect()
    };
    let inside = names(from)?;
    for name in &inside {
        mirror(&from.join(name), &to.join(name))?;
    }
    for gone in names(to)?.difference(&inside) {
        let gone = to.join(gone);
        let removed = match gone.is_dir() {
            true => fs::remove_dir_all(&gone),
            false => fs::remove_file(&gone),
        };
        removed.map_err(|error| format!("{}: {error}", gone.display()))?;
    }
    Ok(())
}

/// Writes a file, unless it has this text already: a new time of change would have it built again.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_the_versions_and_lints_of_the_repository_and_nothing_else_of_it() {
        let made = manifest(
            "[workspace]\nmembers = [\n  \"host\",\n]\n[workspace.dependencies]\na = \"1\"\n[profile.release]\nlto = true\n",
        );
        assert!(
            made.contains("[workspace.dependencies]\na = \"1\"\n"),
            "{made}"
        );
        assert!(!made.contains("host") && !made.contains("lto"), "{made}");
    }
}
