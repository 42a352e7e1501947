//! The policy contract's exports over Fusewire's core, for components to be made of.
//!
//! It turns the contract's types into the core's and back, and knows no rule of the policy. The
//! exports themselves are the component's: it calls [`export`] with a type, either [`Core`] on
//! the store that the host imports, or one of its own that asks [`Core`] for most of it.
//!
//! | module | subject |
//! |---|---|
//! | [`contract`] | what wit-bindgen makes of `wit/` |
//! | [`store`] | the imported store as the core's |
//! | `given` | arguments: the contract's types to the core's |
//! | `answer` | answers: the core's types to the contract's |

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod answer;
mod given;
pub mod store;

use std::cell::RefCell;
use std::marker::PhantomData;

use fusewire_core as core;
use fusewire_core::KeyValue;

/// The contract's types and exports, as wit-bindgen makes them of `wit/`.
#[allow(
    missing_docs,
    unreachable_pub,
    reason = "generated; the documentation is in wit/"
)]
pub mod contract {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "policy-3",
        ownership: Borrowing { duplicate_if_necessary: true },
        pub_export_macro: true,
        default_bindings_module: "fusewire_policy_bindings::contract",
    });
}

use contract::exports::fusewire::policy::attempts::{self, Timing};
use contract::exports::fusewire::policy::breaker::{
    self, Admission, Context, DomainState, Ending, Event, OverrideError, OverrideOrder, Permit,
    Suspended,
};
use contract::exports::fusewire::policy::classifier::{self, Observation, Target, Verdict};
use contract::exports::fusewire::policy::evidence::{self, Want};
use contract::exports::fusewire::policy::lifecycle::{self, Description, Problem};
use contract::exports::fusewire::policy::operator::{self, Fact};
use contract::exports::fusewire::policy::planner::{self, Progress, Step};

pub use contract::export;

pub use self::store::HostStore;

/// The core as the contract's exports, on a store that is made for each call.
pub struct Core<S>(PhantomData<S>);

thread_local! {
    // A component has one thread, and its exports are not called from within its imports.
    static POLICY: RefCell<core::Policy> = RefCell::default();
}

fn with<T>(call: impl FnOnce(&core::Policy) -> T) -> T {
    POLICY.with_borrow(call)
}

impl<S> lifecycle::Guest for Core<S> {
    fn describe() -> Description {
        answer::description(core::Policy::describe())
    }

    fn configure(json: String) -> Vec<Problem> {
        let problems = POLICY.with_borrow_mut(|policy| policy.configure(&json));
        problems.into_iter().map(answer::problem).collect()
    }
}

impl<S> classifier::Guest for Core<S> {
    fn classify(target: Target, observation: Observation) -> Verdict {
        let (target, observation) = (given::target(target), given::observation(observation));
        answer::verdict(with(|policy| policy.classify(&target, &observation)))
    }
}

impl<S> evidence::Guest for Core<S> {
    fn wanted(target: Target) -> Want {
        let target = given::target(target);
        answer::wanted(with(|policy| policy.wanted(&target)))
    }
}

impl<S: KeyValue + Default> breaker::Guest for Core<S> {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        let (target, context) = (given::target(target), given::context(context));
        with(|policy| policy.admit(&mut S::default(), &target, &context))
            .map(answer::admission)
            .map_err(answer::suspended)
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        let (permit, ending) = (given::permit(permit), given::ending(ending));
        let context = given::context(context);
        let timing = core::Timing::default();
        with(|policy| policy.settle(&mut S::default(), &permit, &ending, &timing, &context))
            .map(answer::events)
            .map_err(answer::suspended)
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        let (target, context) = (given::target(target), given::context(context));
        with(|policy| policy.inspect(&mut S::default(), &target, &context))
            .map(|states| states.into_iter().map(answer::state).collect())
            .map_err(answer::suspended)
    }

    fn set_override(
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        let (order, context) = (order.map(given::order), given::context(context));
        with(|policy| policy.order(&mut S::default(), &domain, order.as_ref(), &context))
            .map(answer::events)
            .map_err(answer::override_error)
    }
}

impl<S: KeyValue + Default> attempts::Guest for Core<S> {
    fn admit(target: Target, context: Context) -> Result<attempts::Admission, Suspended> {
        let (target, context) = (given::target(target), given::context(context));
        with(|policy| policy.admit(&mut S::default(), &target, &context))
            .map(answer::attempt)
            .map_err(answer::suspended)
    }

    fn overdue(permit: Permit, context: Context) -> Result<Vec<attempts::Event>, Suspended> {
        let (permit, context) = (given::permit(permit), given::context(context));
        with(|policy| policy.overdue(&mut S::default(), &permit, &context))
            .map(answer::all_events)
            .map_err(answer::suspended)
    }

    fn settle(
        permit: Permit,
        ending: Ending,
        timing: Timing,
        context: Context,
    ) -> Result<Vec<attempts::Event>, Suspended> {
        let (permit, ending) = (given::permit(permit), given::ending(ending));
        let (timing, context) = (given::timing(timing), given::context(context));
        with(|policy| policy.settle(&mut S::default(), &permit, &ending, &timing, &context))
            .map(answer::all_events)
            .map_err(answer::suspended)
    }
}

impl<S: KeyValue + Default> operator::Guest for Core<S> {
    fn set_order(
        domain: String,
        order: Option<operator::Order>,
        context: Context,
    ) -> Result<Vec<attempts::Event>, OverrideError> {
        let (order, context) = (order.map(given::share_order), given::context(context));
        with(|policy| policy.order(&mut S::default(), &domain, order.as_ref(), &context))
            .map(answer::all_events)
            .map_err(answer::override_error)
    }

    fn explain(domain: String, context: Context) -> Result<Vec<Fact>, OverrideError> {
        let context = given::context(context);
        with(|policy| policy.explain_domain(&mut S::default(), &domain, &context))
            .map(|facts| facts.into_iter().map(answer::fact).collect())
            .map_err(answer::override_error)
    }
}

impl<S> planner::Guest for Core<S> {
    fn next(progress: Progress, verdict: Verdict, context: Context) -> Result<Step, Suspended> {
        let (progress, verdict) = (given::progress(progress), given::verdict(verdict));
        let context = given::context(context);
        with(|policy| policy.next(&progress, &verdict, &context))
            .map(answer::step)
            .map_err(answer::suspended)
    }
}
