//! One of the policies that are measured.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use fusewire::core::{
    Context, Decision, Ending, Observation, Permit, Progress, Response, Target, Timing, Verdict,
};
use fusewire::engine::{Answer, Call, Compiled, ComponentEngine, Engine, Limits, Tape};
use fusewire::policy::Artefact;
use fusewire::store::{MemoryStore, Store};

use super::Source;

/// When it is, in ms since the Unix epoch: any time.
const NOW: u64 = 1_800_000_000_000;

/// What each may use: what takes too long is measured, and not stopped, for a busy machine takes its
/// time too.
fn limits() -> Limits {
    Limits {
        deadline: Duration::from_secs(60),
        ..Limits::default()
    }
}

/// A policy with a store of its own.
pub(super) struct Side {
    /// As it is called in the table.
    pub(super) name: String,
    artefact: Artefact,
    configuration: String,
    engine: ComponentEngine,
    store: Arc<dyn Store>,
    prefix: Arc<str>,
    target: Target,
}

impl Side {
    pub(super) fn new(source: &Source, configuration: &str) -> anyhow::Result<Self> {
        let artefact = source.read()?;
        let engine = Compiled::new(artefact.bytes())
            .and_then(|compiled| compiled.start(limits()))
            .and_then(|started| started.configured(configuration))
            .with_context(|| source.to_string())?;
        Ok(Self {
            name: source.name(),
            artefact,
            configuration: configuration.to_owned(),
            engine,
            store: Arc::new(MemoryStore::new()),
            prefix: "fusewire".into(),
            target: Target::provider("bench"),
        })
    }

    pub(super) fn compile(&self) -> anyhow::Result<()> {
        Compiled::new(self.artefact.bytes())?;
        Ok(())
    }

    /// Makes a first instance of what is compiled, and configures it.
    pub(super) fn instantiate(&self) -> anyhow::Result<()> {
        let compiled = self.engine.compiled().clone();
        compiled.start(limits())?.configured(&self.configuration)?;
        Ok(())
    }

    /// `None`: the policy refuses.
    pub(super) fn admit(&self) -> anyhow::Result<Option<Permit>> {
        match self.run(
            "admit",
            &Call::Admit(self.target.clone(), Context::at(NOW, 1)),
        )? {
            Answer::Admission(admission) => Ok(match admission.decision {
                Decision::Allowed(permit) => Some(permit),
                Decision::Refused(_) => None,
            }),
            other => bail!("{}: `admit` answered {other:?}", self.name),
        }
    }

    pub(super) fn classify(&self) -> anyhow::Result<Verdict> {
        let seen = Observation::response(Response::status(200), NOW);
        let verdict = self.engine.classify(&self.target, &seen);
        verdict.with_context(|| format!("{}: `classify`", self.name))
    }

    pub(super) fn settle(&self, permit: Permit, verdict: Verdict) -> anyhow::Result<()> {
        let ending = Ending::Judged(verdict);
        self.run(
            "settle",
            &Call::Settle(permit, ending, Timing::default(), Context::at(NOW, 2)),
        )?;
        Ok(())
    }

    pub(super) fn next(&self, verdict: Verdict) -> anyhow::Result<()> {
        let progress = Progress {
            target: self.target.clone(),
            attempts: 1,
            attempts_in_all: 1,
            providers_left: 1,
            probe: false,
            deadline_ms: None,
        };
        self.run("next", &Call::Next(progress, verdict, Context::at(NOW, 3)))?;
        Ok(())
    }

    fn run(&self, export: &str, call: &Call) -> anyhow::Result<Answer> {
        let mut tape = Tape::new(Arc::clone(&self.store), Arc::clone(&self.prefix));
        let answer = self.engine.run(call, &mut tape);
        let answer = answer.with_context(|| format!("{}: `{export}`", self.name))?;
        let Ok(answer) = answer else {
            bail!(
                "{}: `{export}` was suspended though its store had answered",
                self.name
            );
        };
        Ok(answer)
    }
}
