//! Requests and answers as JSON.

use fusewire_core::{OverrideError, OverrideOrder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::DriverError;
use crate::engine::{Answer, Call};
use crate::store::StoreError;

/// Why a part of an answer cannot be read.
type Unreadable = Box<dyn std::error::Error + Send + Sync>;

/// A call of the policy, as it is sent.
pub(super) fn call(call: &Call) -> Value {
    match call {
        Call::Admit(target, context) => json!({"admit": {"target": target, "context": context}}),
        Call::Settle(permit, ending, timing, context) => json!({"settle": {
            "permit": permit, "ending": ending, "timing": timing, "context": context
        }}),
        Call::Overdue(permit, context) => {
            json!({"overdue": {"permit": permit, "context": context}})
        }
        Call::Inspect(target, context) => {
            json!({"inspect": {"target": target, "context": context}})
        }
        Call::Order(domain, order, context) => {
            let order = order.as_ref().map(self::order);
            json!({"set-order": {"domain": domain, "order": order, "context": context}})
        }
        Call::Explain(domain, context) => {
            json!({"explain": {"domain": domain, "context": context}})
        }
        Call::Next(progress, verdict, context) => {
            json!({"next": {"progress": progress, "verdict": verdict, "context": context}})
        }
    }
}

/// An order with the contract's names: those of the stored record are shorter.
fn order(order: &OverrideOrder) -> Value {
    let OverrideOrder {
        mode,
        enforce_percent,
        who,
        why,
        until_ms,
    } = order;
    json!({
        "mode": mode, "enforce-percent": enforce_percent,
        "who": who, "why": why, "until-ms": until_ms
    })
}

/// What the policy answered to this call.
pub(super) fn answer(call: &Call, answer: &Value) -> Result<Answer, DriverError> {
    let read = || -> Result<Answer, Unreadable> {
        Ok(match call {
            Call::Admit(..) => Answer::Admission(part(answer, "admission")?),
            Call::Settle(..) | Call::Overdue(..) => Answer::Settled(part(answer, "events")?),
            Call::Inspect(..) => Answer::States(part(answer, "states")?),
            Call::Order(..) if answer.get("override-error").is_some() => {
                Answer::Ordered(Err(part::<OverrideError>(answer, "override-error")?))
            }
            Call::Order(..) => Answer::Ordered(Ok(part(answer, "events")?)),
            Call::Explain(..) if answer.get("override-error").is_some() => {
                Answer::Facts(Err(part::<OverrideError>(answer, "override-error")?))
            }
            Call::Explain(..) => Answer::Facts(Ok(part(answer, "facts")?)),
            Call::Next(..) => Answer::Step(part(answer, "step")?),
        })
    };
    read().map_err(|why| unreadable(&self::call(call).to_string(), answer, why))
}

/// One part of an answer.
pub(super) fn part<T: DeserializeOwned>(answer: &Value, name: &str) -> Result<T, Unreadable> {
    let value = answer
        .get(name)
        .ok_or_else(|| format!("there is no `{name}` in it"))?;
    Ok(T::deserialize(value)?)
}

/// What a store answered, or its error.
pub(super) fn stored<T: DeserializeOwned>(answer: &Value, name: &str) -> Result<T, StoreError> {
    let unavailable = |why: String| StoreError::Unavailable(why);
    match answer.get("error") {
        None => part(answer, name).map_err(|why| unavailable(why.to_string())),
        Some(error) => match error.get("refused").and_then(Value::as_str) {
            Some(why) => Err(StoreError::Refused(why.to_owned())),
            None => Err(unavailable("the driver says so".into())),
        },
    }
}

/// An answer that is not in the protocol.
pub(super) fn unreadable(asked: &str, answer: &Value, why: Unreadable) -> DriverError {
    DriverError::Answer {
        asked: asked.to_owned(),
        answer: answer.to_string(),
        why: why.to_string(),
    }
}
