//! Operators' questions: to `operator` where a policy exports that, otherwise to `breaker`, whose
//! orders have no share of enforcement and which shows its state and does not explain it.

use fusewire_core::{
    Context, Domain, DomainState, Fact, OverrideError, OverrideOrder, Suspended, Target,
};
use wasmtime::{Result, Store};

use super::imports::HostState;
use super::instance::Exports;
use super::{Answer, convert};

type Answered = Result<std::result::Result<Answer, Suspended>>;

pub(super) fn inspect(
    exports: &Exports,
    store: &mut Store<HostState>,
    target: &Target,
    context: &Context,
) -> Answered {
    let states = states(exports, store, target, context)?;
    Ok(states.map(Answer::States))
}

fn states(
    exports: &Exports,
    store: &mut Store<HostState>,
    target: &Target,
    context: &Context,
) -> Result<std::result::Result<Vec<DomainState>, Suspended>> {
    let states =
        exports
            .breaker
            .call_inspect(store, convert::target(target), convert::context(context))?;
    Ok(states
        .map(|states| states.into_iter().map(convert::state).collect())
        .map_err(convert::suspended))
}

pub(super) fn order(
    exports: &Exports,
    store: &mut Store<HostState>,
    domain: &str,
    order: Option<&OverrideOrder>,
    context: &Context,
) -> Answered {
    let context = convert::context(context);
    let ordered = match &exports.operator {
        Some(operator) => operator
            .call_set_order(store, domain, order.map(convert::share_order), context)?
            .map(convert::all_events),
        None if order.is_some_and(|order| order.enforce_percent > 0) => {
            let why = "this policy enforces all refusals or none, not a share of them".to_owned();
            return Ok(Ok(Answer::Ordered(Err(OverrideError::Invalid(why)))));
        }
        None => exports
            .breaker
            .call_set_override(store, domain, order.map(convert::order), context)?
            .map(convert::events),
    };
    Ok(unsuspended(
        ordered.map_err(convert::override_error),
        Answer::Ordered,
    ))
}

pub(super) fn explain(
    exports: &Exports,
    store: &mut Store<HostState>,
    domain: &str,
    context: &Context,
) -> Answered {
    let Some(operator) = &exports.operator else {
        return shown(exports, store, domain, context);
    };
    let facts = operator
        .call_explain(store, domain, convert::context(context))?
        .map(|facts| facts.into_iter().map(convert::fact).collect());
    Ok(unsuspended(
        facts.map_err(convert::override_error),
        Answer::Facts,
    ))
}

/// A suspension is no answer.
fn unsuspended<T>(
    answer: std::result::Result<T, OverrideError>,
    is: impl FnOnce(std::result::Result<T, OverrideError>) -> Answer,
) -> std::result::Result<Answer, Suspended> {
    match answer {
        Err(OverrideError::Suspended(suspended)) => Err(suspended),
        answer => Ok(is(answer)),
    }
}

/// What `breaker.inspect` says of a domain, for a policy that does not explain itself.
fn shown(
    exports: &Exports,
    store: &mut Store<HostState>,
    domain: &str,
    context: &Context,
) -> Answered {
    let target = match target_of(domain) {
        Ok(target) => target,
        Err(why) => return Ok(Ok(Answer::Facts(Err(OverrideError::Invalid(why))))),
    };
    let states = match states(exports, store, &target, context)? {
        Ok(states) => states,
        Err(suspended) => return Ok(Err(suspended)),
    };
    let state = states.iter().find(|state| state.domain == domain);
    let facts = state.map(|state| facts(state, context.now_ms));
    let unknown = || OverrideError::Store("the store did not answer for this domain".into());
    Ok(Ok(Answer::Facts(facts.ok_or_else(unknown))))
}

/// A target that has this domain.
fn target_of(domain: &str) -> std::result::Result<Target, String> {
    let provider = Domain::parse(domain)?.provider();
    let rest = domain.strip_prefix(provider).unwrap_or_default();
    let part = |separator| rest.strip_prefix(separator).map(str::to_owned);
    Ok(Target {
        account: part('@'),
        operation: part('/'),
        ..Target::provider(provider)
    })
}

fn facts(state: &DomainState, now_ms: u64) -> Vec<Fact> {
    let fact = |subject: &str, value: String, says: String| Fact {
        subject: subject.into(),
        value,
        says,
    };
    let left = state.until_ms.saturating_sub(now_ms);
    let mut facts = vec![fact(
        "phase",
        state.phase.to_string(),
        match (left, state.openings) {
            (0, 0) => format!("{}", state.phase),
            (0, openings) => format!("{}, {openings} openings in a row", state.phase),
            (left, openings) => format!(
                "{} for another {left} ms, {openings} openings in a row",
                state.phase
            ),
        },
    )];
    if let Some(order) = &state.order {
        facts.push(fact(
            "order",
            order.mode.to_string(),
            format!("{} by {}: {}", order.mode, order.who, order.why),
        ));
    }
    if let Some(lease) = &state.lease {
        let left = lease.expires_ms.saturating_sub(now_ms);
        facts.push(fact(
            "probe",
            lease.owner.clone(),
            format!("{} is probing, for another {left} ms at most", lease.owner),
        ));
    }
    for (subject, count) in [
        ("successes", state.successes),
        ("failures", state.failures),
        ("slow", state.slow),
    ] {
        let says = format!("{count} {subject} in the widest window");
        facts.push(fact(subject, count.to_string(), says));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_asked_about_by_a_target_that_has_it() {
        let target = |name| target_of(name).expect("a domain's name");
        assert_eq!(target("p"), Target::provider("p"));
        assert_eq!(target("p@a").account.as_deref(), Some("a"));
        assert_eq!(target("p/a@b/c").operation.as_deref(), Some("a@b/c"));
        assert!(target_of("p@").is_err());
    }
}
