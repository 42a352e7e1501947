//! The stages that an artefact goes through before anything real depends on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fusewire_core::{Description, Target};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::cache::Kept;
use super::contract::Valid;
use super::rehearsal::{PATIENCE, Scene, rehearse};
use super::{Artefact, Cache, Evidence, Refused, Stage, Trust};
use crate::engine::{Compiled, ComponentEngine, Engine as _, Fault, Limits, LoadError, Started};

/// The most bytes of a policy, where nothing else is said. The one built in has a hundredth of it;
/// one that brings an interpreter along has most of it.
pub const LARGEST: usize = 16 << 20;

/// On which terms a policy may run.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Whose policies may run.
    pub trust: Trust,
    /// The configuration that it must accept, a JSON text.
    pub configuration: String,
    /// What it may use.
    pub limits: Limits,
    /// The most bytes that it may have.
    pub largest: usize,
    /// The operator's own scenarios: file names and TOML texts.
    pub scenarios: Vec<(String, String)>,
    /// Where compiled code is kept; `None`: nowhere.
    pub cache: Option<Arc<Cache>>,
}

impl Default for Terms {
    /// Everyone is trusted, the policy's defaults are its configuration, and nothing is kept.
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            configuration: "{}".to_owned(),
            limits: Limits::default(),
            largest: LARGEST,
            scenarios: Vec::new(),
            cache: None,
        }
    }
}

/// A policy that came through all the stages that look at it alone.
pub struct Vetted {
    /// What it was made of.
    pub artefact: Artefact,
    /// The policy, with its configuration, ready to be asked.
    pub engine: ComponentEngine,
    /// What was seen at each stage.
    pub evidence: Vec<Evidence>,
}

/// Takes an artefact through the stages from `digest` to `scenarios`, in that order; `tell` hears
/// what was seen at each as soon as it is over. The work is done on a thread that may block. Where
/// the future is dropped the work goes on to its end, which is bounded, and comes to nothing.
///
/// # Errors
/// It did not come through one of them; nothing after it was done.
pub async fn vet(
    artefact: Artefact,
    terms: &Terms,
    mut tell: impl FnMut(&Evidence) + Send,
) -> Result<Vetted, Refused> {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let vetting = Vetting::new(artefact, terms, sender);
    let handle = Handle::current();
    let work = tokio::task::spawn_blocking(move || vetting.run(&handle));
    let mut told = Vec::new();
    while let Some(evidence) = seen.recv().await {
        tell(&evidence);
        told.push(evidence);
    }
    match work.await {
        Ok(went) => went,
        Err(error) => Err(failed_over(&error, told)),
    }
}

/// Asks a policy who it is: takes an artefact through the stages from `digest` to `start`.
///
/// # Errors
/// It did not come through one of them.
pub async fn describe(artefact: Artefact, terms: &Terms) -> Result<Description, Refused> {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let mut vetting = Vetting::new(artefact, terms, sender);
    let work = tokio::task::spawn_blocking(move || {
        let started = vetting.until_started()?;
        Ok(started.description().clone())
    });
    work.await.unwrap_or_else(|error| {
        let mut told = Vec::new();
        while let Ok(evidence) = seen.try_recv() {
            told.push(evidence);
        }
        Err(failed_over(&error, told))
    })
}

/// A refusal for a panic, of the compiler's, say, at the stage after those that were told: no reason
/// for this host to end.
fn failed_over(error: &JoinError, mut told: Vec<Evidence>) -> Refused {
    let last = Stage::Scenarios;
    let stage = Stage::ALL.get(told.len()).copied().unwrap_or(last);
    let why = format!("this host itself failed over it: {error}");
    let seen = Evidence::of(stage, Err(why), Duration::ZERO);
    told.push(seen.clone());
    Refused {
        stage,
        why: seen.found,
        evidence: told,
    }
}

/// Whom nobody calls: a policy is asked what it looks at there, to see whether it can say.
const NOBODY: &str = "nobody";

/// One artefact on its way.
struct Vetting {
    artefact: Artefact,
    terms: Terms,
    evidence: Vec<Evidence>,
    seen: mpsc::UnboundedSender<Evidence>,
}

impl Vetting {
    fn new(artefact: Artefact, terms: &Terms, seen: mpsc::UnboundedSender<Evidence>) -> Self {
        Self {
            artefact,
            terms: terms.clone(),
            evidence: Vec::new(),
            seen,
        }
    }

    fn run(mut self, handle: &Handle) -> Result<Vetted, Refused> {
        let started = self.until_started()?;
        let engine = self.stage(Stage::Configure, |my| my.configure(started))?;
        self.stage(Stage::Scenarios, |my| my.rehearse(&engine, handle))?;
        Ok(Vetted {
            artefact: self.artefact,
            engine,
            evidence: self.evidence,
        })
    }

    fn until_started(&mut self) -> Result<Started, Refused> {
        self.stage(Stage::Digest, |my| {
            my.terms
                .trust
                .check_digest(&my.artefact)
                .map(|found| ((), found))
        })?;
        self.stage(Stage::Signature, |my| {
            my.terms
                .trust
                .check_signature(&my.artefact)
                .map(|found| ((), found))
        })?;
        let valid = self.stage(Stage::Parse, Self::parse)?;
        self.stage(Stage::World, |_| {
            valid.check_world().map(|found| ((), found))
        })?;
        let compiled = self.stage(Stage::Compile, Self::compile)?;
        self.stage(Stage::Start, |my| my.start(compiled, &valid))
    }

