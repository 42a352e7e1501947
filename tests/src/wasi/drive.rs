//! A policy and a store, driven by JSON: the protocol of `fusewire::scenario::driver`.
//!
//! The component is the policy with the adapter plugged in. It runs in one of two ways:
//!
//! - [`Drive::staged`]: on wasmtime's own `wasi:keyvalue`, as it is. The stage that scenarios need
//!   stands between the two inside the component, which also lets the store be asked past it.
//! - [`Drive::shipped`]: the component that is shipped, which has nothing for tests in it. Its store
//!   is asked past it through an adapter of its own on the same contents, and goes away and forgets in
//!   earnest. Operations are not counted then, since what passes between policy and adapter is
//!   theirs alone, and lifetimes are as the policy asks for.

use std::path::Path;
use std::slice;

use serde_json::{Map, Value, json};

use super::artefacts;
use super::keyvalue::Contents;
use super::running::{Fault, Running};

const LIFECYCLE: &str = "fusewire:policy/lifecycle@0.1.2";
const CLASSIFIER: &str = "fusewire:policy/classifier@0.1.2";
const BREAKER: &str = "fusewire:policy/breaker@0.1.2";
const ATTEMPTS: &str = "fusewire:policy/attempts@0.1.2";
const OPERATOR: &str = "fusewire:policy/operator@0.1.2";
const PLANNER: &str = "fusewire:policy/planner@0.1.2";
const KEYVALUE: &str = "fusewire:policy/keyvalue@0.1.2";
const STAGE: &str = "fusewire:wasi/stage@0.1.0";

/// A policy and a store.
pub struct Drive {
    policy: Running,
    /// Where the component has no stage: another way to its store.
    aside: Option<Aside>,
    prefix: String,
}

/// A store that a policy has, seen past it.
struct Aside {
    adapter: Running,
    contents: Contents,
    up: bool,
}

impl Drive {
    /// The policy with a stage, alone on wasmtime's own `wasi:keyvalue`.
    ///
    /// # Errors
    /// It does not run, or has no stage.
    pub fn staged(path: impl AsRef<Path>) -> wasmtime::Result<Self> {
        let mut policy = Running::alone(path.as_ref())?;
        if !policy.exports(STAGE) {
            wasmtime::bail!("it does not export `{STAGE}`");
        }
        Ok(Self {
            policy,
            aside: None,
            prefix: String::new(),
        })
    }

    /// The policy as it is shipped, on contents that an adapter beside it shares.
    ///
    /// # Errors
    /// One of them does not run.
    pub fn shipped(path: impl AsRef<Path>) -> wasmtime::Result<Self> {
        let contents = Contents::increment();
        let adapter = Running::sharing(artefacts::ADAPTER.as_ref(), &contents)?;
        Ok(Self {
            policy: Running::sharing(path.as_ref(), &contents)?,
            aside: Some(Aside {
                adapter,
                contents,
                up: true,
            }),
            prefix: String::new(),
        })
    }

