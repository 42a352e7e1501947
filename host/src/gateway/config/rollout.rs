//! `[rollout]`: whose policies may run, and how one takes the place of another.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fusewire_core::Problem;
use fusewire_core::config::Reader;

use super::Secret;
use super::read::{Findings, HOUR, span};
use crate::engine::Limits;
use crate::policy::rollout::options::{Canarying, Linger, Probation, Shadowing};
use crate::policy::{LARGEST, Trust};
use crate::scenario::Scenario;

/// The most bytes that a policy, or its memory, may be allowed.
const BYTES_MAX: u64 = 1 << 30;
/// The least memory that an instance may be allowed, in bytes: one page of WebAssembly.
const MEMORY_MIN: u64 = 64 << 10;
const DAY: u64 = 24 * HOUR;
/// The most that is counted anywhere here.
const COUNT_MAX: u64 = 1_000_000_000;

/// Whose policies may run, and how one takes the place of another.
#[derive(Debug, Clone)]
pub struct RolloutConfig {
    /// Whose policies may run.
    pub trust: Trust,
    /// What a policy may use.
    pub limits: Limits,
    /// The most bytes that a policy may have.
    pub largest: usize,
    /// The operator's own scenarios: file names and TOML texts.
    pub scenarios: Vec<(String, String)>,
    /// Where the last good policy and compiled code are kept; `None`: nowhere.
    pub folder: Option<PathBuf>,
    /// Whether the policy's file is offered when it changes.
    pub watch: bool,
    /// Whether the fleet's wanted policy is followed.
    pub fleet: bool,
    /// What an operator has to know who changes something, as a bearer token; `None`: nothing can be
    /// changed over HTTP.
    pub token: Option<Secret>,
    /// In the shadow of the serving policy.
    pub shadow: Shadowing,
    /// Deciding a share of the providers.
    pub canary: Canarying,
    /// After it has begun to serve.
    pub probation: Probation,
    /// Replaced policies that calls still have.
    pub linger: Linger,
}

impl Default for RolloutConfig {
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            limits: Limits::default(),
            largest: LARGEST,
            scenarios: Vec::new(),
            folder: None,
            watch: true,
            fleet: false,
            token: None,
            shadow: Shadowing::default(),
            canary: Canarying::default(),
            probation: Probation::default(),
            linger: Linger::default(),
        }
    }
}

/// Reads the section. `folder` is where files are that it names.
pub(super) fn rollout(root: &Reader<'_>, folder: &Path, findings: &Findings) -> RolloutConfig {
    let default = RolloutConfig::default();
    let section = root.object("rollout");
    let fleet = section.flag("fleet", default.fleet);
    if fleet && !root.object("store").has("url") {
        let right = "set store.url, or leave this out";
        section.problem("fleet", "there is no store that a fleet could share", right);
    }
    let token = section.text("token").map(Secret::new);
    match token.as_ref().map(Secret::reveal) {
        Some(Err(unset)) => findings.warn(section.path("token"), unset, "set it before `serve`"),
        Some(Ok(token)) if token.is_empty() => {
            section.problem("token", "it is empty", "write a token, or leave it out");
        }
        Some(Ok(_)) if !root.has("admin") => findings.warn(
            section.path("token"),
            "policies are changed over HTTP at the admin address alone, and there is none".into(),
            "set admin, such as \"127.0.0.1:8701\"",
        ),
        _ => {}
    }
    let config = RolloutConfig {
        trust: Trust {
            keys: parsed(
                &section,
                "keys",
                "a public key of minisign, 56 characters of Base64",
            ),
            digests: parsed(&section, "digests", "`sha256:` and 64 hexadecimal digits"),
        },
        limits: limits(&section),
        largest: size(&section, "largest", LARGEST),
        scenarios: scenarios(&section, folder, findings),
        folder: section.text("folder").map(|path| folder.join(path)),
        watch: section.flag("watch", default.watch),
        fleet,
        token,
        shadow: shadow(&section),
        canary: canary(&section),
        probation: probation(&section),
        linger: linger(&section),
    };
    section.finish();
    config
}

