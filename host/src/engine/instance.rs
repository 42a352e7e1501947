//! One instance of a component, and the bindings that are made from `wit/`.

use wasmtime::Store as WasmtimeStore;
use wasmtime::component::InstancePre;

use super::imports::HostState;
use super::{Compiled, contract};

/// Made of the newest world. Its interfaces are looked for one by one, since a policy need not have
/// all of them.
#[allow(missing_docs, reason = "the documentation is in wit/")]
pub(super) mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy-3",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

use self::bindings::exports::fusewire::policy::{
    attempts, breaker, classifier, evidence, lifecycle, operator, planner,
};

/// An instance with its exports.
pub(super) struct Instance {
    pub(super) store: WasmtimeStore<HostState>,
    pub(super) exports: Exports,
}

macro_rules! exports {
    ($($(#[$doc:meta])* $name:ident)*; $($(#[$odoc:meta])* $optional:ident: $interface:expr),*) => {
        /// What an instance exports of the contract.
        pub(super) struct Exports {
            $($(#[$doc])* pub(super) $name: $name::Guest,)*
            $($(#[$odoc])* pub(super) $optional: Option<$optional::Guest>,)*
        }

        /// Where the exports of a component are.
        pub(super) struct Places {
            $($name: $name::GuestIndices,)*
            $($optional: Option<$optional::GuestIndices>,)*
        }

        impl Places {
            /// Finds the exports; `has` tells of each optional interface whether it is there.
            pub(super) fn find(
                pre: &InstancePre<HostState>,
                has: impl Fn(&str) -> bool,
            ) -> wasmtime::Result<Self> {
                Ok(Self {
                    $($name: $name::GuestIndices::new(pre)?,)*
                    // It fails where what is there is of another shape.
                    $($optional: has($interface)
                        .then(|| $optional::GuestIndices::new(pre))
                        .transpose()?,)*
                })
            }
        }

        impl Exports {
            /// Makes an instance in this store, and finds its exports.
            pub(super) fn make(
                compiled: &Compiled,
                store: &mut WasmtimeStore<HostState>,
            ) -> wasmtime::Result<Self> {
                let instance = compiled.pre.instantiate(&mut *store)?;
                let places = &compiled.places;
                Ok(Self {
                    $($name: places.$name.load(&mut *store, &instance)?,)*
                    $($optional: match &places.$optional {
                        None => None,
                        Some(there) => Some(there.load(&mut *store, &instance).map_err(|error| {
                            error.context(format!("its `{}` is not the contract's", $interface))
                        })?),
                    },)*
                })
            }
        }
    };
}

exports!(
    lifecycle
    classifier
    breaker
    planner;
    /// `None`: it does not say what it looks at.
    evidence: contract::EVIDENCE,
    /// `None`: attempts are asked about by `breaker`.
    attempts: contract::ATTEMPTS,
    /// `None`: orders go to `breaker`.
    operator: contract::OPERATOR
);

impl Places {
    /// Whether it says what it looks at.
    pub(super) fn says_what_it_looks_at(&self) -> bool {
        self.evidence.is_some()
    }

    /// Whether it sets limits.
    pub(super) fn sets_limits(&self) -> bool {
        self.attempts.is_some()
    }
}
