//! Where a build takes place, and with which tools.

use std::env;
use std::path::{Path, PathBuf};

use crate::{Artefact, Result};

/// The workspace, its target directory, and the cargo and compiler in use.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) workspace: PathBuf,
    pub(crate) target_directory: PathBuf,
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    in_build_script: bool,
}

impl Place {
    /// The place of the build script that is running, for a package one folder below the
    /// workspace.
    ///
    /// # Errors
    /// A variable that cargo sets for build scripts is missing.
    pub fn of_build_script() -> Result<Self> {
        let out = PathBuf::from(variable("OUT_DIR")?);
        Ok(Self {
            workspace: workspace(&PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join(".."))?,
            target_directory: target_directory(&out)?.to_path_buf(),
            cargo: variable("CARGO")?.into(),
            rustc: variable("RUSTC")?.into(),
            in_build_script: true,
        })
    }

    /// The place of a command that was started with `cargo run`, or by hand.
    ///
    /// # Errors
    /// The workspace that this was compiled in is gone.
    pub fn of_command() -> Result<Self> {
        let workspace = workspace(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
        let set = |name: &str, otherwise: &str| {
            PathBuf::from(env::var_os(name).unwrap_or_else(|| otherwise.into()))
        };
        let target_directory = set("CARGO_TARGET_DIR", "target");
        Ok(Self {
            target_directory: workspace.join(target_directory),
            cargo: set("CARGO", "cargo"),
            rustc: set("RUSTC", "rustc"),
            workspace,
            in_build_script: false,
        })
    }

    /// The folder that cargo builds into.
    #[must_use]
    pub fn target_directory(&self) -> &Path {
        &self.target_directory
    }

    /// The file that says which versions of all dependencies are built.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.workspace.join("Cargo.lock")
    }

    /// Tells cargo, where a build script is running, what an artefact is made of.
    pub fn depends_on(&self, artefact: Artefact) {
        let inputs = ["Cargo.toml", "Cargo.lock"]
            .iter()
            .chain(artefact.inputs())
            .chain(artefact.scenarios());
        for input in inputs {
            self.say("rerun-if-changed", &self.workspace.join(input).display());
        }
    }

    /// Tells cargo something, where a build script is running.
    pub(crate) fn say(&self, what: &str, value: &dyn std::fmt::Display) {
        if self.in_build_script {
            println!("cargo::{what}={value}");
        }
    }
}

/// Without `..`, which would stand in every path that the inner cargo reports.
fn workspace(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// The target directory of the build under way, which cargo does not tell: the folder around
/// `OUT_DIR` that cargo has tagged as a cache.
fn target_directory(out: &Path) -> Result<&Path> {
    out.ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .or_else(|| out.ancestors().nth(4))
        .ok_or_else(|| format!("no target directory around {}", out.display()))
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("the environment variable {name}: {error}"))
}
