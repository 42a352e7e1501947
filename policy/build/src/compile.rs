//! Compiling a core module with a cargo of its own.
//!
//! The inner cargo has a target directory of its own: the outer one holds the lock on its own
//! until this script has ended. It is shared by debug and release builds of the host, since what is
//! compiled is the same for both.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::toolchain::Toolchain;
use crate::{Artefact, Place, Result, TARGET};

/// What reaches the inner cargo of the variables whose names begin with `CARGO`: where the user
/// keeps crates and how they are fetched, what is printed, and the tokens that keep both cargos
/// together within the number of jobs allowed.
const KEPT: [&str; 7] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
];

/// Compiles an artefact and returns its core module.
pub(crate) fn core_module(
    place: &Place,
    toolchain: &Toolchain,
    artefact: Artefact,
) -> Result<Vec<u8>> {
    let package = artefact.package();
    let target_directory = target_directory(place, artefact);
    let mut cargo = Command::new(&place.cargo);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(concerns_the_host) {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(&place.workspace)
        .env("RUSTC", &toolchain.rustc)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            rustflags(&place.workspace, toolchain),
        )
        // The outer cargo has already brought the lock file up to date.
        .args(["build", "--locked", "--package", package])
        .args(["--profile", artefact.profile(), "--target", TARGET])
        .arg("--target-dir")
        .arg(&target_directory);
    if let Some(feature) = artefact.feature() {
        cargo.args(["--features", feature]);
    }
    if let Some(source) = &toolchain.from_source {
        cargo
            // Building the standard library is an unstable feature of a stable compiler.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &source.linker)
            .arg("-Zbuild-std=std,panic_abort");
    }

    let status = cargo
        .status()
        .map_err(|error| format!("cannot run cargo for {package}: {error}"))?;
    if !status.success() {
        return Err(format!(
            "building {package} for {TARGET} failed; cargo's report is above"
        ));
    }
    let path = target_directory
        .join(TARGET)
        .join(artefact.profile())
        .join(artefact.compiled_file());
    fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// A package that is built with and without a feature has two directories: cargo would put both
/// under the same name, where another build may be about to read the other.
fn target_directory(place: &Place, artefact: Artefact) -> PathBuf {
    let suffix = artefact.feature().map(|feature| format!("-{feature}"));
    let name = format!("wasm-policy{}", suffix.unwrap_or_default());
    place.target_directory.join(name)
}

/// Whether an environment variable speaks of the build under way and not of this machine: it
/// would have the policy compiled with the host's flags, wrappers (clippy's among them) or
/// profile, and so make it differ with the command that was typed.
fn concerns_the_host(name: &str) -> bool {
    let cargo = name.starts_with("CARGO") && !KEPT.iter().any(|kept| name.starts_with(kept));
    let compiler = name.starts_with("RUSTC") || name.starts_with("CLIPPY_");
    cargo || compiler || matches!(name, "RUSTFLAGS" | "RUSTDOC" | "RUSTDOCFLAGS")
}

/// The policy's own compiler flags, which also keep those in the user's configuration out: a
/// panic's location must not name this machine's folders, or the digest of the policy would
/// differ from one machine to the next.
fn rustflags(workspace: &Path, toolchain: &Toolchain) -> String {
    let mut names = vec![(workspace.to_path_buf(), "/fusewire")];
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    names.extend(cargo_home.map(|home| (home, "/cargo")));
    if toolchain.from_source.is_some() {
        let root = toolchain.rustc.parent().and_then(Path::parent);
        names.extend(root.map(|root| (root.to_path_buf(), "/rust")));
    }
    let flags: Vec<String> = names
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .collect();
    // The separator that cargo defines for this variable.
    flags.join("\u{1f}")
}
