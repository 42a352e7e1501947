//! For tests: a policy that is built against the first contract.
//!
//! Its bindings are made of `tests/contracts/0.1.0`, which never changes, and it uses every function
//! of that contract: so it stands for all the policies that were built before the contract grew. It
//! opens for ten seconds on the third failure within a minute, and knows nothing better: no
//! probes, no leases, one domain a provider.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

use std::cell::RefCell;

#[allow(missing_docs, reason = "the documentation is in tests/contracts/0.1.0")]
mod bindings {
    wit_bindgen::generate!({ path: "../../contracts/0.1.0", world: "policy" });
}

use bindings::exports::fusewire::policy::{breaker, classifier, lifecycle, planner};
use bindings::fusewire::policy::keyvalue;
use breaker::{
    Admission, Context, Decision, DomainState, Ending, Event, EventKind, OverrideError,
    OverrideOrder, Permit, Phase, Refusal, RefusalReason, Suspended, Transition,
};
use classifier::{Blame, Effect, Observation, Outcome, Target, Verdict};
use lifecycle::{Description, Problem};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Failures that open it.
const FAILURES: u64 = 3;
/// Within what time, in ms.
const WINDOW_MS: u64 = 60_000;
/// For how long, in ms.
const OPEN_MS: u64 = 10_000;

thread_local! {
    static PREFIX: RefCell<String> = const { RefCell::new(String::new()) };
}

fn key(kind: &str, provider: &str) -> String {
    let prefix = PREFIX.with_borrow(|prefix| match prefix.as_str() {
        "" => "fusewire".to_owned(),
        set => set.to_owned(),
    });
    format!("{prefix}:{kind}:{{{provider}}}")
}

/// What the store answered, or why nothing.
enum Stop {
    Suspended(Suspended),
    Store(String),
}

/// Makes what stops a call of an error, after `answered` operations.
fn stop(answered: u32) -> impl Fn(keyvalue::Error) -> Stop {
    move |error| match error {
        keyvalue::Error::Pending => Stop::Suspended(Suspended { answered }),
        keyvalue::Error::Unavailable => Stop::Store("the store is out of reach".to_owned()),
        keyvalue::Error::Refused(why) => Stop::Store(why),
    }
}

/// The record: until when the breaker is open, as a JSON text.
fn read(bytes: Option<&Vec<u8>>) -> u64 {
    let text = bytes.and_then(|bytes| str::from_utf8(bytes).ok());
    let until = text.and_then(|text| text.strip_prefix("{\"until\":")?.strip_suffix('}'));
    until.and_then(|until| until.parse().ok()).unwrap_or(0)
}

fn look(provider: &str, answered: u32) -> Result<Option<Vec<u8>>, Stop> {
    let values = keyvalue::get(&[key("s", provider)]).map_err(stop(answered))?;
    Ok(values.into_iter().next().flatten())
}

fn event(domain: &str, context: &Context, kind: EventKind, detail: &str) -> Event {
    Event {
        domain: domain.to_owned(),
        at_ms: context.now_ms,
        kind,
        detail: detail.to_owned(),
    }
}

/// Counts a failure, and opens the breaker where it is one too many.
fn count_failure(provider: &str, context: &Context) -> Result<Option<Event>, Stop> {
    let now = context.now_ms;
    let window = keyvalue::Window {
        key: key("w", provider),
        epoch: 0,
        bucket: now,
        add: vec![keyvalue::Lane {
            name: "f".to_owned(),
            amount: 1,
        }],
        since: now.saturating_sub(WINDOW_MS),
        ttl_ms: WINDOW_MS,
    };
    let tallies = keyvalue::count(&[window]).map_err(stop(0))?;
    let lanes = tallies.iter().flat_map(|tally| &tally.lanes);
    if lanes.map(|lane| lane.amount).sum::<u64>() < FAILURES {
        return Ok(None);
    }
    let before = look(provider, 1)?;
    if read(before.as_ref()) > now {
        return Ok(None);
    }
    let until = now.saturating_add(OPEN_MS);
    let after = format!("{{\"until\":{until}}}");
    let key = key("s", provider);
    let swapped = keyvalue::swap(&key, before.as_deref(), Some(after.as_bytes()), OPEN_MS);
    if !swapped.map_err(stop(2))? {
        return Ok(None);
    }
    let opened = Transition {
        before: Phase::Closed,
        after: Phase::Open,
        rule: "failures".to_owned(),
        until_ms: until,
        openings: 1,
    };
    let detail = "the third failure within a minute";
    Ok(Some(event(
        provider,
        context,
        EventKind::Transition(opened),
        detail,
    )))
}

struct Policy;

