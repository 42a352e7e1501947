//! `fusewire explain`: why one domain stands as it does.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use fusewire::core::Fact;
use serde_json::json;

use super::desk::Desk;
use super::look::Look;
use super::names;
use super::place::PlaceArgs;
use super::status::verdict;
use super::table::painted;
use super::verdict::{Verdict, unknown};
use crate::command::output::{Lines, Paint, printable, room, wrapped};

const STATUSES: &str = "Exit status:
  0  it is closed
  1  it is open, half-open, held, or forced open by an order
  2  it cannot be told: the store is out of reach, or the arguments are wrong";

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct ExplainArgs {
    /// The domain: provider, provider@account or provider/operation
    #[arg(value_name = "DOMAIN")]
    domain: String,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Explains it.
pub(crate) async fn explain(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let explained = explained(args).await;
    Ok(explained.map_or_else(|error| unknown(&error), ExitCode::from))
}

async fn explained(args: ExplainArgs) -> anyhow::Result<Verdict> {
    names::check(&args.domain).map_err(anyhow::Error::msg)?;
    let desk = Desk::open(args.place).await?;
    let look = desk.look_at(&args.domain).await?;
    let facts = match desk.facts(&args.domain).await {
        Ok(facts) => facts.into_iter().filter(is_of_the_fleet),
        Err(why) => bail!("`{}` cannot be told: {why}", look.domain),
    };
    let facts: Vec<Fact> = facts.collect();
    let mut out = Lines::new();
    if args.json {
        let all = json!({ "domain": args.domain, "state": look, "facts": facts });
        out.line(&all.to_string())?;
    } else {
        for line in text(&look, &facts, room(), Paint::of_stdout()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(verdict([&look], false))
}

/// A breaker that an instance keeps for itself is in its own process: the policy tells of this
/// one's, which calls nobody.
fn is_of_the_fleet(fact: &Fact) -> bool {
    fact.subject != "this instance"
}

fn text(look: &Look, facts: &[Fact], room: Option<usize>, paint: Paint) -> Vec<String> {
    let name = printable(&look.domain);
    let word = painted(look.standing, look.standing.word(), paint);
    let subjects = facts.iter().map(|fact| printable(&fact.subject));
    let subjects: Vec<String> = subjects.collect();
    let widest = subjects.iter().map(|subject| subject.chars().count());
    let widest = widest.max().unwrap_or_default();
    let room = room.map_or(usize::MAX, |room| room.saturating_sub(widest + 4).max(20));
    let mut lines = vec![format!("{name}  {word}")];
    for (subject, fact) in subjects.iter().zip(facts) {
        let names = std::iter::once(subject.as_str()).chain(std::iter::repeat(""));
        let says = wrapped(&printable(&fact.says), room);
        lines.extend(names.zip(says).map(|(subject, text)| {
            let subject = paint.faint(&format!("{subject:<widest$}"));
            format!("  {subject}  {text}")
        }));
    }
    lines
}
