//! Builds the policy, so that the host carries it: `policy/component` is compiled to WebAssembly,
//! turned into a component, and checked against what a policy may be.
//!
//! | module | what it does |
//! |---|---|
//! | `toolchain` | finds a compiler that can build for WebAssembly |
//! | `compile` | runs cargo with it, apart from the build that is under way |
//! | `component` | turns the core module into a component and checks it |
//!
//! The result is `fusewire_policy.wasm`, in this package's `OUT_DIR` (its path is in the
//! environment variable `FUSEWIRE_POLICY_WASM` while the host is compiled) and, for people, at the
//! top of the target directory.

#[path = "build/compile.rs"]
mod compile;
#[path = "build/component.rs"]
mod component;
#[path = "build/toolchain.rs"]
mod toolchain;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The target a policy is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";

/// The name of the policy's file, the same for the core module and the component.
const FILE: &str = "fusewire_policy.wasm";

/// An error is a text for the person who builds: nothing here can be handled by a program.
type Result<T> = std::result::Result<T, String>;

fn main() {
    if let Err(message) = build() {
        // Not a panic: its message would be buried under a backtrace.
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    // Without `..`, which would stand in every path that the inner cargo reports.
    let workspace = workspace
        .canonicalize()
        .map_err(|error| format!("{}: {error}", workspace.display()))?;
    for input in [
        "Cargo.toml",
        "Cargo.lock",
        "wit",
        "policy/core",
        "policy/component",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(input).display()
        );
    }

    let out = PathBuf::from(variable("OUT_DIR")?);
    let target_directory = target_directory(&out)?;
    let toolchain = toolchain::find()?;
    let module = compile::core_module(&workspace, target_directory, &toolchain)?;
    let component = component::encode(&module)?;
    component::check(&component)?;

    let path = out.join(FILE);
    write(&path, &component)?;
    write(&target_directory.join(FILE), &component)?;
    println!("cargo::rustc-env=FUSEWIRE_POLICY_WASM={}", path.display());
    Ok(())
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

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
