//! `fusewire policy bench`: what a policy costs, against the one built in.

mod measure;
mod side;

use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;

use clap::Args;

use self::measure::{Cost, Work, measure};
use self::side::Side;
use super::output::{self, Paint, span};
use super::source::Source;

#[derive(Args)]
pub(super) struct BenchArgs {
    /// The policy's component; or `built-in`
    #[arg(value_name = "FILE")]
    file: Source,
    /// The policy's configuration, a JSON text
    #[arg(long, value_name = "JSON", default_value = "{}")]
    configuration: String,
}

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let mut sides = vec![Side::new(&args.file, &args.configuration)?];
    if args.file != Source::BuiltIn {
        sides.push(Side::new(&Source::BuiltIn, "{}")?);
    }
    let paint = Paint::of_stdout();
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    output::line(&heads(&names, paint))?;
    for work in Work::ALL {
        progress(&format!("measuring: {}", work.name()));
        let costs = measure(&sides, work);
        progress("");
        output::line(&row(work, &costs?))?;
    }
    output::line(&paint.faint(NOTE))?;
    if sides.len() > 1 {
        output::line(&paint.faint("times: its median, in medians of the one built in"))?;
    }
    if cfg!(debug_assertions) {
        output::line(
            &paint.faint("this host is a debug build: a release build takes less of all"),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

const NOTE: &str = "each on one thread, over a store in memory that answers at once";

/// The width of a figure's column.
const WIDTH: usize = 10;

fn heads(names: &[String], paint: Paint) -> String {
    let mut first = " ".repeat(Work::WIDTH);
    let mut second = first.clone();
    for name in names {
        let name: String = name.chars().take(2 * WIDTH - 2).collect();
        first.push_str(&format!("{name:>width$}", width = 2 * WIDTH));
        second.push_str(&format!("{:>WIDTH$}{:>WIDTH$}", "median", "p99"));
    }
    if names.len() > 1 {
        second.push_str(&format!("{:>WIDTH$}", "times"));
    }
    format!("{first}\n{}", paint.faint(&second))
}

fn row(work: Work, costs: &[Option<Cost>]) -> String {
    let mut row = format!("{:<width$}", work.name(), width = Work::WIDTH);
    for cost in costs {
        row.push_str(&match cost {
            Some(cost) => format!("{:>WIDTH$}{:>WIDTH$}", span(cost.median), span(cost.p99)),
            None => format!("{:>width$}", "it refuses", width = 2 * WIDTH),
        });
    }
    if let [Some(one), Some(other)] = costs {
        let times = one.median.as_secs_f64() / other.median.as_secs_f64();
        row.push_str(&format!("{times:>WIDTH$.2}"));
    }
    row
}

/// Says what is under way, where a person is looking on.
fn progress(what: &str) {
    let mut out = stderr();
    if out.is_terminal() {
        // Over the line before, to its end.
        let _ = write!(out, "\r\u{1b}[K{what}");
        let _ = out.flush();
    }
}
