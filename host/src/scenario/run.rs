//! `fusewire test`: plays scenarios for those who wrote them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use fusewire_core::Problem;

use super::driver::{Driver, DriverError};
use super::files::{scenario_files, with_path};
use super::play::{Played, play, play_through};
use super::report;
use super::script::Scenario;
use crate::engine::{BUILT_IN, ComponentEngine, Limits, LoadError};
use crate::store::{MemoryStore, RedisStore, Store};

/// What `fusewire test` is asked to do.
#[derive(Debug, Clone, Default)]
pub struct TestOptions {
    /// Scenarios, and directories of scenarios (`*.toml`).
    pub files: Vec<PathBuf>,
    /// Whether to play the scenarios that the policy carries, before those.
    pub carried: bool,
    /// The policy to test, a component; `None`: the one that is built in.
    pub policy: Option<PathBuf>,
    /// A Redis to play on as well, by its URL. The keys of scenarios begin with `fusewire-test`,
    /// and vanish by themselves within minutes.
    pub redis: Option<String>,
    /// Other runtimes to play them in as well: commands or URLs of drivers
    /// ([`driver`](super::driver)).
    pub through: Vec<String>,
    /// Whether to tell the whole story of each scenario.
    pub verbose: bool,
}

/// Plays every scenario, and tells `out` what came of each. Answers whether all passed.
///
/// # Errors
/// The policy cannot be loaded, a driver cannot be started, a file or directory cannot be read, the
/// Redis cannot be reached, or `out` cannot be written to.
/// What is wrong inside a scenario is no error, but a failed scenario.
pub async fn run(options: &TestOptions, out: &mut impl Write) -> io::Result<bool> {
    let redis = match &options.redis {
        Some(url) => Some(Arc::new(
            RedisStore::connect(url).await.map_err(io::Error::other)?,
        )),
        None => None,
    };
    let policy = load(options.policy.as_deref()).map_err(io::Error::other)?;
    let drivers: Vec<(&str, Driver)> = options
        .through
        .iter()
        .map(|place| Ok((place.as_str(), Driver::at(place)?)))
        .collect::<Result<_, DriverError>>()
        .map_err(io::Error::other)?;
    let (mut passed, mut failed) = (0u32, 0u32);
    for Script { name, path, text } in scripts(options)? {
        let prefix = unique_prefix();
        let mut stores: Vec<(&str, Arc<dyn Store>)> =
            vec![("memory", Arc::new(MemoryStore::new()))];
        if let Some(redis) = &redis {
            stores.push(("Redis", Arc::clone(redis) as Arc<dyn Store>));
        }
        let result = one(&text, &path, &policy, &prefix, &stores, &drivers).await;
        match result {
            Ok((scenario, played)) => {
                passed += 1;
                let steps = scenario.len();
                writeln!(
                    out,
                    "ok      {name}  {steps} step{}",
                    if steps == 1 { "" } else { "s" }
                )?;
                if options.verbose {
                    writeln!(out, "        {}", scenario.title)?;
                    for line in &played.story {
                        writeln!(out, "    {line}")?;
                    }
                }
            }
            Err(why) => {
                failed += 1;
                writeln!(out, "FAILED  {name}\n{}", why.trim_end())?;
            }
        }
        out.flush()?;
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(failed == 0)
}

/// A scenario that is to be played.
struct Script {
    /// What it is called in the report.
    name: String,
    /// Where it is, for what there is to say of it.
    path: String,
    text: String,
}

/// All that are to be played, in order.
fn scripts(options: &TestOptions) -> io::Result<Vec<Script>> {
    let mut scripts = Vec::new();
    if options.carried {
        scripts = carried(options.policy.as_deref())?;
        if scripts.is_empty() && options.files.is_empty() {
            let why = "the policy carries no scenario: name some to play";
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
    }
    for file in scenario_files(&options.files)? {
        scripts.push(Script {
            name: stem(&file),
            path: file.display().to_string(),
            text: std::fs::read_to_string(&file).map_err(|error| with_path(&file, &error))?,
        });
    }
    Ok(scripts)
}

/// The scenarios that a policy carries.
fn carried(policy: Option<&Path>) -> io::Result<Vec<Script>> {
    let read;
    let bytes = match policy {
        Some(path) => {
            read = std::fs::read(path).map_err(|error| with_path(path, &error))?;
            read.as_slice()
        }
        None => BUILT_IN,
    };
    let scenarios = fusewire_sections::scenarios(bytes).map_err(io::Error::other)?;
    let script = |(name, text): (String, String)| Script {
        path: format!("carried:{name}"),
        name: stem(Path::new(&name)),
        text,
    };
    Ok(scenarios.into_iter().map(script).collect())
}

fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Plays one scenario on each store and through each driver. The error is what there is to read
/// about its failure.
async fn one(
    text: &str,
    path: &str,
    policy: &ComponentEngine,
    prefix: &str,
    stores: &[(&str, Arc<dyn Store>)],
    drivers: &[(&str, Driver)],
) -> Result<(Scenario, Played), String> {
    let scenario = Scenario::parse(text).map_err(|error| report::mistakes(path, &error))?;
    let configured = policy.with_configuration(&scenario.configuration(prefix));
    let engine = configured.map_err(|error| match error {
        LoadError::Configuration(problems) => misconfigured(path, &scenario, &problems),
        other => format!("  {path}: {other}\n"),
    })?;
    let mut agreed = Agreed { path, first: None };
    for (name, store) in stores {
        let played = play(&scenario, &engine, Arc::clone(store), prefix).await;
        agreed.also(name, played)?;
    }
    for (name, driver) in drivers {
        let played = play_through(&scenario, driver, prefix).await;
        agreed.also(
            name,
            played.map_err(|error| format!("  on {name}: {error}\n"))?,
        )?;
    }
    match agreed.first {
        Some((_, played)) => Ok((scenario, played)),
        None => Err("  there is no store to play on\n".into()),
    }
}

/// What a scenario came to, the same wherever it was played so far.
struct Agreed<'a> {
    path: &'a str,
    first: Option<(&'a str, Played)>,
}

impl<'a> Agreed<'a> {
    /// Takes in what it came to in another place. The error is what there is to read.
    fn also(&mut self, name: &'a str, played: Played) -> Result<(), String> {
        let path = self.path;
        if !played.failures.is_empty() {
            return Err(format!("  on {name}\n{}", report::failures(path, &played)));
        }
        let Some((first_name, first)) = &self.first else {
            self.first = Some((name, played));
            return Ok(());
        };
        match report::log_difference((first_name, &first.log), (name, &played.log)) {
            Some(difference) => Err(format!("  {path}: two runs do not agree\n{difference}")),
            None => Ok(()),
        }
    }
}

/// The policy, compiled once; each scenario configures it anew.
fn load(policy: Option<&Path>) -> Result<ComponentEngine, LoadError> {
    const DEFAULTS: &str = "{}";
    match policy {
        Some(path) => ComponentEngine::from_file(path, DEFAULTS, Limits::default()),
        None => ComponentEngine::built_in(DEFAULTS),
    }
}

/// What the policy does not accept in a scenario's configuration, each where it was written.
fn misconfigured(path: &str, scenario: &Scenario, problems: &[Problem]) -> String {
    let mut lines: Vec<_> = problems
        .iter()
        .map(|problem| {
            let place = scenario.place_in_config(&problem.path);
            let right = if problem.right.is_empty() {
                String::new()
            } else {
                format!("; {}", problem.right)
            };
            (
                place,
                format!("  {path}:{place}: {}{right}\n", problem.wrong),
            )
        })
        .collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// A prefix that no other run on the same Redis has.
fn unique_prefix() -> String {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!(
        "fusewire-test-{}-{:x}",
        std::process::id(),
        since_epoch.as_nanos()
    )
}
