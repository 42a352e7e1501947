//! The policy's exports: the core's answers, under its own version.

use fusewire_policy_bindings::Core;
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

use crate::schema;
use crate::translated::{self, Translated};

type Inner = Core<Translated>;

/// The policy.
pub(crate) struct Ahead;

impl lifecycle::Guest for Ahead {
    fn describe() -> Description {
        Description {
            version: "0.2.0".into(),
            record_schema: schema::SCHEMA,
            ..<Inner as lifecycle::Guest>::describe()
        }
    }

    fn configure(json: String) -> Vec<Problem> {
        <Inner as lifecycle::Guest>::configure(json)
    }
}

impl classifier::Guest for Ahead {
    fn classify(target: Target, observation: Observation) -> Verdict {
        <Inner as classifier::Guest>::classify(target, observation)
    }
}

impl evidence::Guest for Ahead {
    fn wanted(target: Target) -> Want {
        <Inner as evidence::Guest>::wanted(target)
    }
}

impl breaker::Guest for Ahead {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        <Inner as breaker::Guest>::admit(target, context)
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        <Inner as breaker::Guest>::settle(permit, ending, context)
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        let mut states = <Inner as breaker::Guest>::inspect(target, context)?;
        for state in &mut states {
            let stored = state.stored.take();
            state.stored = stored
                .map(|record| translated::stored(record.as_bytes()))
                .and_then(|bytes| String::from_utf8(bytes).ok());
        }
        Ok(states)
    }

    fn set_override(
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        <Inner as breaker::Guest>::set_override(domain, order, context)
    }
}

impl attempts::Guest for Ahead {
    fn admit(target: Target, context: Context) -> Result<attempts::Admission, Suspended> {
        <Inner as attempts::Guest>::admit(target, context)
    }

    fn overdue(permit: Permit, context: Context) -> Result<Vec<attempts::Event>, Suspended> {
        <Inner as attempts::Guest>::overdue(permit, context)
    }

    fn settle(
        permit: Permit,
        ending: Ending,
        timing: Timing,
        context: Context,
    ) -> Result<Vec<attempts::Event>, Suspended> {
        <Inner as attempts::Guest>::settle(permit, ending, timing, context)
    }
}

impl operator::Guest for Ahead {
    fn set_order(
        domain: String,
        order: Option<Order>,
        context: Context,
    ) -> Result<Vec<attempts::Event>, OverrideError> {
        <Inner as operator::Guest>::set_order(domain, order, context)
    }

    fn explain(domain: String, context: Context) -> Result<Vec<Fact>, OverrideError> {
        <Inner as operator::Guest>::explain(domain, context)
    }
}

impl planner::Guest for Ahead {
    fn next(progress: Progress, verdict: Verdict, context: Context) -> Result<Step, Suspended> {
        <Inner as planner::Guest>::next(progress, verdict, context)
    }
}
