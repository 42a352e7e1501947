//! `fusewire policy push | status | pause | resume | rollback`: the policy of a whole fleet.

mod place;
mod table;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use fusewire::core::config::duration::{FORM, parse_ms};
use fusewire::engine::{Compiled, Limits};
use fusewire::policy::Facts;
use fusewire::policy::fleet::{Canary, Operator, Order, Overview, Progress, Verdict, Wanted};

use self::place::{ByArgs, PlaceArgs, SigningArgs};
use super::output::printable;
use super::source::Source;

/// How often the status is looked at while it is watched.
const EVERY: Duration = Duration::from_secs(1);
/// How long one canary host has a policy active before the others take it, unless told otherwise:
/// longer than a host has it on probation.
const CANARY_FOR: &str = "60s";

#[derive(Args)]
pub(super) struct PushArgs {
    /// The policy's component, whose signature is in FILE.minisig where it has one; or `built-in`
    #[arg(value_name = "FILE")]
    policy: Source,
    /// This share of the hosts is first, such as 0.25; at least one host
    #[arg(long, value_name = "SHARE", value_parser = share)]
    canary_hosts: Option<f64>,
    /// The others follow when one of them has had it active for this long
    #[arg(long, value_name = "TIME", value_parser = span, default_value = CANARY_FOR, requires = "canary_hosts")]
    canary_for: u64,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args)]
pub(super) struct StatusArgs {
    /// Show it again whenever it changes, until every host runs what is wanted
    #[arg(long)]
    watch: bool,
    /// As JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args)]
pub(super) struct RollbackArgs {
    /// The beginning of the digest to go back to; the last before that was not itself rolled back
    /// from, where left out
    #[arg(long, value_name = "DIGEST")]
    to: Option<String>,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("write a share above 0 and at most 1, such as 0.25".into()),
    }
}

fn span(text: &str) -> Result<u64, String> {
    parse_ms(text).ok_or_else(|| format!("write {FORM}"))
}

/// Looks at the policy, and gives it to the fleet.
pub(super) async fn push(args: PushArgs) -> anyhow::Result<ExitCode> {
    let artefact = args.policy.read()?;
    let facts = Facts::of(artefact.bytes());
    let file = &args.policy;
    // What does not even start here is not sent to hosts.
    let started = {
        let artefact = artefact.clone();
        let start = move || Compiled::new(artefact.bytes())?.start(Limits::default());
        tokio::task::spawn_blocking(start).await?
    };
    let started = started.with_context(|| format!("{file} is no policy that could run"))?;
    let (name, version) = (&started.description().name, &started.description().version);
    let title = printable(&format!("{name} {version}"));
    println!("{title}, {} bytes, {}", facts.size, facts.digest);
    println!(
        "imports {}; {}; {} scenario{}",
        or_nothing(&facts.imports),
        match artefact.signature() {
            Some(_) => format!("signed in {file}.minisig"),
            None => "not signed".to_owned(),
        },
        facts.scenarios.len(),
        if facts.scenarios.len() == 1 { "" } else { "s" },
    );

    let operator = args.place.operator().await?;
    let for_ms = args.canary_for;
    let order = Order {
        canary: args.canary_hosts.map(|hosts| Canary { hosts, for_ms }),
        ..args.signing.order()
    };
    let live = io::stdout().is_terminal();
    let progress = |progress: Progress| {
        let (written, of) = (progress.written, progress.of);
        if live || written == of {
            let begin = if live { "\r" } else { "" };
            let end = if written == of { "\n" } else { "" };
            print!("{begin}chunk {written} of {of} is in the store{end}");
            // What is shown is for people: where nobody can read it, the push goes on.
            let _ = io::stdout().flush();
        }
    };
    let pushed = operator.push(&artefact, (name, version), &order, progress);
    let pushed = pushed.await?;
    if let Some(why) = pushed.left_over {
        eprintln!("fusewire: what no host wants any more is left in the store: {why}");
    }
    println!("{}", named(&pushed.wanted));
    Ok(ExitCode::SUCCESS)
}

fn or_nothing(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => printable(&names.join(", ")),
    }
}

/// Shows the fleet. 0: every host runs what is wanted; 1: some do not; 2: it cannot be told.
pub(super) async fn status(args: StatusArgs) -> anyhow::Result<ExitCode> {
    let shown = async {
        let operator = args.place.operator().await?;
        if args.watch {
            watch(&operator, args.json).await
        } else {
            let overview = operator.overview().await?;
            println!("{}", text(&overview, args.json)?);
            Ok(overview.verdict)
        }
    };
    Ok(match shown.await {
        Ok(Verdict::AllRun) => ExitCode::SUCCESS,
        Ok(Verdict::NotAll) => ExitCode::from(1),
        Ok(Verdict::Unknown) => ExitCode::from(2),
        Err(error) => {
            eprintln!("fusewire: {error:#}");
            ExitCode::from(2)
        }
    })
}

fn text(overview: &Overview, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string(overview)?);
    }
    Ok(table::table(overview))
}

async fn watch(operator: &Operator, json: bool) -> anyhow::Result<Verdict> {
    let live = io::stdout().is_terminal() && !json;
    let mut shown = None;
    loop {
        match operator.overview().await {
            Ok(overview) => {
                let news = table::what_changes(&overview);
                if live {
                    // The screen anew: its times go on though nothing else does.
                    print!("\u{1b}[H\u{1b}[2J");
                }
                if live || shown.as_ref() != Some(&news) {
                    println!("{}", text(&overview, json)?);
                }
                if overview.verdict == Verdict::AllRun {
                    return Ok(Verdict::AllRun);
                }
                shown = Some(news);
            }
            Err(error) => {
                let news = error.to_string();
                if shown.as_ref() != Some(&news) {
                    eprintln!("fusewire: {error}");
                }
                shown = Some(news);
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

pub(super) async fn pause(args: PauseArgs) -> anyhow::Result<ExitCode> {
    let operator = args.place.operator().await?;
    let by = args.by.name();
    let wanted = operator.pause(&by).await?;
    let by = wanted.paused.unwrap_or(by);
    println!("paused by {by}: no host goes on to a stage that meets real calls");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn resume(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let wanted = args.place.operator().await?.resume().await?;
    println!("{}", named(&wanted));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn rollback(args: RollbackArgs) -> anyhow::Result<ExitCode> {
    let operator = args.place.operator().await?;
    let order = args.signing.order();
    let wanted = operator.rollback(args.to.as_deref(), &order).await?;
    println!("{}, at once", named(&wanted));
    Ok(ExitCode::SUCCESS)
}

fn named(wanted: &Wanted) -> String {
    format!(
        "the fleet is to run {} ({}), revision {}",
        wanted.policy.title(),
        wanted.policy.digest.short(),
        wanted.revision
    )
}
