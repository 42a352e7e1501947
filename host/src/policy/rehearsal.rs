//! Playing scenarios before a policy serves: those that it carries, and the operator's own.
//!
//! They cannot hang the host. A policy carries a limited number of them
//! ([`fusewire_sections::MOST`], [`fusewire_sections::LARGEST`]), a scenario's log is limited, each
//! call of the policy has its deadline, and all of them together have [`PATIENCE`].

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fusewire_core::{Description, Observation, Suspended, Target, Verdict, Wanted};

use crate::engine::{Answer, Call, ComponentEngine, Engine, Fault, LoadError, Tape};
use crate::scenario::{Failure, Scenario, play};
use crate::store::MemoryStore;

/// How long all scenarios may take together: they take milliseconds each.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What the policy's keys begin with while a scenario is played.
const PREFIX: &str = "fusewire-rehearsal";

/// How many scenarios that failed are told: the first ones tell enough.
const MOST_TOLD: usize = 5;

/// A scenario to play.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether the policy carries it; otherwise it is the operator's.
    pub carried: bool,
}

/// Plays scenarios, each on a fresh memory store: what was found. Keeps the calling thread; the
/// future never waits for anything else.
///
/// # Errors
/// Some did not come out as they say, or they took longer than `patience` together.
pub async fn rehearse(
    policy: &ComponentEngine,
    scenes: &[Scene],
    patience: Duration,
) -> Result<String, String> {
    let until = Instant::now() + patience;
    let mut failed = Vec::new();
    for (number, scene) in scenes.iter().enumerate() {
        let mut went = one(policy, scene, until).await;
        if let Err(Failed { late: true, .. }) = went {
            // A busy machine makes a call late now and then, and the policy is not to blame for
            // that. It is late again where it is.
            went = one(policy, scene, until).await;
        }
        if Instant::now() >= until {
            return Err(format!(
                "the scenarios took longer than {} s together: only {number} of {} were played, and \
                 `{}` was under way",
                patience.as_secs(),
                scenes.len(),
                scene.name
            ));
        }
        if let Err(Failed { why, .. }) = went {
            let whose = if scene.carried {
                "its own"
            } else {
                "the operator's"
            };
            failed.push(format!("{whose} `{}`: {why}", scene.name));
        }
    }
    if failed.is_empty() {
        return Ok(passed(scenes));
    }
    let more = failed.len().saturating_sub(MOST_TOLD);
    let mut told = format!("{} of {} scenarios failed", failed.len(), scenes.len());
    for line in failed.iter().take(MOST_TOLD) {
        let _ = write!(told, "\n  {line}");
    }
    if more > 0 {
        let _ = write!(told, "\n  and {more} more");
    }
    Err(told)
}

fn passed(scenes: &[Scene]) -> String {
    let carried = scenes.iter().filter(|scene| scene.carried).count();
    match (carried, scenes.len() - carried) {
        (0, 0) => "none: it carries none, and none are given".to_owned(),
        (own, 0) => format!("{own} carried, all as they say"),
        (0, given) => format!("{given} of the operator's, all as they say"),
        (own, given) => format!("{own} carried and {given} of the operator's, all as they say"),
    }
}

/// A scenario that did not come out as it says.
struct Failed {
    /// The first thing that was not as it should be, in words.
    why: String,
    /// Whether a call was stopped at its deadline.
    late: bool,
}

/// Plays one.
async fn one(policy: &ComponentEngine, scene: &Scene, until: Instant) -> Result<(), Failed> {
    let (scenario, engine) =
        configured(policy, scene).map_err(|why| Failed { why, late: false })?;
    let hurried = Hurried {
        engine,
        until,
        late: AtomicBool::new(false),
    };
    let played = play(&scenario, &hurried, Arc::new(MemoryStore::new()), PREFIX).await;
    played.failures.first().map_or(Ok(()), |first| {
        let Failure {
            place,
            at,
            doing,
            expected,
            found,
            ..
        } = first;
        Err(Failed {
            why: format!("line {place}, at {at} {doing}: expected {expected}, found {found}"),
            late: hurried.late.load(Ordering::Relaxed),
        })
    })
}

/// A scenario, and the policy as it is configured there.
fn configured(
    policy: &ComponentEngine,
    scene: &Scene,
) -> Result<(Scenario, ComponentEngine), String> {
    let scenario = Scenario::parse(&scene.text).map_err(|error| match error.0.as_slice() {
        [] => "it cannot be read".to_owned(),
        [first, ..] => format!("it cannot be read: {first}"),
    })?;
    let engine = policy.with_configuration(&scenario.configuration(PREFIX));
    let engine = engine.map_err(|error| match error {
        LoadError::Configuration(problems) => {
            let first = problems.first().map(ToString::to_string);
            format!(
                "the policy does not accept its configuration: {}",
                first.unwrap_or_default()
            )
        }
        other => other.to_string(),
    })?;
    Ok((scenario, engine))
}

/// An engine that answers nothing more when the time is over: what ends a story that goes on.
struct Hurried {
    engine: ComponentEngine,
    until: Instant,
    /// Whether a call was stopped at its deadline.
    late: AtomicBool,
}

impl Hurried {
    /// Makes a call, where there is time left.
    fn in_time<T>(&self, call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if Instant::now() >= self.until {
            return Err(Fault::Contract("the scenarios' time is over".to_owned()));
        }
        let answer = call();
        if let Err(Fault::Deadline(_)) = answer {
            self.late.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl Engine for Hurried {
    fn describe(&self) -> &Description {
        self.engine.describe()
    }

    fn wanted(&self, target: &Target) -> Result<Arc<Wanted>, Fault> {
        self.in_time(|| self.engine.wanted(target))
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        self.in_time(|| self.engine.classify(target, observation))
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        self.in_time(|| self.engine.run(call, tape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn scenarios_that_go_on_for_too_long_are_ended_and_named() {
        let policy = ComponentEngine::built_in("{}").expect("the policy loads");
        let scene = Scene {
            name: "long.toml".to_owned(),
            text: "title = \"Long\"\n[[step]]\nadmit = \"a\"\ntimes = 10_000\n".to_owned(),
            carried: true,
        };
        let scenes = [scene.clone(), scene];
        let why = rehearse(&policy, &scenes, Duration::ZERO).await;
        assert_eq!(
            why.expect_err("there was no time"),
            "the scenarios took longer than 0 s together: only 0 of 2 were played, and `long.toml` \
             was under way"
        );
    }
}