/// A list of texts of one kind.
fn parsed<T: std::str::FromStr>(section: &Reader<'_>, key: &str, form: &str) -> Vec<T> {
    let mut all = Vec::new();
    for text in section.texts(key).unwrap_or_default() {
        match text.parse() {
            Ok(one) => all.push(one),
            Err(_) => section.problem(key, format!("{text:?} is none"), format!("write {form}")),
        }
    }
    if section.has(key) && all.is_empty() {
        // An empty list would allow nothing, and reads as if it allowed everything.
        let right = format!("write {form}, or leave the list out");
        section.problem(key, "there is nothing in the list", right);
    }
    all
}

fn limits(section: &Reader<'_>) -> Limits {
    let default = Limits::default();
    let section = section.object("limits");
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let limits = Limits {
        deadline: span(&section, "deadline", millis(default.deadline), 1..=60_000),
        memory: size(&section, "memory", default.memory),
        ..default
    };
    section.finish();
    limits
}

fn size(section: &Reader<'_>, key: &str, default: usize) -> usize {
    let default = u64::try_from(default).unwrap_or(u64::MAX);
    let bytes = section.whole(key, default, MEMORY_MIN..=BYTES_MAX);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn shadow(section: &Reader<'_>) -> Shadowing {
    let default = Shadowing::default();
    let section = section.object("shadow");
    let config = Shadowing {
        share: share(&section, "share", default.share),
        span: time(&section, "for", default.span),
        decisions: section.whole("decisions", default.decisions, 0..=COUNT_MAX),
        at_most: time(&section, "at-most", default.at_most),
        differences: share(&section, "differences", default.differences),
        faults: section.whole("faults", default.faults, 0..=COUNT_MAX),
    };
    if config.at_most < config.span {
        let right = "write at least what `for` says";
        section.problem("at-most", "it would end before it may", right);
    }
    section.finish();
    config
}

fn canary(section: &Reader<'_>) -> Canarying {
    let default = Canarying::default();
    let section = section.object("canary");
    let config = Canarying {
        share: share(&section, "share", default.share),
        span: time(&section, "for", default.span),
    };
    section.finish();
    config
}

fn probation(section: &Reader<'_>) -> Probation {
    let default = Probation::default();
    let section = section.object("probation");
    let config = Probation {
        span: time(&section, "for", default.span),
        faults: section.whole("faults", default.faults, 0..=COUNT_MAX),
        store_refusals: section.whole("store-refusals", default.store_refusals, 0..=COUNT_MAX),
        refusals: share(&section, "refusals", default.refusals),
        refusals_minimum: section.whole(
            "refusals-minimum",
            default.refusals_minimum,
            1..=COUNT_MAX,
        ),
    };
    section.finish();
    config
}

fn linger(section: &Reader<'_>) -> Linger {
    let default = Linger::default();
    let section = section.object("linger");
    let policies = u64::try_from(default.policies).unwrap_or(u64::MAX);
    let policies = section.whole("policies", policies, 1..=1_000);
    let config = Linger {
        span: time(&section, "for", default.span),
        policies: usize::try_from(policies).unwrap_or(usize::MAX),
    };
    section.finish();
    config
}

fn share(section: &Reader<'_>, key: &str, default: f64) -> f64 {
    section.number(key, default, 0.0..=1.0, "a share from 0 to 1 such as 0.1")
}

fn time(section: &Reader<'_>, key: &str, default: Duration) -> Duration {
    let default = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
    span(section, key, default, 0..=DAY)
}

/// The operator's scenarios in a folder: every `*.toml` in it, read and parsed.
fn scenarios(section: &Reader<'_>, folder: &Path, findings: &Findings) -> Vec<(String, String)> {
    let Some(named) = section.text("scenarios") else {
        return Vec::new();
    };
    let path = folder.join(named);
    let problem = |wrong: String, right: &str| {
        findings.problem(Problem {
            path: section.path("scenarios"),
            wrong,
            right: right.into(),
        });
    };
    let files = match crate::scenario::read_folder(&path) {
        Ok(files) => files,
        Err(error) => {
            let right = "write the path of a folder of scenarios (*.toml), from this file's folder";
            problem(error.to_string(), right);
            return Vec::new();
        }
    };
    for (name, text) in &files {
        if let Err(mistakes) = Scenario::parse(text) {
            let report = crate::scenario::report::mistakes(name, &mistakes);
            problem(report.trim().to_owned(), "");
        }
    }
    files
}
