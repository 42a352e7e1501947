//! Builds the policy, so that the host carries it.
//!
//! The result is `fusewire_policy.wasm`, in this package's `OUT_DIR` (its path is in the
//! environment variable `FUSEWIRE_POLICY_WASM` while the host is compiled) and, for people, at the
//! top of the target directory.

use std::path::PathBuf;
use std::{env, process};

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
    Ok(())
}
