//! Fusewire's policy as a WebAssembly component.
//!
//! A thin binding: it turns the contract's types into the core's and back, and hands the store
//! through. It knows no rule of the policy, and imports nothing but `fusewire:policy/keyvalue`.
//!
//! | module | subject |
//! |---|---|
//! | `store` | the imported store as the core's |
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
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

mod answer;
mod given;
mod store;

use std::cell::RefCell;

use fusewire_core as core;

#[allow(missing_docs, reason = "the documentation is in wit/")]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "policy",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

use bindings::exports::fusewire::policy::breaker::{
    self, Admission, Context, DomainState, Ending, Event, OverrideError, OverrideOrder, Permit,
    Suspended,
};
use bindings::exports::fusewire::policy::classifier::{self, Observation, Target, Verdict};
use bindings::exports::fusewire::policy::lifecycle::{self, Description, Problem};
use bindings::exports::fusewire::policy::planner::{self, Progress, Step};

use crate::store::HostStore;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

struct Policy;

// Only for WebAssembly: native linkers reject the exports' names. Elsewhere the bindings are only
// checked, by the compiler and its lints.
#[cfg(target_arch = "wasm32")]
bindings::export!(Policy with_types_in bindings);

thread_local! {
    // A component has one thread, and its exports are not called from within its imports.
    static POLICY: RefCell<core::Policy> = RefCell::default();
}

fn with<T>(call: impl FnOnce(&core::Policy) -> T) -> T {
    POLICY.with_borrow(call)
}

impl lifecycle::Guest for Policy {
    fn describe() -> Description {
        answer::description(core::Policy::describe())
    }

    fn configure(json: String) -> Vec<Problem> {
        let problems = POLICY.with_borrow_mut(|policy| policy.configure(&json));
        problems.into_iter().map(answer::problem).collect()
    }
}

impl classifier::Guest for Policy {
    fn classify(target: Target, observation: Observation) -> Verdict {
        let (target, observation) = (given::target(target), given::observation(observation));
        answer::verdict(with(|policy| policy.classify(&target, &observation)))
    }
}

impl breaker::Guest for Policy {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        let (target, context) = (given::target(target), given::context(context));
        with(|policy| policy.admit(&mut HostStore, &target, &context))
            .map(answer::admission)
            .map_err(answer::suspended)
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        let (permit, ending) = (given::permit(permit), given::ending(ending));
        let context = given::context(context);
        with(|policy| policy.settle(&mut HostStore, &permit, &ending, &context))
            .map(answer::events)
            .map_err(answer::suspended)
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        let (target, context) = (given::target(target), given::context(context));
        with(|policy| policy.inspect(&mut HostStore, &target, &context))
            .map(|states| states.into_iter().map(answer::state).collect())
            .map_err(answer::suspended)
    }

    fn set_override(
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        let (order, context) = (order.map(given::order), given::context(context));
        with(|policy| policy.order(&mut HostStore, &domain, order.as_ref(), &context))
            .map(answer::events)
            .map_err(answer::override_error)
    }
}

impl planner::Guest for Policy {
    fn next(progress: Progress, verdict: Verdict, context: Context) -> Result<Step, Suspended> {
        let (progress, verdict) = (given::progress(progress), given::verdict(verdict));
        let context = given::context(context);
        with(|policy| policy.next(&progress, &verdict, &context))
            .map(answer::step)
            .map_err(answer::suspended)
    }
}