#[cfg(target_arch = "wasm32")]
bindings::export!(Policy with_types_in bindings);

impl lifecycle::Guest for Policy {
    fn describe() -> Description {
        Description {
            name: "first".to_owned(),
            version: "0.1.0".to_owned(),
            record_schema: 1,
        }
    }

    /// Takes the prefix where there is one, and no notice of anything else.
    fn configure(json: String) -> Vec<Problem> {
        let prefix = json.split_once("\"prefix\":\"");
        let prefix = prefix.and_then(|(_, rest)| rest.split_once('"'));
        PREFIX.set(prefix.map_or(String::new(), |(prefix, _)| prefix.to_owned()));
        Vec::new()
    }
}

impl classifier::Guest for Policy {
    fn classify(_: Target, observation: Observation) -> Verdict {
        let status = observation.response.map(|response| response.status);
        let failed = observation.failure.is_some() || status.is_none_or(|status| status >= 500);
        Verdict {
            outcome: if failed {
                Outcome::Transient
            } else {
                Outcome::Success
            },
            effect: if failed {
                Effect::Failure
            } else {
                Effect::Success
            },
            blame: if failed {
                Blame::Provider
            } else {
                Blame::Nobody
            },
            retry_same: false,
            next_provider: failed,
            min_delay_ms: 0,
            retry_after_ms: None,
            slow: false,
            rule: if failed { "failed" } else { "answered" }.to_owned(),
            reason: String::new(),
        }
    }
}

impl breaker::Guest for Policy {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        let now = context.now_ms;
        let provider = target.provider.clone();
        let permit = |token: &str| {
            Decision::Allowed(Permit {
                target,
                probe: false,
                token: token.to_owned(),
            })
        };
        let (decision, holds_until_ms, events) = match look(&provider, 0) {
            Err(Stop::Suspended(suspended)) => return Err(suspended),
            Err(Stop::Store(why)) => {
                let told = event(
                    &provider,
                    &context,
                    EventKind::Store(why),
                    "allowed without it",
                );
                (permit("unshared"), now, vec![told])
            }
            Ok(record) => match read(record.as_ref()) {
                until if until > now => {
                    let refusal = Refusal {
                        domain: provider,
                        reason: RefusalReason::Open,
                        retry_after_ms: until - now,
                        detail: "three failures within a minute".to_owned(),
                    };
                    (Decision::Refused(refusal), until, Vec::new())
                }
                _ => (permit("counted"), now.saturating_add(WINDOW_MS), Vec::new()),
            },
        };
        Ok(Admission {
            decision,
            holds_until_ms,
            events,
        })
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        let Ending::Judged(verdict) = ending else {
            return Ok(Vec::new());
        };
        if permit.token != "counted" || verdict.effect != Effect::Failure {
            return Ok(Vec::new());
        }
        let provider = &permit.target.provider;
        match count_failure(provider, &context) {
            Ok(opened) => Ok(opened.into_iter().collect()),
            Err(Stop::Suspended(suspended)) => Err(suspended),
            Err(Stop::Store(why)) => {
                let kind = EventKind::Store(why);
                Ok(vec![event(
                    provider,
                    &context,
                    kind,
                    "the failure was not counted",
                )])
            }
        }
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        let record = match look(&target.provider, 0) {
            Ok(record) => record,
            Err(Stop::Suspended(suspended)) => return Err(suspended),
            Err(Stop::Store(_)) => return Ok(Vec::new()),
        };
        let until = Some(read(record.as_ref())).filter(|until| *until > context.now_ms);
        Ok(vec![DomainState {
            domain: target.provider,
            phase: if until.is_some() {
                Phase::Open
            } else {
                Phase::Closed
            },
            epoch: 0,
            until_ms: until.unwrap_or(0),
            openings: until.map_or(0, |_| 1),
            probes_passed: 0,
            lease: None,
            order: None,
            successes: 0,
            failures: 0,
            slow: 0,
            retries: 0,
            stored: record.and_then(|bytes| String::from_utf8(bytes).ok()),
        }])
    }

    fn set_override(
        _: String,
        _: Option<OverrideOrder>,
        _: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        Err(OverrideError::Invalid(
            "this policy takes no orders".to_owned(),
        ))
    }
}

impl planner::Guest for Policy {
    fn next(
        progress: planner::Progress,
        verdict: Verdict,
        _: Context,
    ) -> Result<planner::Step, Suspended> {
        Ok(match verdict.effect {
            Effect::Success | Effect::SlowSuccess | Effect::Neutral => planner::Step::Done,
            Effect::Failure if progress.providers_left > 0 => planner::Step::NextProvider,
            Effect::Failure => planner::Step::GiveUp("the provider failed".to_owned()),
        })
    }
}
