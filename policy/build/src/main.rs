//! Writes all of Fusewire that is WebAssembly into the target directory.

use std::process::ExitCode;

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
    Ok(())
}

fn keep(builder: &Builder, file: &str, bytes: &[u8]) -> Result<()> {
    let path = builder.place().target_directory().join(file);
    write(&path, bytes)?;
    println!("{:>9} bytes  {}", bytes.len(), path.display());
    Ok(())
}
