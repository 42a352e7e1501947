//! `fusewire open | close | off | observe | clear`: orders for one domain, seen by the whole fleet.

use std::process::ExitCode;

use clap::Args;
use fusewire::core::config::duration::{FORM, parse_ms};
use fusewire::core::{OverrideMode, OverrideOrder};
use serde_json::json;

use super::desk::Desk;
use super::look::{self, Look};
use super::names;
use super::place::PlaceArgs;
use super::verdict::{Verdict, unknown};
use super::words::{in_a_line, span, utc};
use crate::command::environment;
use crate::command::output::{Lines, Paint, printable, row};

/// How long an order stands where nobody says: an incident is over by then or looked at again, and
/// one that was forgotten does no harm the day after.
const USUAL_MS: u64 = 3_600_000;

const STATUSES: &str = "Exit status:
  0  given: every host of the fleet sees it with the next call
  1  refused: the domain or the order is not valid, or the record changed all the while
  2  in doubt: the store is out of reach, or the arguments are wrong";

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct CloseArgs {
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct OffArgs {
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct ObserveArgs {
    /// Of the calls that the breaker would refuse, refuse this share all the same: 0 to 100
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    enforce: u32,
    #[command(flatten)]
    order: OrderArgs,
}

#[derive(Args)]
#[command(after_help = STATUSES)]
pub(crate) struct ClearArgs {
    /// The domain: provider, provider@account or provider/operation
    #[arg(value_name = "DOMAIN")]
    domain: String,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Args)]
struct OrderArgs {
    /// The domain: provider, provider@account or provider/operation
    #[arg(value_name = "DOMAIN")]
    domain: String,
    /// Why, for everybody who meets the order: in refusals, in the status, in the log
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// How long it stands, such as 30m, or `ever`: until it is cleared. 1h where left out
    #[arg(long = "for", value_name = "TIME", value_parser = term)]
    term: Option<Term>,
    /// Who gives the order; where left out, the environment variable FUSEWIRE_WHO, or else USER@HOST
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// How long an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    Ms(u64),
    Ever,
}

fn term(text: &str) -> Result<Term, String> {
    if text == "ever" {
        return Ok(Term::Ever);
    }
    match parse_ms(text) {
        Some(0) | None => Err(format!(
            "write {FORM}, or `ever` for one that stands until it is cleared"
        )),
        Some(ms) => Ok(Term::Ms(ms)),
    }
}

/// Forces a domain open.
pub(crate) async fn open(args: OpenArgs) -> anyhow::Result<ExitCode> {
    Ok(give(args.order, OverrideMode::Open, 0).await)
}

/// Forces a domain closed.
pub(crate) async fn close(args: CloseArgs) -> anyhow::Result<ExitCode> {
    Ok(give(args.order, OverrideMode::Closed, 0).await)
}

/// Takes a breaker out of use.
pub(crate) async fn off(args: OffArgs) -> anyhow::Result<ExitCode> {
    Ok(give(args.order, OverrideMode::Off, 0).await)
}

/// Lets a breaker decide without effect.
pub(crate) async fn observe(args: ObserveArgs) -> anyhow::Result<ExitCode> {
    Ok(give(args.order, OverrideMode::Observe, args.enforce).await)
}

async fn give(args: OrderArgs, mode: OverrideMode, enforce_percent: u32) -> ExitCode {
    let given = Order {
        domain: args.domain,
        json: args.json,
        wanted: Some(Wanted {
            mode,
            enforce_percent,
            who: args.who.unwrap_or_else(environment::someone),
            why: args.why,
            term: args.term,
        }),
    };
    given.carry_out(args.place).await
}

/// Takes an order back.
pub(crate) async fn clear(args: ClearArgs) -> anyhow::Result<ExitCode> {
    let cleared = Order {
        domain: args.domain,
        json: args.json,
        wanted: None,
    };
    Ok(cleared.carry_out(args.place).await)
}

/// An order as it was asked for.
struct Order {
    domain: String,
    json: bool,
    /// `None`: the one before is to be cleared.
    wanted: Option<Wanted>,
}

struct Wanted {
    mode: OverrideMode,
    enforce_percent: u32,
    who: String,
    why: String,
    term: Option<Term>,
}

impl Order {
    async fn carry_out(self, place: PlaceArgs) -> ExitCode {
        if let Err(why) = names::check(&self.domain) {
            return refused(&why);
        }
        let desk = match Desk::open(place).await {
            Ok(desk) => desk,
            Err(error) => return unknown(&error),
        };
        let before = match desk.look_at(&self.domain).await {
            Ok(before) => before,
            Err(error) => return unknown(&error),
        };
        // What went wrong before was not the order.
        let _ = desk.trouble();
        if self.wanted.is_none() && !before.recorded {
            // There is nothing to clear, and to write so would be to make a record.
            return told(self.say(&desk, &before, None));
        }
        let order = self
            .wanted
            .as_ref()
            .map(|wanted| wanted.at(desk.guard.now_ms()));
        match desk.guard.order(&self.domain, order.clone()).await {
            Ok(()) => told(self.say(&desk, &before, order.as_ref())),
            // What the policy says is the same for both: whether it was the store that failed, the
            // store tells.
            Err(why) => match desk.trouble() {
                Some(_) => unknown(&anyhow::anyhow!(
                    "whether the order is given is not known: {why}"
                )),
                None => refused(&why),
            },
        }
    }

    fn say(&self, desk: &Desk, before: &Look, order: Option<&OverrideOrder>) -> anyhow::Result<()> {
        let mut out = Lines::new();
        if self.json {
            let order = order.cloned().map(look::Order::from);
            let given = json!({ "domain": self.domain, "order": order, "before": before });
            out.line(&given.to_string())?;
            out.flush()?;
            return Ok(());
        }
        let name = printable(&self.domain);
        let paint = Paint::of_stdout();
        let mut rows = Vec::new();
        if let Some((wanted, order)) = self.wanted.as_ref().zip(order) {
            out.line(&format!("{name} {}", what(wanted)))?;
            rows.push(("why", printable(&order.why)));
            rows.push(("who", printable(&order.who)));
            rows.push(("until", wanted.until(order.until_ms, &name)));
        } else if before.order.is_some() {
            out.line(&format!(
                "{name} has no order any more: its breaker decides"
            ))?;
        } else {
            out.line(&format!("{name} had no order: its breaker decides"))?;
        }
        rows.push(("before", in_a_line(before)));
        for (name, text) in rows {
            for line in row(name, &text, paint) {
                out.line(&line)?;
            }
        }
        out.flush()?;
        if desk.is_stranger(&self.domain) {
            eprintln!(
                "fusewire: the configuration has no provider of this name: is `{name}` the one you mean?"
            );
        }
        Ok(())
    }
}

impl Wanted {
    fn at(&self, now_ms: u64) -> OverrideOrder {
        let until_ms = match self.term {
            None => now_ms.saturating_add(USUAL_MS),
            Some(Term::Ms(ms)) => now_ms.saturating_add(ms),
            Some(Term::Ever) => 0,
        };
        OverrideOrder {
            mode: self.mode,
            enforce_percent: self.enforce_percent,
            who: self.who.clone(),
            why: self.why.clone(),
            until_ms,
        }
    }

    /// Until when it stands, and what ends it.
    fn until(&self, until_ms: u64, name: &str) -> String {
        let clear = format!("`fusewire clear {name}`");
        match self.term {
            Some(Term::Ever) => format!("{clear} ends it, and nothing else"),
            Some(Term::Ms(ms)) => {
                format!(
                    "{}, {} from now; {clear} ends it before",
                    utc(until_ms),
                    span(ms)
                )
            }
            None => format!(
                "{}, {} from now, unless --for says otherwise; {clear} ends it before",
                utc(until_ms),
                span(USUAL_MS)
            ),
        }
    }
}

/// What an order does.
fn what(wanted: &Wanted) -> String {
    match (wanted.mode, wanted.enforce_percent) {
        (OverrideMode::Open, _) => "is forced open: every call is refused".to_owned(),
        (OverrideMode::Closed, _) => {
            "is forced closed: every call goes through, and is counted".to_owned()
        }
        (OverrideMode::Off, _) => "is off: every call goes through, and none is counted".to_owned(),
        (OverrideMode::Observe, 0) => {
            "is observed: its breaker decides and counts, and every call goes through".to_owned()
        }
        (OverrideMode::Observe, percent) => format!(
            "is observed: its breaker decides and counts, and {percent} % of its refusals are enforced"
        ),
    }
}

fn refused(why: &str) -> ExitCode {
    eprintln!("fusewire: refused: {why}");
    Verdict::NotClosed.into()
}

/// The order is given, whether or not that could be said.
fn told(said: anyhow::Result<()>) -> ExitCode {
    if let Err(error) = said {
        eprintln!("fusewire: {error:#}");
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_a_time_or_ever_and_never_nothing() {
        assert_eq!(term("30m"), Ok(Term::Ms(1_800_000)));
        assert_eq!(term("ever"), Ok(Term::Ever));
        for wrong in ["", "0s", "30", "-1h", "forever", "1y"] {
            let said = term(wrong).expect_err(wrong);
            assert!(said.contains("30s") && said.contains("`ever`"), "{said}");
        }
    }
}
