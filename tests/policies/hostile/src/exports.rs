//! The policy's exports, each with its misbehaviours before the core's answer.

use fusewire_policy_bindings::contract::exports::fusewire::policy::attempts::{self, Timing};
use fusewire_policy_bindings::contract::exports::fusewire::policy::breaker::{
    self, Admission, Context, DomainState, Ending, Event, OverrideError, OverrideOrder, Permit,
    Suspended,
};
use fusewire_policy_bindings::contract::exports::fusewire::policy::classifier::{
    self, Observation, Target, Verdict,
};
use fusewire_policy_bindings::contract::exports::fusewire::policy::evidence::{self, Want};
use fusewire_policy_bindings::contract::exports::fusewire::policy::lifecycle::{
    self, Description, Problem,
};
use fusewire_policy_bindings::contract::exports::fusewire::policy::operator::{self, Fact, Order};
use fusewire_policy_bindings::contract::exports::fusewire::policy::planner::{
    self, Progress, Step,
};
use fusewire_policy_bindings::{Core, HostStore};

use crate::harm;
use crate::mode::{self, Mode};

/// Fusewire's policy as it should be.
type Good = Core<HostStore>;

/// The policy.
pub(crate) struct Hostile;

impl lifecycle::Guest for Hostile {
    fn describe() -> Description {
        let name = match mode::told() {
            Mode::EndlessDescribe => harm::forever(),
            Mode::EndlessName => "x".repeat(1 << 20),
            Mode::EscapingName => "\u{1b}[2J".into(),
            _ => "hostile".into(),
        };
        Description {
            name,
            ..<Good as lifecycle::Guest>::describe()
        }
    }

    fn configure(json: String) -> Vec<Problem> {
        match mode::told() {
            Mode::EndlessConfigure => harm::forever(),
            Mode::AcceptsNothing => {
                return vec![Problem {
                    path: "/breaker".into(),
                    wrong: "this policy does as it likes".into(),
                    right: "another policy".into(),
                }];
            }
            _ => harm::configured(&json),
        }
        <Good as lifecycle::Guest>::configure(json)
    }
}

impl classifier::Guest for Hostile {
    fn classify(target: Target, observation: Observation) -> Verdict {
        let mode = mode::told();
        if mode == Mode::Leak {
            harm::leak();
        }
        let verdict = <Good as classifier::Guest>::classify(target, observation);
        match mode {
            Mode::LongReason => Verdict {
                reason: "x".repeat(8 << 10),
                ..verdict
            },
            Mode::HugeReason => Verdict {
                reason: "x".repeat(10_000_000),
                ..verdict
            },
            _ => verdict,
        }
    }
}

impl evidence::Guest for Hostile {
    fn wanted(target: Target) -> Want {
        let some = target
            .provider
            .ends_with(|last: char| last.is_ascii_digit());
        let wanted = <Good as evidence::Guest>::wanted(target);
        match mode::told() {
            Mode::TrapInWanted => harm::trap(),
            Mode::TrapInSomeWanted if some => harm::trap(),
            Mode::EndlessWanted => harm::forever(),
            Mode::WantsHugeBody => Want {
                body_bytes: u32::MAX,
                ..wanted
            },
            Mode::WantsManyFields => Want {
                headers: Some((0..1_000).map(|n| format!("x-{n}")).collect()),
                ..wanted
            },
            Mode::AliasedFields => Want {
                headers: Some(harm::aliased_names()),
                ..wanted
            },
            _ => wanted,
        }
    }
}

