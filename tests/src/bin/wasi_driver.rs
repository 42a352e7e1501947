//! Plays scenarios over the policy as a component of WASI, on wasmtime's own `wasi:keyvalue`: the
//! protocol of `fusewire::scenario::driver`, on standard input and output.
//!
//! Without an argument it is the policy with a stage in it; with `--shipped`, the one that is
//! shipped.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use fusewire_tests::wasi::artefacts;
use fusewire_tests::wasi::drive::Drive;

fn main() -> ExitCode {
    let shipped = std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "--shipped");
    let drive = match shipped {
        true => Drive::shipped(artefacts::POLICY),
        false => Drive::staged(artefacts::POLICY_DRIVE),
    };
    match drive.and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut drive: Drive) -> wasmtime::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", drive.answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}
