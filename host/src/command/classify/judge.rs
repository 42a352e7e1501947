//! The policy, with the settings that an input asks for.

use std::collections::BTreeMap;
use std::path::Path;

use fusewire::cases::{Assigned, Input, Setup, Whom, general_profile};
use fusewire::core::classify::{Explanation, profile};
use fusewire::core::config::reader::close;
use fusewire::core::{Policy, Problem, Target, Verdict};
use fusewire::engine::{ComponentEngine, Engine, Limits, LoadError};
use serde_json::Value;

use crate::command::settings::{Settings, empty};

/// The most setups that are kept ready. A file has a few; one that has a new one in each line is
/// judged all the same, only slower.
const KEPT: usize = 256;

/// A policy, and what it was set up with so far.
pub(super) struct Judge {
    base: Value,
    /// The component, without which it is the built-in policy.
    component: Option<ComponentEngine>,
    ready: BTreeMap<Setup, Ready>,
}

/// A policy that is set up.
struct Ready {
    policy: Made,
    target: Target,
}

enum Made {
    Core(Box<Policy>),
    Component(Box<ComponentEngine>),
}

/// A verdict, and how it came about.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// Not known of a component.
    pub(super) explanation: Option<Explanation>,
}

impl Judge {
    /// Takes a configuration, which must be good, and a component. Without one it is the component
    /// of the configuration, or else the built-in policy.
    pub(super) fn new(
        settings: Option<Settings>,
        component: Option<&Path>,
    ) -> Result<Self, Vec<String>> {
        let named = settings.as_ref().and_then(|read| read.component.clone());
        let file = component.map(Path::to_owned).or(named);
        let base = settings
            .as_ref()
            .map_or_else(empty, |read| read.value.clone());
        let component = match file {
            None => {
                let wrong = settings.map(|read| read.problems()).unwrap_or_default();
                if !wrong.is_empty() {
                    return Err(wrong);
                }
                None
            }
            Some(file) => Some(
                ComponentEngine::from_file(&file, &base.to_string(), Limits::default()).map_err(
                    |error| match (error, settings) {
                        (LoadError::Configuration(problems), Some(read)) => read.located(problems),
                        (error, _) => vec![format!("fusewire: {}: {error}", file.display())],
                    },
                )?,
            ),
        };
        Ok(Self {
            base,
            component,
            ready: BTreeMap::new(),
        })
    }

    /// What is wrong with a name, where nothing has it. What profiles a component has it knows
    /// alone.
    pub(super) fn unknown(&self, whom: &Whom) -> Option<String> {
        let own = |table: &str| {
            let table = self.base.get(table).and_then(Value::as_object);
            table
                .into_iter()
                .flat_map(|table| table.keys().map(String::as_str))
        };
        match whom {
            Whom::Provider(name) if !own("providers").any(|known| known == name) => {
                let known: Vec<&str> = own("providers").collect();
                Some(match known.is_empty() {
                    true => format!("there is no provider {name:?}; the configuration has none"),
                    false => format!(
                        "there is no provider {name:?}; known are {}",
                        known.join(", ")
                    ),
                })
            }
            Whom::Profile(name) if self.component.is_none() => {
                let known = || own("profiles").chain(profile::built_in().map(|(known, _)| known));
                if known().any(|known| known == name) {
                    return None;
                }
                Some(match known().find(|known| close(known, name)) {
                    Some(near) => format!("there is no profile {name:?}; did you mean {near:?}?"),
                    None => format!(
                        "there is no profile {name:?}; `fusewire profile list` has those that are built in"
                    ),
                })
            }
            _ => None,
        }
    }

    /// By whose settings that is, in JSON and for people.
    pub(super) fn named<'n>(&'n self, whom: &'n Whom) -> (&'static str, &'n str) {
        match whom {
            Whom::General => ("profile", general_profile(&self.base)),
            Whom::Profile(name) => ("profile", name),
            Whom::Provider(name) => ("provider", name),
        }
    }

    /// Judges an input.
    pub(super) fn judge(&mut self, input: &Input, explain: bool) -> Result<Judged, String> {
        let Ready { policy, target } = self.ready(&input.setup)?;
        let (target, observation) = (&*target, &input.observation);
        match policy {
            Made::Core(policy) if explain => {
                let explanation = policy.explain(target, observation);
                Ok(Judged {
                    verdict: explanation.verdict.clone(),
                    explanation: Some(explanation),
                })
            }
            Made::Core(policy) => Ok(Judged {
                verdict: policy.classify(target, observation),
                explanation: None,
            }),
            Made::Component(engine) => Ok(Judged {
                verdict: engine
                    .classify(target, observation)
                    .map_err(|fault| fault.to_string())?,
                explanation: None,
            }),
        }
    }

    fn ready(&mut self, setup: &Setup) -> Result<&mut Ready, String> {
        if !self.ready.contains_key(setup) {
            if let Some(wrong) = self.unknown(&setup.whom) {
                return Err(wrong);
            }
            if self.ready.len() >= KEPT {
                self.ready.clear();
            }
            let made = self.made(setup)?;
            self.ready.insert(setup.clone(), made);
        }
        self.ready
            .get_mut(setup)
            .ok_or_else(|| "the policy is not set up".to_owned())
    }

    fn made(&self, setup: &Setup) -> Result<Ready, String> {
        let assigned = Assigned::new(&self.base, [setup]);
        let configuration = assigned.configuration.to_string();
        let policy = match &self.component {
            Some(component) => {
                let made = component.with_configuration(&configuration);
                Made::Component(Box::new(made.map_err(|error| error.to_string())?))
            }
            None => {
                let mut policy = Policy::default();
                let problems = policy.configure(&configuration);
                if !problems.is_empty() {
                    return Err(joined(&problems));
                }
                Made::Core(Box::new(policy))
            }
        };
        Ok(Ready {
            policy,
            target: assigned.target(setup),
        })
    }
}

fn joined(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}