    /// Does the work of a stage, and keeps and tells what was seen.
    fn stage<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&Self) -> Result<(T, String), String>,
    ) -> Result<T, Refused> {
        let began = Instant::now();
        let (came, found) = match work(self) {
            Ok((value, found)) => (Some(value), Ok(found)),
            Err(why) => (None, Err(why)),
        };
        let seen = Evidence::of(stage, found, began.elapsed());
        let why = seen.found.clone();
        self.evidence.push(seen.clone());
        // Nobody may be listening any more.
        let _ = self.seen.send(seen);
        came.ok_or_else(|| Refused {
            stage,
            why,
            evidence: std::mem::take(&mut self.evidence),
        })
    }

    fn parse(&self) -> Result<(Valid, String), String> {
        let valid = Valid::read(&self.artefact, self.terms.largest)?;
        let found = format!(
            "a component of {}, valid to its end",
            in_bytes(valid.facts.size as u64)
        );
        Ok((valid, found))
    }

    fn compile(&self) -> Result<(Compiled, String), String> {
        let Some(cache) = &self.terms.cache else {
            return Ok((self.compile_anew()?, "compiled".to_owned()));
        };
        let digest = self.artefact.digest();
        let before = match cache.get(&digest) {
            Kept::Code(compiled) => {
                return Ok((compiled, "compiled before: taken from the cache".to_owned()));
            }
            Kept::Nothing => "compiled".to_owned(),
            Kept::Unusable(why) => {
                format!("compiled anew, for what the cache has is of no use: {why}")
            }
        };
        let compiled = self.compile_anew()?;
        let found = match cache.put(&digest, &compiled) {
            Ok(()) => format!("{before}; kept in the cache"),
            Err(error) => format!("{before}; not kept in the cache: {error}"),
        };
        Ok((compiled, found))
    }

    fn compile_anew(&self) -> Result<Compiled, String> {
        Compiled::new(self.artefact.bytes()).map_err(|error| error.to_string())
    }

    fn start(&self, compiled: Compiled, valid: &Valid) -> Result<(Started, String), String> {
        let limits = self.terms.limits;
        let (wants, may) = (valid.facts.memory, limits.memory as u64);
        if wants > may {
            return Err(format!(
                "it wants {} of memory at its start, and may have {}",
                in_bytes(wants),
                in_bytes(may)
            ));
        }
        let started = compiled.start(limits).map_err(|error| match error {
            LoadError::Setup(fault) => told("while it started", &fault),
            other => other.to_string(),
        })?;
        let description = started.description();
        let found = format!(
            "{} {}, record schema {}",
            description.name, description.version, description.record_schema
        );
        Ok((started, found))
    }

    fn configure(&self, started: Started) -> Result<(ComponentEngine, String), String> {
        let engine =
            started
                .configured(&self.terms.configuration)
                .map_err(|error| match error {
                    LoadError::Configuration(problems) => {
                        let lines: Vec<String> = problems
                            .iter()
                            .map(|problem| format!("\n  {}", problem))
                            .collect();
                        format!("it does not accept its configuration:{}", lines.concat())
                    }
                    LoadError::Setup(fault) => told("while it was configured", &fault),
                    other => other.to_string(),
                })?;
        engine
            .wanted(&Target::provider(NOBODY))
            .map_err(|fault| told("while it said what it looks at", &fault))?;
        let size = self.terms.configuration.len();
        let found = match self.terms.configuration.trim() {
            "{}" => "it accepts the empty configuration: its defaults hold".to_owned(),
            _ => format!("it accepts its configuration of {size} bytes"),
        };
        Ok((engine, found))
    }

    fn rehearse(&self, engine: &ComponentEngine, handle: &Handle) -> Result<((), String), String> {
        let carried = fusewire_sections::scenarios(self.artefact.bytes())?;
        let given = self.terms.scenarios.iter().cloned();
        let scene = |carried| {
            move |(name, text)| Scene {
                name,
                text,
                carried,
            }
        };
        let scenes: Vec<Scene> = carried
            .into_iter()
            .map(scene(true))
            .chain(given.map(scene(false)))
            .collect();
        let found = handle.block_on(rehearse(engine, &scenes, PATIENCE))?;
        Ok(((), found))
    }
}

/// What a policy did wrong, and when.
fn told(when: &str, fault: &Fault) -> String {
    match fault {
        Fault::Deadline(ms) => format!("it ran for longer than {ms} ms {when}, and was stopped"),
        Fault::Trap(trap) => format!("it trapped {when}: {trap}"),
        Fault::Memory(most) => format!(
            "it wanted more memory {when} than the {} that it may have",
            in_bytes(*most as u64)
        ),
        Fault::Contract(why) => format!("it broke its contract {when}: {why}"),
        Fault::Retired => format!("it was taken away {when}"),
    }
}

/// A number of bytes as people say it.
#[must_use]
pub fn in_bytes(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one decimal")]
    let bytes_float = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.0} KiB", bytes_float / KIB),
        _ => {
            let mib = bytes_float / (KIB * KIB);
            match mib.fract() == 0.0 {
                true => format!("{mib:.0} MiB"),
                false => format!("{mib:.1} MiB"),
            }
        }
    }
}
