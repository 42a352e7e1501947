//! `fusewire policy test`: playing the scenarios that a policy carries.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fusewire::scenario::{self, TestOptions};

use super::source::Source;

#[derive(Args)]
pub(super) struct TestArgs {
    /// The policy's component; or `built-in`
    #[arg(value_name = "FILE")]
    file: Source,
    /// Other scenarios, or folders of them, to play as well
    #[arg(value_name = "SCENARIOS")]
    scenarios: Vec<PathBuf>,
    /// Print each decision
    #[arg(long, short)]
    verbose: bool,
}

pub(super) async fn run(args: TestArgs) -> anyhow::Result<ExitCode> {
    let options = TestOptions {
        files: args.scenarios,
        carried: true,
        policy: args.file.file(),
        verbose: args.verbose,
        ..TestOptions::default()
    };
    let mut out = std::io::stdout();
    let passed = scenario::run(&options, &mut out).await?;
    out.flush()?;
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
