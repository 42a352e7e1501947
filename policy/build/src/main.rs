//! Writes all of Fusewire that is WebAssembly into the target directory.

use std::process::ExitCode;

use fusewire_build::c::{self, Compiler};
use fusewire_build::{Artefact, Builder, Composition, Place, Result, write};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let builder = Builder::new(Place::of_command()?)?;
    for artefact in Artefact::SHIPPED {
        keep(&builder, &artefact.file(), &builder.build(artefact)?)?;
    }
    for composition in Composition::SHIPPED {
        keep(&builder, composition.file(), &composition.build(&builder)?)?;
    }
    // An example, which nothing else waits for: a machine that only builds the host goes without
    // its compiler.
    match Compiler::find(builder.place()) {
        Ok(compiler) => keep(&builder, c::FILE, &c::policy(builder.place(), &compiler)?)?,
        Err(why) => println!("left out {}: {why}", c::FILE),
    }
    Ok(())
}

fn keep(builder: &Builder, file: &str, bytes: &[u8]) -> Result<()> {
    let path = builder.place().target_directory().join(file);
    write(&path, bytes)?;
    println!("{:>9} bytes  {}", bytes.len(), path.display());
    Ok(())
}
