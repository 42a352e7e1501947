//! `fusewire profile`: how services signal failure.
//!
//! | module | subject |
//! |---|---|
//! | `shelf` | the profiles that are built in and those of a configuration, with what they inherit |
//! | `list` | all of them |
//! | `show` | one of them, rule by rule |
//! | `words` | a rule as a person reads it |
//! | `check` | what is wrong with one in a file |

mod check;
mod list;
mod shelf;
mod show;
mod words;

use std::process::ExitCode;

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Subcommand)]
enum ProfileCommand {
    /// List the profiles: those that are built in, and those of a configuration
    List(list::ListArgs),
    /// Show a profile rule by rule, with what it inherits
    Show(show::ShowArgs),
    /// Check profiles in a file: every problem, at its place
    Check(check::CheckArgs),
}

/// Does what was asked.
pub(crate) fn run(args: ProfileArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        ProfileCommand::List(args) => list::run(&args),
        ProfileCommand::Show(args) => show::run(&args),
        ProfileCommand::Check(args) => check::run(&args),
    }
}

/// Tells what is wrong, a line each.
fn failed(wrong: &[String]) -> ExitCode {
    for line in wrong {
        eprintln!("{line}");
    }
    ExitCode::FAILURE
}
