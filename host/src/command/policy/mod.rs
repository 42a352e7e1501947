//! `fusewire policy`: what authors and operators do with a policy.
//!
//! | module | subject |
//! |---|---|
//! | `inspect` | what a policy is |
//! | `verify` | whether it may run, stage by stage |
//! | `sign` | its signature |
//! | `keygen` | the keys for that |
//! | `password` | their passwords |
//! | `pack` | the scenarios that it carries |
//! | `rehearsal` | playing them |
//! | `bench` | what it costs |
//! | `fleet` | the policy of a fleet |
//! | `source` | which policy is meant: a file, or the one built in |

mod bench;
mod fleet;
mod inspect;
mod keygen;
mod pack;
mod password;
mod rehearsal;
mod sign;
mod source;
mod verify;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::output;

#[derive(Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Show what a policy is: name, imports, exports, digest, signature, scenarios
    Inspect(inspect::InspectArgs),
    /// Take a policy through every check that it must pass before it serves
    Verify(verify::VerifyArgs),
    /// Sign a policy, as minisign does
    Sign(sign::SignArgs),
    /// Make a key pair to sign policies with
    Keygen(keygen::KeygenArgs),
    /// Put scenarios into a policy, for hosts to play before it serves
    Pack(pack::PackArgs),
    /// Play the scenarios that a policy carries, and others
    Test(rehearsal::TestArgs),
    /// Measure what a policy costs, against the one built in
    Bench(bench::BenchArgs),
    /// Give a policy to the whole fleet, through its store
    Push(fleet::PushArgs),
    /// Show which policy each host of the fleet runs
    Status(fleet::StatusArgs),
    /// Keep every host of the fleet at the stage where it is
    Pause(fleet::PauseArgs),
    /// Let a paused fleet go on
    Resume(fleet::ResumeArgs),
    /// Take the whole fleet back to an earlier policy
    Rollback(fleet::RollbackArgs),
}

/// Does what was asked.
pub(crate) async fn run(args: PolicyArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        PolicyCommand::Inspect(args) => inspect::run(args).await,
        PolicyCommand::Verify(args) => verify::run(args).await,
        PolicyCommand::Sign(args) => sign::run(&args),
        PolicyCommand::Keygen(args) => keygen::run(&args),
        PolicyCommand::Pack(args) => pack::run(args).await,
        PolicyCommand::Test(args) => rehearsal::run(args).await,
        PolicyCommand::Bench(args) => bench::run(&args),
        PolicyCommand::Push(args) => fleet::push(args).await,
        PolicyCommand::Status(args) => fleet::status(args).await,
        PolicyCommand::Pause(args) => fleet::pause(args).await,
        PolicyCommand::Resume(args) => fleet::resume(args).await,
        PolicyCommand::Rollback(args) => fleet::rollback(args).await,
    }
}
