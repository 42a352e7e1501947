//! Admit, settle, inspect.
//!
//! An admission only reads, and a call is counted when it ends. So a call that says nothing of the
//! provider (a wrong request, a caller who left) leaves no trace, and an admission may hold for many
//! calls without one of them being missed. A refused call ends with its refusal, and is counted
//! then.

use crate::bindings::exports::fusewire::policy::breaker::{
    Admission, Context, Decision, DomainState, Ending, Event, EventKind, IgnoredReason,
    OverrideMode, Permit, Phase, Refusal, RefusalReason, Suspended,
};
use crate::bindings::exports::fusewire::policy::classifier::{Blame, Effect, Target, Verdict};
use crate::config::{Config, Settings};
use crate::names;
use crate::order::{self, Stored};
use crate::store::{Became, Stop, Store};
use crate::throttle;

/// What a permit's token says: the outcome is counted, or it is not.
const COUNTED: &str = "counted";
const UNCOUNTED: &str = "uncounted";

/// How long an answer that an operator's order gives holds at the longest, in ms. The host is told
/// when the order changes; this only bounds what a lost message can do.
const ORDER_HOLDS_MS: u64 = 60_000;

/// May a call be made now?
pub(crate) fn admit(
    config: &Config,
    target: Target,
    context: &Context,
) -> Result<Admission, Suspended> {
    if let Err(detail) = names::check_target(&target) {
        let refusal = Refusal {
            domain: String::new(),
            reason: RefusalReason::InvalidTarget,
            retry_after_ms: 0,
            detail,
        };
        return Ok(Admission {
            decision: Decision::Refused(refusal),
            holds_until_ms: u64::MAX,
            events: vec![],
        });
    }
    let call = Call {
        settings: config.settings(&target.provider),
        config,
        target,
        context,
    };
    match call.decide() {
        Ok(admission) => Ok(admission),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        // The store guards the calls, and must not be one more thing that can refuse them.
        Err(Stop::Failed(why)) => {
            let event = call.store_event(why, "allowed, since the store did not answer");
            let mut admission = call.allowed(COUNTED, context.now_ms);
            admission.events.push(event);
            Ok(admission)
        }
    }
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    target: Target,
    context: &'a Context,
}

impl Call<'_> {
    fn decide(&self) -> Result<Admission, Stop> {
        let (provider, now) = (&self.target.provider, self.context.now_ms);
        let mut store = Store::default();
        let stored = Stored::read(&mut store, self.config, provider)?;
        let order = stored.in_force(now);
        let order_ends = order.map_or(u64::MAX, |order| order.ends_ms());
        let order_holds = order_ends.min(now.saturating_add(ORDER_HOLDS_MS));
        match order.map(|order| order.mode) {
            Some(OverrideMode::Open) => {
                let detail = order.map_or(String::new(), |order| {
                    format!("forced open by {}: {}", order.who, order.why)
                });
                let reason = RefusalReason::Override;
                return Ok(self.refused(reason, order_holds, order_holds, detail));
            }
            Some(OverrideMode::Closed) => return Ok(self.allowed(COUNTED, order_holds)),
            Some(OverrideMode::Off) => return Ok(self.allowed(UNCOUNTED, order_holds)),
            Some(OverrideMode::Observe) | None => {}
        }

        let key = names::counter_key(self.config, provider);
        let counts = store.count(key.clone(), None, self.settings, now)?;
        let share = throttle::share(counts, self.settings);
        if share <= 0.0 {
            let holds_until = now.saturating_add(self.settings.hold_ms).min(order_ends);
            return Ok(self.allowed(COUNTED, holds_until));
        }
        // From here on each call is decided by a chance of its own, so no answer holds for another.
        if !throttle::refuses(share, self.context.entropy) {
            return Ok(self.allowed(COUNTED, now));
        }
        let mut admission = if order.is_some() {
            // Observed: counted as if it had been refused, and made nevertheless.
            self.allowed(UNCOUNTED, now)
        } else {
            // The reasons are those of a breaker. `ramp` is the one that says what happens here: a
            // share of the calls is let through, and this one is not of them.
            let until = now.saturating_add(throttle::bucket_ms(self.settings.window_ms));
            let detail = format!(
                "throttled: of {} calls in {} s {} were accepted, so {} of 100 are refused for now",
                counts.requests(),
                self.settings.window_ms.checked_div(1_000).unwrap_or(0),
                counts.accepted,
                (share * 100.0) as u64,
            );
            self.refused(RefusalReason::Ramp, until, now, detail)
        };
        match store.count(key, Some(Became::Refused), self.settings, now) {
            Ok(_) => Ok(admission),
            Err(Stop::Failed(why)) => {
                // It has been decided, and the store has no say in it any more.
                let event = self.store_event(why, "the refusal was not counted");
                admission.events.push(event);
                Ok(admission)
            }
            Err(suspended) => Err(suspended),
        }
    }

    fn allowed(&self, token: &str, holds_until_ms: u64) -> Admission {
        let permit = Permit {
            target: self.target.clone(),
            probe: false,
            token: token.into(),
        };
        Admission {
            decision: Decision::Allowed(permit),
            holds_until_ms,
            events: vec![],
        }
    }

    fn refused(
        &self,
        reason: RefusalReason,
        until_ms: u64,
        holds_until_ms: u64,
        detail: String,
    ) -> Admission {
        let refusal = Refusal {
            domain: self.target.provider.clone(),
            reason,
            retry_after_ms: until_ms.saturating_sub(self.context.now_ms).max(1),
            detail,
        };
        Admission {
            decision: Decision::Refused(refusal),
            holds_until_ms,
            events: vec![],
        }
    }

    fn store_event(&self, why: String, detail: &str) -> Event {
        event(
            &self.target.provider,
            EventKind::Store(why),
            detail,
            self.context,
        )
    }
}

