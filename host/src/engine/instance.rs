//! One instance of a component, and the bindings that are made from `wit/`.

use wasmtime::Store as WasmtimeStore;

use super::Compiled;
use super::imports::HostState;

#[allow(missing_docs, reason = "the documentation is in wit/")]
pub(super) mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

/// What a policy may export besides. Apart from the world, of which all must be there.
#[allow(missing_docs, reason = "the documentation is in wit/")]
pub(super) mod optional {
    wasmtime::component::bindgen!({
        inline: "
            package fusewire:host;
            world says { export fusewire:policy/evidence@0.1.1; }
        ",
        path: "../wit",
        world: "fusewire:host/says",
    });
}

/// An instance with its exports.
pub(super) struct Instance {
    pub(super) store: WasmtimeStore<HostState>,
    pub(super) policy: bindings::Policy,
    /// `None`: it does not say what it looks at.
    pub(super) evidence: Option<optional::Says>,
}

impl Instance {
    /// Makes an instance in this store, and finds its exports.
    pub(super) fn make(
        compiled: &Compiled,
        store: &mut WasmtimeStore<HostState>,
    ) -> wasmtime::Result<(bindings::Policy, Option<optional::Says>)> {
        let instance = compiled.pre.instantiate(&mut *store)?;
        let policy = compiled.policy.load(&mut *store, &instance)?;
        let evidence = compiled.evidence.as_ref();
        let evidence = evidence.map(|says| {
            let loaded = says.load(store, &instance);
            loaded.map_err(|error| error.context("its `evidence` is not the contract's"))
        });
        Ok((policy, evidence.transpose()?))
    }
}
