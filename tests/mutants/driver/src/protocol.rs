//! A line there, a line back.

use fusewire_core::{
    OverrideError, OverrideOrder, Policy, Suspended, Window,
    store::{KeyValue, StoreError},
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::replay::{Came, until_answered};
use crate::stage::Stage;

/// What cannot be answered: a sentence that says why.
type Fault = String;

/// A policy and its store.
#[derive(Default)]
pub(crate) struct Driver {
    policy: Policy,
    stage: Stage,
}

impl Driver {
    /// Answers one line of the protocol.
    pub(crate) fn answer(&mut self, line: &str) -> String {
        let answer = serde_json::from_str(line)
            .map_err(|error| format!("{line:?} is no JSON: {error}"))
            .and_then(|request: Value| self.perform(&request));
        answer
            .unwrap_or_else(|fault| json!({ "fault": fault }))
            .to_string()
    }

    fn perform(&mut self, request: &Value) -> Result<Value, Fault> {
        let object = request.as_object().filter(|object| object.len() == 1);
        let Some((what, given)) = object.and_then(|object| object.iter().next()) else {
            return Err(format!("{request} is no request with one name"));
        };
        match what.as_str() {
            "prefix" => {
                self.stage.prefix = read(given)?;
                Ok(json!({ "done": true }))
            }
            "configure" => {
                self.stage.begin();
                let problems = self.policy.configure(&read::<String>(given)?);
                Ok(json!({ "problems": problems }))
            }
            "describe" => Ok(json!({ "description": Policy::describe() })),
            "classify" => {
                let (target, observation) = (part(given, "target")?, part(given, "observation")?);
                Ok(json!({ "verdict": self.policy.classify(&target, &observation) }))
            }
            "admit" => {
                let (target, context) = (part(given, "target")?, part(given, "context")?);
                self.ask("admission", |policy, store| {
                    policy.admit(store, &target, &context)
                })
            }
            "settle" => {
                let (permit, ending) = (part(given, "permit")?, part(given, "ending")?);
                let (timing, context) = (part(given, "timing")?, part(given, "context")?);
                self.ask("events", |policy, store| {
                    policy.settle(store, &permit, &ending, &timing, &context)
                })
            }
            "overdue" => {
                let (permit, context) = (part(given, "permit")?, part(given, "context")?);
                self.ask("events", |policy, store| {
                    policy.overdue(store, &permit, &context)
                })
            }
            "inspect" => {
                let (target, context) = (part(given, "target")?, part(given, "context")?);
                self.ask("states", |policy, store| {
                    policy.inspect(store, &target, &context)
                })
            }
            "set-order" => self.order(given),
            "explain" => {
                let (domain, context) = (part::<String>(given, "domain")?, part(given, "context")?);
                self.operate("facts", |policy, store| {
                    policy.explain_domain(store, &domain, &context)
                })
            }
            "next" => {
                let (progress, verdict) = (part(given, "progress")?, part(given, "verdict")?);
                let context = part(given, "context")?;
                self.ask("step", |policy, _| {
                    policy.next(&progress, &verdict, &context)
                })
            }
            "stage" => {
                self.stage.set_up(part(given, "up")?);
                Ok(json!({ "done": true }))
            }
            "lose-counter" => {
                self.stage.lose_counter(&read::<String>(given)?);
                Ok(json!({ "done": true }))
            }
            "get" => stored("values", self.stage.behind.get(&read::<Vec<_>>(given)?)),
            "swap" => {
                let (key, ttl_ms) = (part::<String>(given, "key")?, part(given, "ttl-ms")?);
                let expected: Option<Vec<u8>> = part(given, "expected")?;
                let replacement: Option<Vec<u8>> = part(given, "replacement")?;
                let swapped = self.stage.behind.swap(
                    &key,
                    expected.as_deref(),
                    replacement.as_deref(),
                    ttl_ms,
                );
                stored("swapped", swapped)
            }
            "count" => {
                let windows: Vec<Window> = read(given)?;
                stored("tallies", self.stage.behind.count(&windows))
            }
            other => Err(format!("`{other}` is not in the protocol")),
        }
    }

    /// Makes one call of the policy that may touch the store.
    fn ask<T: Serialize>(
        &mut self,
        name: &str,
        call: impl Fn(&Policy, &mut dyn KeyValue) -> Result<T, Suspended>,
    ) -> Result<Value, Fault> {
        let policy = &self.policy;
        let answer = until_answered(&mut self.stage, |store| match call(policy, store) {
            Ok(answer) => Came::Answer(answer),
            Err(suspended) => Came::Suspended(suspended.answered),
        })?;
        Ok(json!({ name: answer, "operations": self.stage.take_operations() }))
    }

    fn order(&mut self, given: &Value) -> Result<Value, Fault> {
        let (domain, context) = (part::<String>(given, "domain")?, part(given, "context")?);
        let order: Option<OverrideOrder> = part(given, "order")?;
        self.operate("events", |policy, store| {
            policy.order(store, &domain, order.as_ref(), &context)
        })
    }

    /// Makes one call of an operator.
    fn operate<T: Serialize>(
        &mut self,
        name: &str,
        call: impl Fn(&Policy, &mut dyn KeyValue) -> Result<T, OverrideError>,
    ) -> Result<Value, Fault> {
        let policy = &self.policy;
        let answer = until_answered(&mut self.stage, |store| match call(policy, store) {
            Err(OverrideError::Suspended(suspended)) => Came::Suspended(suspended.answered),
            answer => Came::Answer(answer),
        })?;
        let operations = self.stage.take_operations();
        Ok(match answer {
            Ok(answer) => json!({ name: answer, "operations": operations }),
            Err(error) => json!({ "override-error": error, "operations": operations }),
        })
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    T::deserialize(value).map_err(|error| format!("{value} cannot be read: {error}"))
}

fn part<T: DeserializeOwned>(given: &Value, name: &str) -> Result<T, Fault> {
    match given.get(name) {
        Some(value) => read(value),
        None => Err(format!("there is no `{name}` in {given}")),
    }
}

/// What the store itself answers.
fn stored(name: &str, answer: Result<impl Serialize, StoreError>) -> Result<Value, Fault> {
    Ok(match answer {
        Ok(answer) => json!({ name: answer }),
        Err(StoreError::Refused(why)) => json!({ "error": { "refused": why } }),
        Err(StoreError::Unavailable | StoreError::Pending) => json!({ "error": "unavailable" }),
    })
}
