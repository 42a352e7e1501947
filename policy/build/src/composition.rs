//! What is plugged together of the parts that are built.

use crate::plug::{plug, plug_and_keep};
use crate::{Artefact, Builder, Result};

/// Components that are plugged together, so that the whole imports interfaces of WASI alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Composition {
    /// The policy on a `wasi:keyvalue` that can increment.
    Policy,
    /// The policy on a `wasi:keyvalue` that can compare and swap.
    PolicyCas,
    /// The first, with a door through which tests play scenarios; never shipped.
    PolicyDrive,
    /// The `wasi:http` component with its policy, on a `wasi:keyvalue` that can increment.
    Guard,
    /// The same on a `wasi:keyvalue` that can compare and swap.
    GuardCas,
    /// The `wasi:http` component with a policy that is built against the first contract, on a
    /// `wasi:keyvalue` that can increment; for tests.
    GuardFirst,
}

/// What a driver asks for besides the policy: the store past the stage, and the stage.
const DOORS: [&str; 2] = [
    "fusewire:policy/keyvalue@0.1.2",
    "fusewire:wasi/stage@0.1.0",
];

impl Composition {
    /// What is shipped, in the order in which it is told.
    pub const SHIPPED: [Self; 4] = [Self::Policy, Self::PolicyCas, Self::Guard, Self::GuardCas];

    /// The name of the file that it is kept in.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Policy => "fusewire_policy_wasi.wasm",
            Self::PolicyCas => "fusewire_policy_wasi_cas.wasm",
            Self::PolicyDrive => "fusewire_policy_wasi_drive.wasm",
            Self::Guard => "fusewire_wasi_guard.wasm",
            Self::GuardCas => "fusewire_wasi_guard_cas.wasm",
            Self::GuardFirst => "fusewire_wasi_guard_first.wasm",
        }
    }

    /// The parts that it is made of.
    #[must_use]
    pub fn parts(self) -> &'static [Artefact] {
        match self {
            Self::Policy => &[Artefact::Policy, Artefact::WasiKeyvalue],
            Self::PolicyCas => &[Artefact::Policy, Artefact::WasiKeyvalueCas],
            Self::PolicyDrive => &[Artefact::Policy, Artefact::WasiKeyvalueDrive],
            Self::Guard => &[
                Artefact::Policy,
                Artefact::WasiKeyvalue,
                Artefact::WasiGuard,
            ],
            Self::GuardCas => &[
                Artefact::Policy,
                Artefact::WasiKeyvalueCas,
                Artefact::WasiGuard,
            ],
            Self::GuardFirst => &[Artefact::First, Artefact::WasiKeyvalue, Artefact::WasiGuard],
        }
    }

    /// Builds the parts and plugs them together.
    ///
    /// # Errors
    /// A part does not compile, or they do not fit together.
    pub fn build(self, builder: &Builder) -> Result<Vec<u8>> {
        let parts: Vec<Vec<u8>> = self
            .parts()
            .iter()
            .map(|part| builder.build(*part))
            .collect::<Result<_>>()?;
        match parts.as_slice() {
            [policy, store] if self == Self::PolicyDrive => plug_and_keep(policy, store, &DOORS),
            [policy, store] => plug(policy, store),
            [policy, store, guard] => plug(guard, &plug(policy, store)?),
            _ => Err(format!(
                "{self:?} has a number of parts that nobody knows to plug"
            )),
        }
    }
}
