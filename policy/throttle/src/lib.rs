//! An example of a policy: adaptive throttling, after "Handling Overload" in Google's book on Site
//! Reliability Engineering.
//!
//! A provider that fails is asked less, in the measure in which it fails: each call is refused with
//! a chance that follows from what the whole fleet saw of it in the last minutes. Nothing opens, so
//! nothing has to be closed again: the share that is let through is the probe.
//!
//! It is written as somebody outside of this repository would write it: it has the contract
//! (`wit/`) and a generator of bindings, and nothing else of Fusewire. README.md in this folder
//! tells how to write one's own.
//!
//! | module | subject |
//! |---|---|
//! | here | the bindings, and the contract's exports |
//! | `throttle` | the formula: from counts to a share, and from a share to a decision |
//! | `breaker` | admit, settle and inspect: what is counted when, and what each answer says |
//! | `order` | operators' orders |
//! | `classify` | what a status or a failure means |
//! | `plan` | what to do after an attempt |
//! | `config` | the configuration, and every problem in it |
//! | `names` | whose names are valid, and where what is stored |
//! | `store` | the imported store, as one call sees it |

// A policy that traps loses the call. Let the compiler find what could.
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
// Natively nobody calls the exports.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

mod breaker;
mod classify;
mod config;
mod names;
mod order;
mod plan;
mod store;
mod throttle;

use std::cell::RefCell;

#[allow(missing_docs, reason = "the documentation is in wit/")]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "policy",
        additional_derives: [PartialEq],
    });
}

use bindings::exports::fusewire::policy::breaker::{
    self as contract_breaker, Admission, Context, DomainState, Ending, Event, OverrideError,
    OverrideOrder, Permit, Suspended,
};
use bindings::exports::fusewire::policy::classifier::{
    self as contract_classifier, Observation, Target, Verdict,
};
use bindings::exports::fusewire::policy::lifecycle::{
    self as contract_lifecycle, Description, Problem,
};
use bindings::exports::fusewire::policy::planner::{self as contract_planner, Progress, Step};

use crate::config::Config;

// Smaller and faster than the standard one for WebAssembly; not needed.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// What the contract's exports hang on.
struct Policy;

// Only for WebAssembly: native linkers reject the exports' names.
#[cfg(target_arch = "wasm32")]
bindings::export!(Policy with_types_in bindings);

thread_local! {
    /// All that an instance remembers. What is learnt of providers is in the store alone: the next
    /// call may be another instance's, on another host.
    static CONFIG: RefCell<Config> = RefCell::default();
}

impl contract_lifecycle::Guest for Policy {
    fn describe() -> Description {
        Description {
            name: "throttle".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            record_schema: order::SCHEMA,
        }
    }

    fn configure(json: String) -> Vec<Problem> {
        match Config::read(&json) {
            Ok(config) => {
                CONFIG.set(config);
                Vec::new()
            }
            Err(problems) => problems,
        }
    }
}

impl contract_classifier::Guest for Policy {
    fn classify(_: Target, observation: Observation) -> Verdict {
        classify::classify(&observation)
    }
}

impl contract_breaker::Guest for Policy {
    fn admit(target: Target, context: Context) -> Result<Admission, Suspended> {
        CONFIG.with_borrow(|config| breaker::admit(config, target, &context))
    }

    fn settle(permit: Permit, ending: Ending, context: Context) -> Result<Vec<Event>, Suspended> {
        CONFIG.with_borrow(|config| breaker::settle(config, &permit, &ending, &context))
    }

    fn inspect(target: Target, context: Context) -> Result<Vec<DomainState>, Suspended> {
        CONFIG.with_borrow(|config| breaker::inspect(config, &target, &context))
    }

    fn set_override(
        domain: String,
        order: Option<OverrideOrder>,
        context: Context,
    ) -> Result<Vec<Event>, OverrideError> {
        CONFIG.with_borrow(|config| order::set(config, &domain, order, &context))
    }
}

impl contract_planner::Guest for Policy {
    fn next(progress: Progress, verdict: Verdict, context: Context) -> Result<Step, Suspended> {
        Ok(CONFIG.with_borrow(|config| {
            let settings = config.settings(&progress.target.provider);
            plan::next(settings, &progress, &verdict, &context)
        }))
    }
}
