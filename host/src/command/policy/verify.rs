//! `fusewire policy verify`: whether a policy may run, stage by stage.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fusewire::engine::Engine;
use fusewire::gateway::config::{self, Config};
use fusewire::policy::{Digest, PublicKey, Terms, vet};

use super::output::{self, Paint};
use super::source::{Source, public_key, scenarios};

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// The policy's component, with its signature in FILE.minisig; or `built-in`
    #[arg(value_name = "FILE")]
    file: Source,
    /// A public key of minisign, or its file: the policy must be signed with one of these
    #[arg(long, value_name = "KEY", value_parser = public_key)]
    key: Vec<PublicKey>,
    /// A digest, as `sha256:…`: the policy must have one of these
    #[arg(long, value_name = "DIGEST")]
    digest: Vec<Digest>,
    /// A gateway's configuration, whose `[policy]` the policy must accept; keys, digests, limits
    /// and scenarios of its `[rollout]` are asked for as well
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Scenarios of your own, or folders of them, to play besides those that it carries
    #[arg(long, value_name = "DIR")]
    scenarios: Vec<PathBuf>,
}

/// The terms on which a gateway with this configuration lets a policy run.
fn terms_of(config: Config) -> Terms {
    Terms {
        trust: config.rollout.trust,
        configuration: config.policy.json,
        limits: config.rollout.limits,
        largest: config.rollout.largest,
        scenarios: config.rollout.scenarios,
        cache: None,
    }
}

pub(super) async fn run(args: VerifyArgs) -> anyhow::Result<ExitCode> {
    let mut terms = match &args.config {
        None => Terms::default(),
        Some(path) => match config::load(path) {
            Ok(config) => terms_of(config),
            Err(error) => {
                eprintln!("{error}");
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    terms.trust.keys.extend(args.key);
    terms.trust.digests.extend(args.digest);
    terms.scenarios.extend(scenarios(&args.scenarios)?);
    let artefact = args.file.read()?;
    let digest = artefact.digest();
    let paint = Paint::of_stdout();
    let vetted = vet(artefact, &terms, |seen| {
        // What cannot be written is told by what is written last.
        let _ = output::line(&output::evidence(seen, paint));
    });
    match vetted.await {
        Ok(vetted) => {
            let who = vetted.engine.describe();
            output::line(&format!(
                "{} {} may run here: {digest}",
                output::printable(&who.name),
                output::printable(&who.version)
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(refused) => {
            output::line(&format!(
                "{} is refused at {}; nothing after that was looked at",
                args.file, refused.stage
            ))?;
            Ok(ExitCode::FAILURE)
        }
    }
}