/// What it does when it is asked for admission, whichever way; `None`: it behaves.
fn misbehave(target: &Target, context: &Context) -> Result<Option<Admission>, Suspended> {
    let target = target.clone();
    let now_ms = context.now_ms;
    let foreign = Target {
        provider: "somebody-else".into(),
        ..target.clone()
    };
    match mode::told() {
        Mode::TrapOnFirstAdmit => harm::trap(),
        Mode::TrapOnThousandthAdmit if harm::count_admission() >= 1_000 => harm::trap(),
        Mode::TrapOnceInAThousand if context.entropy.is_multiple_of(1_000) => harm::trap(),
        Mode::EndlessAdmit => harm::forever(),
        Mode::Leak => harm::leak(),
        Mode::Recursion => {
            return Err(Suspended {
                answered: harm::recurse(0) as u32,
            });
        }
        Mode::RefusesAll => return Ok(Some(harm::refused(&target, now_ms))),
        Mode::AllowsAll => {
            let token = harm::uncounted(&target);
            return Ok(Some(harm::allowed(target, token, now_ms)));
        }
        Mode::ForeignKeys => harm::touch_foreign_keys()?,
        Mode::ThousandOperations => harm::ask_again_and_again()?,
        Mode::LongerEachRun => harm::run_longer_each_time()?,
        Mode::ManyKeys => harm::ask_for_all()?,
        Mode::ForgetsWhatItAsked => harm::ask_something_else()?,
        Mode::SuspendsForNothing => return Err(harm::wait_for_nothing()),
        Mode::AliasedEvents => {
            let token = harm::uncounted(&target);
            return Ok(Some(Admission {
                events: harm::aliased_events(now_ms),
                ..harm::allowed(target, token, now_ms)
            }));
        }
        Mode::ForeignEvents => {
            let token = harm::uncounted(&target);
            return Ok(Some(Admission {
                events: vec![harm::foreign_event(now_ms)],
                ..harm::allowed(target, token, now_ms)
            }));
        }
        Mode::LongPermit => return Ok(Some(harm::allowed(target, "x".repeat(8 << 10), now_ms))),
        Mode::ForeignPermit => {
            let token = harm::uncounted(&foreign);
            return Ok(Some(harm::allowed(foreign, token, now_ms)));
        }
        _ => {}
    }
    Ok(None)
}

impl breaker::Guest for Hostile {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        match misbehave(&target, &context)? {
            Some(admission) => Ok(admission),
            None => <Good as breaker::Guest>::admit(target, context),
        }
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        <Good as breaker::Guest>::settle(permit, ending, context)
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        <Good as breaker::Guest>::inspect(target, context)
    }

    fn set_override(
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        <Good as breaker::Guest>::set_override(domain, order, context)
    }
}

impl attempts::Guest for Hostile {
    fn admit(target: Target, context: Context) -> Result<attempts::Admission, Suspended> {
        if let Some(admission) = misbehave(&target, &context)? {
            return Ok(harm::without_limits(admission));
        }
        let admission = <Good as attempts::Guest>::admit(target, context)?;
        Ok(match mode::told() {
            Mode::NoTime => harm::without_time(admission),
            _ => admission,
        })
    }

    fn overdue(permit: Permit, context: Context) -> Result<Vec<attempts::Event>, Suspended> {
        <Good as attempts::Guest>::overdue(permit, context)
    }

    fn settle(
        permit: Permit,
        ending: Ending,
        timing: Timing,
        context: Context,
    ) -> Result<Vec<attempts::Event>, Suspended> {
        <Good as attempts::Guest>::settle(permit, ending, timing, context)
    }
}

impl operator::Guest for Hostile {
    fn set_order(
        domain: String,
        order: Option<Order>,
        context: Context,
    ) -> Result<Vec<attempts::Event>, OverrideError> {
        <Good as operator::Guest>::set_order(domain, order, context)
    }

    fn explain(domain: String, context: Context) -> Result<Vec<Fact>, OverrideError> {
        match mode::told() {
            Mode::ManyFacts => Ok(harm::many_facts()),
            Mode::LongFact => Ok(vec![harm::long_fact()]),
            _ => <Good as operator::Guest>::explain(domain, context),
        }
    }
}

impl planner::Guest for Hostile {
    fn next(progress: Progress, verdict: Verdict, context: Context) -> Result<Step, Suspended> {
        match mode::told() {
            Mode::RetriesForEver => Ok(Step::Retry(0)),
            Mode::WaitsForEver => Ok(Step::Retry(u64::MAX)),
            _ => <Good as planner::Guest>::next(progress, verdict, context),
        }
    }
}
