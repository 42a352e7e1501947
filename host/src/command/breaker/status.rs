//! `fusewire status`: how the fleet's breakers stand.

use std::process::ExitCode;

use clap::Args;

use super::desk::{Desk, MOST, Seen};
use super::look::Look;
use super::names::Wanted;
use super::place::PlaceArgs;
use super::table::{summary, table};
use super::verdict::{Verdict, unknown};
use super::watch::watch;
use crate::command::output::{Lines, Paint, room, wrapped};

/// Of how many that cannot be told the reason is said.
const UNTOLD: usize = 5;

const STATUSES: &str = "Exit status:
  0  all of them are closed
  1  some are open, half-open, held, or forced open by an order
  2  it cannot be told: the store is out of reach, a record cannot be read, or the arguments
     are wrong

Counts are of the widest window that the policy's settings have. Where these are not the
usual ones, name the fleet by --config.";

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct StatusArgs {
    /// Which domains: names such as `geocoder`, `geocoder@team-1`, `geocoder/reverse`, and patterns
    /// with `*` and `?`; all that have a record where left out
    #[arg(value_name = "DOMAIN")]
    domains: Vec<String>,
    /// Show them again whenever one changes, until interrupted; a line a change where the output is
    /// no terminal
    #[arg(long)]
    watch: bool,
    /// As JSON, one domain a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Shows them.
pub(crate) async fn status(args: StatusArgs) -> anyhow::Result<ExitCode> {
    let shown = async {
        let wanted = Wanted::read(&args.domains).map_err(anyhow::Error::msg)?;
        let desk = Desk::open(args.place).await?;
        match args.watch {
            true => watch(&desk, &wanted, args.json).await,
            false => once(&desk, &wanted, args.json).await,
        }
    };
    let verdict = shown.await;
    Ok(verdict.map_or_else(|error| unknown(&error), ExitCode::from))
}

async fn once(desk: &Desk, wanted: &Wanted, json: bool) -> anyhow::Result<Verdict> {
    let names = desk.names(wanted).await?;
    let Seen { mut looks, untold } = desk.looks(names.all).await?;
    looks.sort_unstable_by(|a, b| a.rank().cmp(&b.rank()));
    let length = room().unwrap_or(usize::MAX);
    let mut out = Lines::new();
    if json {
        for look in &looks {
            out.line(&serde_json::to_string(look)?)?;
        }
    } else if looks.is_empty() {
        let none = if untold.is_empty() {
            nothing(desk, wanted)
        } else {
            String::new()
        };
        for line in wrapped(&none, length) {
            out.line(&line)?;
        }
    } else {
        for line in table(&looks, room(), Paint::of_stdout()) {
            out.line(&line)?;
        }
        out.line("")?;
        for line in wrapped(&summary(&looks), length) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    if names.cut {
        eprintln!("fusewire: {}", too_many());
    }
    for why in untold.iter().take(UNTOLD) {
        eprintln!("fusewire: {why}");
    }
    if let Some(more @ 1..) = untold.len().checked_sub(UNTOLD) {
        eprintln!("fusewire: and {more} more cannot be told");
    }
    Ok(verdict(&looks, names.cut || !untold.is_empty()))
}

/// What the exit status says of these. `more`: there are others.
pub(super) fn verdict<'l>(looks: impl IntoIterator<Item = &'l Look>, more: bool) -> Verdict {
    match looks.into_iter().all(|look| look.closed) {
        false => Verdict::NotClosed,
        true if more => Verdict::Unknown,
        true => Verdict::AllClosed,
    }
}

/// What is said where there is nothing to show.
pub(super) fn nothing(desk: &Desk, wanted: &Wanted) -> String {
    let (prefix, address) = (desk.guard.prefix(), desk.address());
    let (which, them) = match wanted.is_everything() {
        true => ("no domain", "none has tripped of late"),
        false => ("no such domain", "none of them has tripped of late"),
    };
    format!(
        "{which} has a record under the prefix `{prefix}` at {address}: {them}, or it is another fleet's"
    )
}

pub(super) fn too_many() -> String {
    format!(
        "more than {MOST} domains have a record: some are left out; name those you want, such as `fusewire status 'geo*'`"
    )
}