    /// Answers one line of the protocol.
    pub fn answer(&mut self, line: &str) -> String {
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
                given
                    .as_str()
                    .unwrap_or_default()
                    .clone_into(&mut self.prefix);
                Ok(json!({ "done": true }))
            }
            "configure" => {
                match &mut self.aside {
                    Some(aside) => aside.set_up(true),
                    None => self.stage("begin", &[json!(self.prefix)]).map(drop)?,
                }
                let problems = self
                    .policy
                    .call(LIFECYCLE, "configure", slice::from_ref(given))?;
                Ok(json!({ "problems": problems }))
            }
            "describe" => {
                let description = self.policy.call(LIFECYCLE, "describe", &[])?;
                Ok(json!({ "description": description }))
            }
            "classify" => {
                let verdict = self.policy.call_named(CLASSIFIER, "classify", given)?;
                Ok(json!({ "verdict": verdict }))
            }
            "admit" => self.ask(ATTEMPTS, what, given, "admission"),
            "settle" => self.ask(ATTEMPTS, what, &timed(given), "events"),
            "overdue" => self.ask(ATTEMPTS, what, given, "events"),
            "inspect" => self.ask(BREAKER, what, given, "states"),
            "set-order" => self.ask(OPERATOR, what, given, "events"),
            "explain" => self.ask(OPERATOR, what, given, "facts"),
            "next" => self.ask(PLANNER, what, given, "step"),
            "get" => self.store("get", &json!({ "keys": given }), "values"),
            "swap" => self.store("swap", given, "swapped"),
            "count" => self.store("count", &json!({ "windows": given }), "tallies"),
            "stage" => {
                let up = &given["up"];
                match &mut self.aside {
                    Some(aside) => aside.set_up(up == true),
                    None => self.stage("set-up", slice::from_ref(up)).map(drop)?,
                }
                Ok(json!({ "done": true }))
            }
            "lose-counter" => {
                match &self.aside {
                    Some(aside) => aside.contents.lose(given.as_str().unwrap_or_default()),
                    None => self
                        .stage("lose-counter", slice::from_ref(given))
                        .map(drop)?,
                }
                Ok(json!({ "done": true }))
            }
            other => Err(format!("`{other}` is not in the protocol")),
        }
    }

    /// Makes one call of the policy that may touch the store.
    fn ask(
        &mut self,
        interface: &str,
        name: &str,
        given: &Value,
        kind: &str,
    ) -> Result<Value, Fault> {
        let answer = match self.policy.call_named(interface, name, given)? {
            Value::Object(mut result) => match (result.remove("ok"), result.remove("err")) {
                (Some(answer), _) => (kind, answer),
                (_, Some(error))
                    if ["set-order", "explain"].contains(&name)
                        && error.get("suspended").is_none() =>
                {
                    ("override-error", error)
                }
                (_, error) => return Err(format!("`{name}` was suspended: {error:?}")),
            },
            other => return Err(format!("`{name}` answered {other}, which is no result")),
        };
        let operations = match self.aside {
            None => self.stage("take-operations", &[])?,
            Some(_) => json!(0),
        };
        let mut object = Map::new();
        object.insert(answer.0.to_owned(), answer.1);
        object.insert("operations".to_owned(), operations);
        Ok(Value::Object(object))
    }

    /// One operation of the store, past the stage.
    fn store(&mut self, name: &str, given: &Value, kind: &str) -> Result<Value, Fault> {
        let answer = match &mut self.aside {
            None => {
                self.stage("pass-by", &[json!(true)])?;
                let answer = self.policy.call_named(KEYVALUE, name, given);
                self.stage("pass-by", &[json!(false)])?;
                answer?
            }
            Some(aside) => aside.ask(name, given)?,
        };
        match answer {
            Value::Object(mut result) => match (result.remove("ok"), result.remove("err")) {
                (Some(answer), _) => Ok(json!({ kind: answer })),
                (_, Some(error)) => Ok(json!({ "error": error })),
                _ => Err(format!("`{name}` answered neither well nor ill")),
            },
            other => Err(format!("`{name}` answered {other}, which is no result")),
        }
    }

    fn stage(&mut self, name: &str, given: &[Value]) -> Result<Value, Fault> {
        self.policy.call(STAGE, name, given)
    }
}

/// How a call ended, with a time where none was told.
fn timed(given: &Value) -> Value {
    let mut given = given.clone();
    if given.get("timing").is_none() {
        given["timing"] = json!({"latency-ms": null, "overdue": false});
    }
    given
}

impl Aside {
    fn set_up(&mut self, up: bool) {
        self.up = up;
        self.contents.set_up(up);
    }

    fn ask(&mut self, name: &str, given: &Value) -> Result<Value, Fault> {
        self.contents.set_up(true);
        let answer = self.adapter.call_named(KEYVALUE, name, given);
        self.contents.set_up(self.up);
        answer
    }
}
