//! `fusewire policy pack`: the scenarios that a policy carries.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use fusewire::policy::artefact::signature_path;
use fusewire::policy::{Artefact, Terms, vet};
use fusewire::sections::with_scenarios;

use super::output;
use super::source::{Source, scenarios, write_whole};

#[derive(Args)]
pub(super) struct PackArgs {
    /// The policy's component; or `built-in`
    #[arg(value_name = "FILE")]
    file: Source,
    /// Scenarios, or folders of them; they replace those that it carries
    #[arg(long, required = true, value_name = "DIR")]
    scenarios: Vec<PathBuf>,
    /// Where the policy with its scenarios is written
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
}

pub(super) async fn run(args: PackArgs) -> anyhow::Result<ExitCode> {
    let (file, out) = (&args.file, args.output.display());
    let artefact = file.read()?;
    let scenarios = scenarios(&args.scenarios)?;
    let packed = with_scenarios(artefact.bytes(), &scenarios)
        .map_err(|why| anyhow!("{file} cannot carry these scenarios: {why}"))?;
    let packed = Artefact::new(packed, None, out.to_string());
    // Every host would refuse what does not come out as it says: better here.
    if let Err(refused) = vet(packed.clone(), &Terms::default(), |_| {}).await {
        eprintln!("fusewire: {out} would be {refused}\nnothing was written");
        return Ok(ExitCode::FAILURE);
    }
    write_whole(&args.output, packed.bytes())?;
    let (count, s) = match scenarios.len() {
        1 => (1, ""),
        count => (count, "s"),
    };
    output::line(&format!(
        "{out}: carries {count} scenario{s}, {}",
        packed.digest()
    ))?;
    let beside = signature_path(&args.output);
    if beside.exists() {
        output::line(&format!(
            "{}: no longer its signature; sign it anew",
            beside.display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
