//! What of a policy's answers the contract leaves it no choice about, and no type says.
//!
//! A host acts on answers: it keeps a permit for each call under way, waits as long as it is told
//! to, calls a provider as often, and counts by domain. An answer that would have it do that
//! without end is a breach of contract, like any other.

use fusewire_core::{
    Admission, Decision, Description, Event, EventKind, Fact, Limits, Progress, Step, Target,
    Transition, Verdict, Wanted,
};

use super::evidence::BODY_BYTES_MAX;
use super::{Answer, Call, Fault};

/// The longest text in a permit, in bytes: `wit/breaker.wit`.
const TOKEN_MAX_BYTES: usize = 1024;

/// The longest name and version of a policy, and name of a rule, in bytes: they are in records that
/// the fleet shares, and in tables.
const NAME_MAX_BYTES: usize = 128;

/// The longest sentence, in bytes: it is logged, and kept as a sample.
const SENTENCE_MAX_BYTES: usize = 4096;

/// The most events of one call: an outcome brings about a few for each of three domains.
const EVENTS_MAX: usize = 64;

/// The most facts about one domain: `wit/operator.wit`.
const FACTS_MAX: usize = 64;

/// The most attempts at one provider in one call: twice what the built-in policy can be set to.
const ATTEMPTS_MAX: u32 = 20;

/// The longest wait before another attempt, in ms: what the built-in policy can be set to.
const WAIT_MAX_MS: u64 = 10 * 60 * 1_000;

/// The most names of header fields that a policy looks at, and the longest of them, in bytes. Each is
/// compared with each field of an answer.
const FIELDS_MAX: usize = 256;
const FIELD_MAX_BYTES: usize = 128;

/// Checks who a policy says it is.
pub(super) fn description(description: &Description) -> Result<(), Fault> {
    let texts = [
        ("name", &description.name),
        ("version", &description.version),
    ];
    for (what, text) in texts {
        // Control characters move the cursor of whoever looks.
        if text.is_empty() || text.len() > NAME_MAX_BYTES || text.chars().any(char::is_control) {
            return breach(format!(
                "its {what} has {} bytes, and must have 1 to {NAME_MAX_BYTES} and no control \
                 characters",
                text.len()
            ));
        }
    }
    Ok(())
}

/// Checks what a policy says it looks at. More than it may want is no mistake about a number: a host
/// that gathered less would have it judge by what it does not expect.
pub(super) fn wanted(wanted: &Wanted) -> Result<(), Fault> {
    if wanted.body_bytes > BODY_BYTES_MAX {
        return breach(format!(
            "it wants {} bytes of a body, and may want {BODY_BYTES_MAX}",
            wanted.body_bytes
        ));
    }
    let names = wanted.headers.as_deref().unwrap_or_default();
    if names.len() > FIELDS_MAX {
        return breach(format!(
            "it wants {} header fields by name, and may want {FIELDS_MAX}, or all of them",
            names.len()
        ));
    }
    names
        .iter()
        .try_for_each(|name| no_longer("the name of a header field", name, FIELD_MAX_BYTES))
}

/// Checks a verdict.
pub(super) fn verdict(verdict: &Verdict) -> Result<(), Fault> {
    name("the rule of its verdict", &verdict.rule)?;
    sentence("the reason of its verdict", &verdict.reason)
}

/// Checks what a policy answered.
pub(super) fn answer(call: &Call, answer: &Answer) -> Result<(), Fault> {
    match (call, answer) {
        (Call::Admit(target, _), Answer::Admission(admission)) => admitted(target, admission),
        (Call::Settle(permit, ..) | Call::Overdue(permit, ..), Answer::Settled(told)) => {
            events(&permit.target, told)
        }
        (Call::Explain(..), Answer::Facts(Ok(told))) => facts(told),
        (Call::Next(progress, ..), Answer::Step(step)) => next(progress, step),
        _ => Ok(()),
    }
}

