//! Builds the policy, so that the host carries it.
//!
//! The result is `fusewire_policy.wasm`, in this package's `OUT_DIR` (its path is in the
//! environment variable `FUSEWIRE_POLICY_WASM` while the host is compiled) and, for people, at the
//! top of the target directory. `FUSEWIRE_BUILD` says which build of the host this is, for the code
//! that it compiles and keeps.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use fusewire_build::{Artefact, Builder, Place, Result, write};

fn main() {
    if let Err(message) = build() {
        // Not a panic: its message would be buried under a backtrace.
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let place = Place::of_build_script()?;
    place.depends_on(Artefact::Policy);
    let builder = Builder::new(place)?;
    let component = builder.build(Artefact::Policy)?;

    let out = env::var_os("OUT_DIR").ok_or("the environment variable OUT_DIR is not set")?;
    let file = Artefact::Policy.file();
    let path = PathBuf::from(out).join(&file);
    write(&path, &component)?;
    write(&builder.place().target_directory().join(&file), &component)?;
    println!("cargo::rustc-env=FUSEWIRE_POLICY_WASM={}", path.display());
    println!(
        "cargo::rustc-env=FUSEWIRE_BUILD={}",
        build_name(&builder.place().lock_file())?
    );
    Ok(())
}

/// What this build of the host is told from others by where compiled code is kept: all that decides
/// how a component is compiled, and what that code expects of the host.
fn build_name(lock_file: &Path) -> Result<String> {
    let lock = fs::read(lock_file)
        .map_err(|error| format!("cannot read {}: {error}", lock_file.display()))?;
    // Told apart, not trusted: a hash that nobody can choose collisions for is not needed.
    let mut hasher = DefaultHasher::new();
    lock.hash(&mut hasher);
    let variable = |name: &str| env::var(name).map_err(|error| format!("{name}: {error}"));
    Ok(format!(
        "{} {} {} {:016x}",
        variable("CARGO_PKG_VERSION")?,
        variable("TARGET")?,
        variable("PROFILE")?,
        hasher.finish()
    ))
}