/// A call has ended.
pub(crate) fn settle(
    config: &Config,
    permit: &Permit,
    ending: &Ending,
    context: &Context,
) -> Result<Vec<Event>, Suspended> {
    let provider = &permit.target.provider;
    let counted = match permit.token.as_str() {
        COUNTED => true,
        UNCOUNTED => false,
        _ => return Ok(not_ours("the permit's text is not ours", context)),
    };
    if permit.probe || names::check_target(&permit.target).is_err() {
        return Ok(not_ours("no permit of ours has such a target", context));
    }
    let became = match ending {
        Ending::Judged(verdict) if counted => became(verdict),
        Ending::Judged(_) | Ending::Dropped => None,
    };
    if became.is_none() {
        return Ok(vec![]);
    }
    let key = names::counter_key(config, provider);
    let settings = config.settings(provider);
    match Store::default().count(key, became, settings, context.now_ms) {
        Ok(_) => Ok(vec![]),
        Err(Stop::Suspended(suspended)) => Err(suspended),
        Err(Stop::Failed(why)) => {
            let kind = EventKind::Store(why);
            Ok(vec![event(
                provider,
                kind,
                "the outcome was not counted",
                context,
            )])
        }
    }
}

/// What a call is counted as; `None`: as nothing.
///
/// Accepted is what is not the provider's failure: a layer or a key that fails was reported by a
/// provider that did its part. What is neutral says nothing: wrong requests, callers who left.
fn became(verdict: &Verdict) -> Option<Became> {
    match (verdict.effect, verdict.blame) {
        (Effect::Neutral, _) => None,
        (Effect::Success | Effect::SlowSuccess, _)
        | (Effect::Failure, Blame::Account | Blame::Operation) => Some(Became::Accepted),
        (Effect::Failure, Blame::Provider | Blame::Caller | Blame::Nobody) => Some(Became::Failed),
    }
}

fn not_ours(detail: &str, context: &Context) -> Vec<Event> {
    let kind = EventKind::Ignored(IgnoredReason::InvalidPermit);
    vec![event("", kind, detail, context)]
}

pub(crate) fn event(domain: &str, kind: EventKind, detail: &str, context: &Context) -> Event {
    Event {
        domain: domain.into(),
        at_ms: context.now_ms,
        kind,
        detail: detail.into(),
    }
}

/// How a target's domains stand.
pub(crate) fn inspect(
    config: &Config,
    target: &Target,
    context: &Context,
) -> Result<Vec<DomainState>, Suspended> {
    if names::check_target(target).is_err() {
        return Ok(vec![]);
    }
    let provider = match look(config, &target.provider, context) {
        Ok(state) => state,
        Err(Stop::Suspended(suspended)) => return Err(suspended),
        Err(Stop::Failed(_)) => return Ok(vec![]),
    };
    // Accounts and operations are never refused apart from their provider.
    let account = target.account.iter().map(|name| ('@', name));
    let operation = target.operation.iter().map(|name| ('/', name));
    let parts = account
        .chain(operation)
        .map(|(separator, name)| closed(format!("{}{separator}{name}", target.provider)));
    let parts: Vec<DomainState> = parts.collect();
    Ok(std::iter::once(provider).chain(parts).collect())
}

fn look(config: &Config, provider: &str, context: &Context) -> Result<DomainState, Stop> {
    let mut store = Store::default();
    let stored = Stored::read(&mut store, config, provider)?;
    let settings = config.settings(provider);
    let key = names::counter_key(config, provider);
    let counts = store.count(key, None, settings, context.now_ms)?;
    Ok(DomainState {
        // Some calls are made and some are not: of the three phases that is half-open.
        phase: if throttle::share(counts, settings) > 0.0 {
            Phase::HalfOpen
        } else {
            Phase::Closed
        },
        successes: counts.accepted,
        failures: counts.failed,
        order: stored
            .in_force(context.now_ms)
            .map(order::Order::to_contract),
        stored: stored.text(),
        ..closed(provider.into())
    })
}

fn closed(domain: String) -> DomainState {
    DomainState {
        domain,
        phase: Phase::Closed,
        epoch: 0,
        until_ms: 0,
        openings: 0,
        probes_passed: 0,
        lease: None,
        order: None,
        successes: 0,
        failures: 0,
        slow: 0,
        retries: 0,
        stored: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::fusewire::policy::classifier::Outcome;

    fn judged(effect: Effect, blame: Blame) -> Option<Became> {
        became(&Verdict {
            outcome: Outcome::Transient,
            effect,
            blame,
            retry_same: false,
            next_provider: false,
            min_delay_ms: 0,
            retry_after_ms: None,
            slow: false,
            rule: String::new(),
            reason: String::new(),
        })
    }

    #[test]
    fn all_but_the_providers_failure_is_accepted_and_what_is_neutral_is_nothing() {
        let blames = [
            (Blame::Provider, Became::Failed),
            // Laid to nobody in particular, a failure is still one of a call to this provider.
            (Blame::Nobody, Became::Failed),
            (Blame::Caller, Became::Failed),
            (Blame::Account, Became::Accepted),
            (Blame::Operation, Became::Accepted),
        ];
        for (blame, expected) in blames {
            assert_eq!(judged(Effect::Failure, blame), Some(expected));
            assert_eq!(judged(Effect::Success, blame), Some(Became::Accepted));
            assert_eq!(judged(Effect::SlowSuccess, blame), Some(Became::Accepted));
            assert_eq!(judged(Effect::Neutral, blame), None);
        }
    }
}