fn admitted(target: &Target, admission: &Admission) -> Result<(), Fault> {
    match &admission.decision {
        Decision::Allowed(permit) if permit.token.len() > TOKEN_MAX_BYTES => {
            return breach(format!(
                "its permit has a text of {} bytes, and may have {TOKEN_MAX_BYTES}",
                permit.token.len()
            ));
        }
        Decision::Allowed(permit) if permit.target != *target => {
            return breach("its permit is for another target than was asked about".into());
        }
        Decision::Refused(refusal) => {
            sentence("the detail of its refusal", &refusal.detail)?;
            domain(target, &refusal.domain)?;
        }
        Decision::Allowed(_) => limits(admission.limits)?,
    }
    events(target, &admission.events)
}

/// An attempt without any time could never be made, and one that is overdue from its beginning on
/// would be told of before it was sent.
fn limits(limits: Limits) -> Result<(), Fault> {
    for (what, limit) in [
        ("may last", limits.total_ms),
        ("is overdue after", limits.overdue_ms),
    ] {
        if limit == Some(0) {
            return breach(format!("a call that it admits {what} 0 ms"));
        }
    }
    Ok(())
}

fn facts(told: &[Fact]) -> Result<(), Fault> {
    if told.len() > FACTS_MAX {
        return breach(format!(
            "it tells {} facts of one domain, and may tell {FACTS_MAX}",
            told.len()
        ));
    }
    for fact in told {
        name("the subject of its fact", &fact.subject)?;
        name("the value of its fact", &fact.value)?;
        sentence("what it says of its fact", &fact.says)?;
    }
    Ok(())
}

fn events(target: &Target, told: &[Event]) -> Result<(), Fault> {
    if told.len() > EVENTS_MAX {
        return breach(format!(
            "it tells of {} events in one call, and may tell of {EVENTS_MAX}",
            told.len()
        ));
    }
    for event in told {
        match &event.kind {
            EventKind::Transition(Transition { rule, .. })
            | EventKind::Alone(Transition { rule, .. }) => name("the rule of its event", rule)?,
            EventKind::Store(why) => sentence("what it tells of the store", why)?,
            _ => {}
        }
        sentence("the detail of its event", &event.detail)?;
        domain(target, &event.domain)?;
    }
    Ok(())
}

fn name(what: &str, text: &str) -> Result<(), Fault> {
    no_longer(what, text, NAME_MAX_BYTES)
}

fn sentence(what: &str, text: &str) -> Result<(), Fault> {
    no_longer(what, text, SENTENCE_MAX_BYTES)
}

fn no_longer(what: &str, text: &str, most: usize) -> Result<(), Fault> {
    if text.len() > most {
        return breach(format!(
            "{what} has {} bytes, and may have {most}",
            text.len()
        ));
    }
    Ok(())
}

/// A domain of the target, or none: who counts by domain is not to be told of a new one each time.
fn domain(target: &Target, name: &str) -> Result<(), Fault> {
    let is_part = |rest: &str, separator: char, part: &Option<String>| {
        part.as_deref()
            .is_some_and(|part| rest.strip_prefix(separator) == Some(part))
    };
    let is_of_target = name.is_empty()
        || name.strip_prefix(&target.provider).is_some_and(|rest| {
            rest.is_empty()
                || is_part(rest, '@', &target.account)
                || is_part(rest, '/', &target.operation)
        });
    if is_of_target {
        return Ok(());
    }
    let name: String = name.chars().take(NAME_MAX_BYTES).collect();
    breach(format!(
        "it speaks of {name:?}, which is no domain of the target"
    ))
}

fn next(progress: &Progress, step: &Step) -> Result<(), Fault> {
    match step {
        Step::Retry(_) if progress.attempts >= ATTEMPTS_MAX => breach(format!(
            "after {} attempts it wants another at the same provider",
            progress.attempts
        )),
        Step::Retry(delay_ms) if *delay_ms > WAIT_MAX_MS => breach(format!(
            "it wants a call to wait for {delay_ms} ms, and may have it wait for {WAIT_MAX_MS}"
        )),
        Step::GiveUp(why) => sentence("its reason to give up", why),
        _ => Ok(()),
    }
}

fn breach(why: String) -> Result<(), Fault> {
    Err(Fault::Contract(why))
}
