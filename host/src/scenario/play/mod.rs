//! Plays a scenario over an engine and a store, and keeps the complete log of decisions.
//!
//! | module | subject |
//! |---|---|
//! | `turn` | one repetition of one step: what is noted of it |
//! | `breaker` | admit, settle, plan: what the callers of the fleet do |
//! | `operator` | orders, states and records, and what befalls a store |

mod breaker;
mod operator;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

use fusewire_core::{Domain, Permit, Target, Verdict};

use self::turn::Turn;
use super::driver::{Driver, DriverError};
use super::runtime::{Here, Runtime};
use super::script::{Action, Scenario, Step};
use crate::engine::{Answer, Call, Engine};
use crate::store::{Store, StoreError};
use crate::toml_places::Place;

/// What came of playing a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// Every decision with everything in it, one JSON line each; the same bytes wherever the same
    /// policy is played.
    pub log: String,
    /// The same as a story, one line a decision.
    pub story: Vec<String>,
    /// The expectations that did not hold, in order.
    pub failures: Vec<Failure>,
}

/// An expectation that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where the expectation was written.
    pub place: Place,
    /// When, by the story: "1m30s".
    pub at: String,
    /// What was done: "a calls geocoder".
    pub doing: String,
    /// What was expected of it.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// How many lines of the story come before it.
    pub after: usize,
}

/// Plays a scenario.
///
/// The engine must have been given [`Scenario::configuration`] with this prefix, and the store
/// must have no key that begins with it. Time and random bits come from the scenario: nothing
/// waits but for the store.
pub async fn play(
    scenario: &Scenario,
    engine: &dyn Engine,
    store: Arc<dyn Store>,
    prefix: &str,
) -> Played {
    play_on(scenario, &Here::new(engine, store, prefix), prefix).await
}

/// Plays a scenario over the policy and the store of a [`Driver`].
///
/// # Errors
/// The driver does not accept the scenario's configuration, or does not answer.
pub async fn play_through(
    scenario: &Scenario,
    driver: &Driver,
    prefix: &str,
) -> Result<Played, DriverError> {
    let there = driver
        .begin(&scenario.configuration(prefix), prefix)
        .await?;
    Ok(play_on(scenario, &there, prefix).await)
}

async fn play_on<R: Runtime>(scenario: &Scenario, runtime: &R, prefix: &str) -> Played {
    let mut player = Player {
        scenario,
        runtime,
        prefix,
        admitted: BTreeMap::new(),
        played: Played {
            log: String::new(),
            story: Vec::new(),
            failures: Vec::new(),
        },
    };
    'story: for (number, step) in scenario.steps.iter().enumerate() {
        for turn in 0..step.times {
            if let Err(Stopped) = player.turn(number, step, turn).await {
                break 'story;
            }
        }
    }
    player.played
}

/// The most bytes of a scenario's log. Those that people write have some hundred lines; one that a
/// policy carries comes from anywhere, and must not fill this process's memory.
const LONGEST_LOG: usize = 64 << 20;

/// The story cannot go on; a failure says why.
struct Stopped;

/// A call under way.
struct Under {
    /// `None`: it was refused.
    permit: Option<Permit>,
    verdict: Option<Verdict>,
    fingerprint: Option<u64>,
    overdue: bool,
}

struct Player<'a, R> {
    scenario: &'a Scenario,
    runtime: &'a R,
    prefix: &'a str,
    admitted: BTreeMap<String, Under>,
    played: Played,
}

impl<R: Runtime> Player<'_, R> {
    async fn turn(&mut self, number: usize, step: &Step, turn: u64) -> Result<(), Stopped> {
        let mut now = Turn::begin(self.scenario, number, step, turn);
        let went = match self.played.log.len() > LONGEST_LOG {
            true => Err(self.fault(&mut now, "the log has become too long to go on")),
            false => self.act(&mut now).await,
        };
        let operations = self.runtime.take_operations();
        now.end(self.scenario, operations, &mut self.played);
        went
    }

    async fn act(&mut self, now: &mut Turn<'_>) -> Result<(), Stopped> {
        let step = now.step;
        match &step.action {
            Action::Admit(asking) => self.admit(now, asking).await,
            Action::Settle { name, ended } => self.settle(now, name, ended).await,
            Action::Overdue { name } => self.overdue(now, name).await,
            Action::Explain { domain, expect } => self.explain(now, domain, expect).await,
            Action::Call(asking, ended) => self.call(now, asking, ended.as_ref()).await,
            Action::Forge(permit, ended) => self.forge(now, permit, ended).await,
            Action::Next(planned) => self.next(now, planned).await,
            Action::Order {
                domain,
                order,
                expect,
            } => self.order(now, domain, order.as_ref(), *expect).await,
            Action::Inspect {
                target,
                domain,
                expect,
            } => self.inspect(now, target, domain, expect).await,
            Action::Record { domain, expect } => self.record(now, domain, expect).await,
            Action::Store { up } => {
                now.doing = format!("the store {}", if *up { "is back" } else { "goes away" });
                let set = self.runtime.set_up(*up).await;
                set.map_err(|why| self.fault(now, &why))
            }
            Action::Lose { domain, what } => self.lose(now, domain, *what).await,
            Action::Put { domain, text } => self.put(now, domain, text).await,
        }
    }

    /// Puts the records of a target's domains into the log.
    async fn look_at(&self, now: &mut Turn<'_>, target: &Target) -> Result<(), Stopped> {
        let domains = target.domains().unwrap_or_default();
        let names: Vec<String> = domains.iter().map(Domain::name).collect();
        self.look(now, &names).await
    }

    /// Puts the records of these domains into the log, as they are stored.
    async fn look(&self, now: &mut Turn<'_>, names: &[String]) -> Result<(), Stopped> {
        let domains: Vec<Domain> = names
            .iter()
            .filter_map(|name| Domain::parse(name).ok())
            .collect();
        let keys = domains
            .iter()
            .map(|domain| domain.record_key(self.prefix))
            .collect();
        let found = self.runtime.peek(keys).await;
        let found = self.stored(now, found)?;
        for (domain, bytes) in domains.iter().zip(found) {
            let text = bytes
                .as_deref()
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            now.line.records.insert(domain.name(), text);
        }
        Ok(())
    }

    async fn ask(&self, now: &mut Turn<'_>, call: Call) -> Result<Answer, Stopped> {
        let answer = self.runtime.ask(call).await;
        answer.map_err(|why| self.fault(now, &why))
    }

    fn domain<'n>(&self, now: &mut Turn<'_>, name: &'n str) -> Result<Domain<'n>, Stopped> {
        Domain::parse(name).map_err(|why| self.fault(now, &why))
    }

    /// What the store answered to the runner itself.
    fn stored<T>(&self, now: &mut Turn<'_>, answer: Result<T, StoreError>) -> Result<T, Stopped> {
        answer.map_err(|error| self.fault(now, &error.to_string()))
    }

    fn confused(&self, now: &mut Turn<'_>) -> Stopped {
        self.fault(now, "the engine answered another question")
    }

    fn fault(&self, now: &mut Turn<'_>, why: &str) -> Stopped {
        now.line.say("fault", &why);
        now.differ("", Some(("a decision".into(), why.to_owned())));
        Stopped
    }
}

/// A target as the format writes it.
fn name(target: &Target) -> String {
    let mut text = target.provider.clone();
    for (mark, part) in [('@', &target.account), ('/', &target.operation)] {
        if let Some(part) = part {
            text.push(mark);
            text.push_str(part);
        }
    }
    text
}
