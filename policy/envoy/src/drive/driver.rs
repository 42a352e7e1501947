//! Requests and answers.

use fusewire_core::{
    Context, Ending, KeyValue, Observation, OverrideError, OverrideOrder, Permit, Policy, Progress,
    StoreError, Target, Timing, Verdict, Window,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::stage::{Stage, Staged};
use crate::host::{Host, LocalResponse};
use crate::root::millis;
use crate::store::{Notes, Scope, SharedStore};

/// How many keys there is room for: as many as the largest configuration allows.
const KEYS: usize = 16_384;

/// What a scenario has set up.
#[derive(Debug)]
pub(crate) struct Driver {
    policy: Policy,
    stage: Stage,
    /// The policy's keys.
    scope: Scope,
    /// Any key.
    behind: Scope,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            stage: Stage::default(),
            scope: Scope::new("fusewire", KEYS, false),
            behind: Scope::any(KEYS),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    Describe {},
    Configure(String),
    Classify {
        target: Target,
        observation: Observation,
    },
    Admit {
        target: Target,
        context: Context,
    },
    Settle {
        permit: Permit,
        ending: Ending,
        #[serde(default)]
        timing: Timing,
        context: Context,
    },
    Overdue {
        permit: Permit,
        context: Context,
    },
    Inspect {
        target: Target,
        context: Context,
    },
    #[serde(alias = "set-override")]
    SetOrder {
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    },
    Explain {
        domain: String,
        context: Context,
    },
    Next {
        progress: Progress,
        verdict: Verdict,
        context: Context,
    },
    Get(Vec<String>),
    Swap(Swap),
    Count(Vec<Window>),
    Stage {
        up: bool,
    },
    LoseCounter(String),
    Prefix(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Swap {
    key: String,
    expected: Option<Vec<u8>>,
    replacement: Option<Vec<u8>>,
    ttl_ms: u64,
}

impl Driver {
    /// Answers one request.
    pub(crate) fn answer<H: Host>(&mut self, host: &H, line: &[u8]) -> LocalResponse {
        let answer = match (serde_json::from_slice::<Request>(line), host.now_ns()) {
            (Ok(request), Ok(now_ns)) => self.perform(host, millis(now_ns), request),
            (Err(error), _) => json!({"fault": format!("this is no request: {error}")}),
            (_, Err(status)) => json!({"fault": format!("there is no time: {status}")}),
        };
        LocalResponse {
            status: 200,
            details: "fusewire_drive".into(),
            headers: vec![("content-type", "application/json".into())],
            body: answer.to_string().into_bytes(),
        }
    }

    fn perform<H: Host>(&mut self, host: &H, now_ms: u64, request: Request) -> Value {
        let notes = Notes::default();
        self.stage.operations = 0;
        let mut store = Staged {
            stage: &mut self.stage,
            store: SharedStore::new(host, &notes, &self.scope, now_ms),
        };
        let mut behind = SharedStore::new(host, &notes, &self.behind, now_ms);
        let policy = &mut self.policy;
        let suspended =
            || json!({"fault": "the call was suspended, by a store that answers at once"});
        let (name, answer) = match request {
            Request::Describe {} => return json!({"description": Policy::describe()}),
            Request::Configure(text) => {
                self.stage = Stage::default();
                return json!({"problems": policy.configure(&text)});
            }
            Request::Stage { up } => {
                self.stage.down = !up;
                return json!({"done": true});
            }
            Request::LoseCounter(key) => {
                let times = self.stage.lost.entry(key).or_default();
                *times = times.saturating_add(1);
                return json!({"done": true});
            }
            Request::Prefix(prefix) => {
                self.scope = Scope::new(&prefix, KEYS, false);
                return json!({"done": true});
            }
            Request::Classify {
                target,
                observation,
            } => {
                return json!({"verdict": policy.classify(&target, &observation)});
            }
            Request::Get(keys) => return stored("values", behind.get(&keys)),
            Request::Swap(swap) => {
                let swapped = behind.swap(
                    &swap.key,
                    swap.expected.as_deref(),
                    swap.replacement.as_deref(),
                    swap.ttl_ms,
                );
                return stored("swapped", swapped);
            }
            Request::Count(windows) => return stored("tallies", behind.count(windows)),
            Request::Admit { target, context } => (
                "admission",
                policy
                    .admit(&mut store, &target, &context)
                    .map(|a| json!(a)),
            ),
            Request::Settle {
                permit,
                ending,
                timing,
                context,
            } => (
                "events",
                policy
                    .settle(&mut store, &permit, &ending, &timing, &context)
                    .map(|e| json!(e)),
            ),
            Request::Overdue { permit, context } => (
                "events",
                policy
                    .overdue(&mut store, &permit, &context)
                    .map(|e| json!(e)),
            ),
            Request::Inspect { target, context } => (
                "states",
                policy
                    .inspect(&mut store, &target, &context)
                    .map(|s| json!(s)),
            ),
            Request::Next {
                progress,
                verdict,
                context,
            } => (
                "step",
                policy.next(&progress, &verdict, &context).map(|s| json!(s)),
            ),
            Request::Explain { domain, context } => {
                match policy.explain_domain(&mut store, &domain, &context) {
                    Ok(facts) => ("facts", Ok(json!(facts))),
                    Err(OverrideError::Suspended(_)) => return suspended(),
                    Err(error) => ("override-error", Ok(json!(error))),
                }
            }
            Request::SetOrder {
                domain,
                order,
                context,
            } => match policy.order(&mut store, &domain, order.as_ref(), &context) {
                Ok(events) => ("events", Ok(json!(events))),
                Err(OverrideError::Suspended(_)) => return suspended(),
                Err(error) => ("override-error", Ok(json!(error))),
            },
        };
        match answer {
            Ok(answer) => json!({name: answer, "operations": self.stage.operations}),
            Err(_) => suspended(),
        }
    }
}

fn stored<T: serde::Serialize>(name: &str, answer: Result<T, StoreError>) -> Value {
    match answer {
        Ok(answer) => json!({name: answer}),
        Err(StoreError::Refused(why)) => json!({"error": {"refused": why}}),
        Err(StoreError::Unavailable | StoreError::Pending) => json!({"error": "unavailable"}),
    }
}
