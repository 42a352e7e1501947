//! The command `fusewire`.

mod command;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use fusewire::gateway::config::{self, CheckError};
use fusewire::{demo, gateway, logging, scenario};

/// A circuit breaker and failure classifier that a whole fleet shares.
#[derive(Parser)]
#[command(version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Guard HTTP providers: an HTTP gateway
    Serve(ConfigArgs),
    /// Check a gateway's configuration: every problem, at its place
    Check(ConfigArgs),
    /// Show the fleet's breakers: which are open, by what rule, for how long
    Status(command::breaker::StatusArgs),
    /// Say why a domain's breaker stands as it does
    Explain(command::breaker::ExplainArgs),
    /// Force a domain open: the whole fleet refuses its calls
    Open(command::breaker::OpenArgs),
    /// Force a domain closed: its calls go through, are counted, and trip nothing
    Close(command::breaker::CloseArgs),
    /// Take a domain's breaker out of use: its calls go through, and none is counted
    Off(command::breaker::OffArgs),
    /// Let a domain's breaker decide and count without effect
    Observe(command::breaker::ObserveArgs),
    /// Take back what was ordered for a domain: its breaker decides again
    Clear(command::breaker::ClearArgs),
    /// Watch an outage from beginning to end
    Demo(DemoArgs),
    /// What can be set in a configuration file: each setting with its unit, its default and why
    Reference(command::reference::ReferenceArgs),
    /// Play scenarios against a policy
    Test(TestArgs),
    /// Say what an answer means, and why: a failure of the provider, of the account, of the request
    Classify(command::classify::ClassifyArgs),
    /// How services signal failure: list, show, check profiles
    Profile(command::profile::ProfileArgs),
    /// A policy as a file: inspect, verify, sign, test, measure; and the policy of a fleet
    Policy(command::policy::PolicyArgs),
}

#[derive(Args)]
struct ConfigArgs {
    /// The configuration file
    #[arg(long, short, value_name = "FILE", default_value = "fusewire.toml")]
    config: PathBuf,
}

#[derive(Args)]
struct DemoArgs {
    /// Run on, one outage after the other, until interrupted
    #[arg(long)]
    forever: bool,
    /// Share the breaker with other processes, such as redis://127.0.0.1:6379
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Plain lines instead of the live view
    #[arg(long)]
    plain: bool,
}

#[derive(Args)]
struct TestArgs {
    /// Scenario files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The policy's component; the built-in one where left out
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Play them on this Redis as well, such as redis://127.0.0.1:6379
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Play them in another runtime as well: a driver's command, such as "node policy/js/drive.js
    /// --store memory", or its URL
    #[arg(long, value_name = "DRIVER")]
    through: Vec<String>,
    /// Print each decision
    #[arg(long, short)]
    verbose: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve(args).await,
        Command::Check(args) => check(&args),
        Command::Status(args) => command::breaker::status(args).await,
        Command::Explain(args) => command::breaker::explain(args).await,
        Command::Open(args) => command::breaker::open(args).await,
        Command::Close(args) => command::breaker::close(args).await,
        Command::Off(args) => command::breaker::off(args).await,
        Command::Observe(args) => command::breaker::observe(args).await,
        Command::Clear(args) => command::breaker::clear(args).await,
        Command::Demo(args) => run_demo(args).await,
        Command::Test(args) => test(args).await,
        Command::Classify(args) => command::classify::run(args),
        Command::Profile(args) => command::profile::run(args),
        Command::Reference(args) => command::reference::run(&args),
        Command::Policy(args) => command::policy::run(args).await,
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            // A line a person can read, and no backtrace.
            eprintln!("fusewire: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The configuration, where it is good; its problems are printed here. The word for what is wrong
/// with the policy's file, where the host may have another policy to start with.
fn load(args: &ConfigArgs, about_the_policy: &str) -> Option<config::Config> {
    match config::load(&args.config) {
        Ok(config) => {
            let file = args.config.display();
            for warning in &config.warnings {
                eprintln!("{file}: warning: {warning}");
            }
            for problem in &config.policy.problems {
                eprintln!("{file}:{about_the_policy}{problem}");
            }
            Some(config)
        }
        Err(error @ (CheckError::File { .. } | CheckError::Problems { .. })) => {
            eprintln!("{error}");
            None
        }
    }
}

async fn serve(args: ConfigArgs) -> anyhow::Result<ExitCode> {
    logging::init();
    let Some(config) = load(&args, " warning: ") else {
        return Ok(ExitCode::FAILURE);
    };
    gateway::serve(config, interrupted()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for an interrupt or a request to terminate.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

fn check(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let Some(config) = load(args, "") else {
        return Ok(ExitCode::FAILURE);
    };
    if !config.policy.problems.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    let (providers, routes) = (config.providers.len(), config.routes.len());
    println!(
        "{}: good, with {providers} provider{} and {routes} route{}",
        args.config.display(),
        if providers == 1 { "" } else { "s" },
        if routes == 1 { "" } else { "s" },
    );
    Ok(ExitCode::SUCCESS)
}

async fn run_demo(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let options = demo::Options {
        forever: args.forever,
        redis: args.redis,
        plain: args.plain,
    };
    demo::run(options).await?;
    Ok(ExitCode::SUCCESS)
}

async fn test(args: TestArgs) -> anyhow::Result<ExitCode> {
    let options = scenario::TestOptions {
        files: args.files,
        carried: false,
        policy: args.policy,
        redis: args.redis,
        through: args.through,
        verbose: args.verbose,
    };
    let mut out = std::io::stdout();
    let passed = scenario::run(&options, &mut out)
        .await
        .context("cannot write the report")?;
    out.flush()?;
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
