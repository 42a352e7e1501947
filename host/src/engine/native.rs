//! The core compiled into the host: what the component is compared with.

use std::sync::Arc;

use fusewire_core::{
    Description, Observation, OverrideError, Policy, Suspended, Target, Verdict, Wanted,
};

use super::evidence::Kept;
use super::{Answer, Call, Engine, Fault, LoadError, Tape};

/// The policy without WebAssembly.
#[derive(Debug)]
pub struct NativeEngine {
    description: Description,
    policy: Policy,
    looks_at: Kept,
}

impl NativeEngine {
    /// A policy with this configuration, a JSON text.
    ///
    /// # Errors
    /// [`LoadError::Configuration`] with every problem.
    pub fn new(configuration: &str) -> Result<Self, LoadError> {
        let mut policy = Policy::default();
        let problems = policy.configure(configuration);
        if problems.is_empty() {
            Ok(Self {
                description: Policy::describe(),
                policy,
                looks_at: Kept::default(),
            })
        } else {
            Err(LoadError::Configuration(problems))
        }
    }
}

impl Engine for NativeEngine {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn wanted(&self, target: &Target) -> Result<Arc<Wanted>, Fault> {
        self.looks_at
            .get_or_ask(target, || Ok(self.policy.wanted(target)))
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        Ok(self.policy.classify(target, observation))
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        let policy = &self.policy;
        Ok(match call {
            Call::Admit(target, context) => {
                policy.admit(tape, target, context).map(Answer::Admission)
            }
            Call::Settle(permit, ending, timing, context) => policy
                .settle(tape, permit, ending, timing, context)
                .map(Answer::Settled),
            Call::Overdue(permit, context) => {
                policy.overdue(tape, permit, context).map(Answer::Settled)
            }
            Call::Inspect(target, context) => {
                policy.inspect(tape, target, context).map(Answer::States)
            }
            Call::Order(domain, order, context) => {
                match policy.order(tape, domain, order.as_ref(), context) {
                    Err(OverrideError::Suspended(suspended)) => Err(suspended),
                    answer => Ok(Answer::Ordered(answer)),
                }
            }
            Call::Explain(domain, context) => match policy.explain_domain(tape, domain, context) {
                Err(OverrideError::Suspended(suspended)) => Err(suspended),
                answer => Ok(Answer::Facts(answer)),
            },
            Call::Next(progress, verdict, context) => {
                policy.next(progress, verdict, context).map(Answer::Step)
            }
        })
    }
}
