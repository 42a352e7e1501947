//! Builds the WebAssembly that the tests run elsewhere than in the host.
//!
//! Each file is in this package's `OUT_DIR`, and its path in an environment variable while the
//! tests are compiled: `FUSEWIRE_ENVOY_WASM` for `fusewire_envoy.wasm`, and so on. For people, what is
//! shipped is at the top of the target directory as well.

use std::path::{Path, PathBuf};
use std::{env, process};

use fusewire_build::{Artefact, Builder, Composition, Place, Result, c, write};

const ARTEFACTS: [Artefact; 9] = [
    Artefact::Envoy,
    Artefact::EnvoyDrive,
    Artefact::EmptyFilter,
    Artefact::WasiKeyvalue,
    Artefact::WasiKeyvalueCas,
    Artefact::Throttle,
    Artefact::First,
    Artefact::Hostile,
    Artefact::Ahead,
];

const COMPOSITIONS: [Composition; 6] = [
    Composition::Policy,
    Composition::PolicyCas,
    Composition::PolicyDrive,
    Composition::Guard,
    Composition::GuardCas,
    Composition::GuardFirst,
];

fn main() {
    if let Err(message) = build() {
        // Not a panic: its message would be buried under a backtrace.
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let builder = Builder::new(Place::of_build_script()?)?;
    let out = env::var_os("OUT_DIR").ok_or("the environment variable OUT_DIR is not set")?;
    let out = PathBuf::from(out);
    let target = builder.place().target_directory();
    for artefact in ARTEFACTS {
        builder.place().depends_on(artefact);
        let bytes = builder.build(artefact)?;
        keep(&out, &artefact.file(), &bytes)?;
        if Artefact::SHIPPED.contains(&artefact) {
            write(&target.join(artefact.file()), &bytes)?;
        }
    }
    c::depends_on(builder.place());
    let compiler = c::Compiler::find(builder.place())?;
    keep(&out, c::FILE, &c::policy(builder.place(), &compiler)?)?;
    for composition in COMPOSITIONS {
        for part in composition.parts() {
            builder.place().depends_on(*part);
        }
        let bytes = composition.build(&builder)?;
        keep(&out, composition.file(), &bytes)?;
        if Composition::SHIPPED.contains(&composition) {
            write(&target.join(composition.file()), &bytes)?;
        }
    }
    Ok(())
}

fn keep(out: &Path, file: &str, bytes: &[u8]) -> Result<()> {
    let path = out.join(file);
    write(&path, bytes)?;
    let variable = file.replace('.', "_").to_uppercase();
    println!("cargo::rustc-env={variable}={}", path.display());
    Ok(())
}
