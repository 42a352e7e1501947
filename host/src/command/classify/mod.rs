//! `fusewire classify`: what an answer means, and why.
//!
//! | module | subject |
//! |---|---|
//! | `source` | files, as lines of JSON or answers of HTTP |
//! | `judge` | the policy, with the settings that an input asks for |
//! | `session` | what is done with each input |
//! | `explain` | a verdict as a person reads it |
//! | `agreement` | verdicts against what is expected of them |

mod agreement;
mod explain;
mod judge;
mod session;
mod source;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use fusewire::cases::{Reading, Whom};
use fusewire::core::Media;

use self::judge::Judge;
use self::session::{Form, Session};
use self::source::Source;
use super::settings::Settings;

#[derive(Args)]
pub(crate) struct ClassifyArgs {
    /// What to judge, each file either an answer as `curl -i` saves it or observations as JSON, one
    /// a line; `-` and none are the standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Judge all by this profile: `fusewire profile list` has those that are built in
    #[arg(long, short, value_name = "NAME", conflicts_with = "provider")]
    profile: Option<String>,
    /// Judge all by the settings of this provider
    #[arg(long, value_name = "NAME", requires = "config")]
    provider: Option<String>,
    /// The policy's configuration: JSON, or a gateway's TOML with a `[policy]` in it
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The policy's component; the built-in one where left out
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// What the caller can use, where an observation does not say
    #[arg(long, value_name = "MEDIA", value_parser = media)]
    expect: Option<Media>,
    /// The request's method, where an observation does not say
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// Compare each verdict with what is `expected` of it, and tell the differences
    #[arg(long)]
    cases: bool,
    /// Verdicts as JSON, one a line: the default where the output is no terminal
    #[arg(long)]
    json: bool,
    /// Which rules were tried and why they did not decide: the default on a terminal
    #[arg(long, conflicts_with = "cases")]
    explain: bool,
}

fn media(text: &str) -> Result<Media, String> {
    Media::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Media::ALL.iter().map(|media| media.name()).collect();
        format!("write one of {}", names.join(", "))
    })
}

/// Does what was asked.
pub(crate) fn run(args: ClassifyArgs) -> anyhow::Result<ExitCode> {
    let settings = args.config.as_deref().map(Settings::read).transpose();
    let judge = settings.and_then(|settings| Judge::new(settings, args.policy.as_deref()));
    let judge = match judge {
        Ok(judge) => judge,
        Err(wrong) => return Ok(failed(&wrong)),
    };
    let whom = args.provider.map(Whom::Provider);
    let reading = Reading {
        whom: whom.or(args.profile.map(Whom::Profile)),
        expect: args.expect,
        method: args.method,
        now_ms: now_ms(),
    };
    if let Some(wrong) = reading.whom.as_ref().and_then(|whom| judge.unknown(whom)) {
        return Ok(failed(&[format!("fusewire: {wrong}")]));
    }
    let form = match (args.cases, args.json, args.explain) {
        (true, json, _) => Form::Agreement { json },
        (false, true, explain) => Form::Json { explain },
        (false, false, false) if !stdout().is_terminal() => Form::Json { explain: false },
        (false, false, _) => Form::Text,
    };
    let mut files = args.files;
    if files.is_empty() {
        files.push("-".into());
    }
    let mut session = Session::new(reading, judge, form);
    for file in &files {
        match Source::open(file) {
            Ok(source) => session.read(source)?,
            Err(error) => session.wrong(&format!("{}: {error}", file.display()))?,
        }
        if session.is_over() {
            break;
        }
    }
    session.finish()
}

fn failed(wrong: &[String]) -> ExitCode {
    for line in wrong {
        eprintln!("{line}");
    }
    ExitCode::FAILURE
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
