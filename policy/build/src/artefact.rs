//! What there is to build.

/// One thing that is compiled to WebAssembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artefact {
    /// The policy: a component of the world `fusewire:policy/policy`.
    Policy,
    /// The filter for Envoy, a core module.
    Envoy,
    /// The same with a door through which tests play scenarios; never shipped.
    EnvoyDrive,
    /// The adapter from `fusewire:policy/keyvalue` to a `wasi:keyvalue` that can increment, a
    /// component.
    WasiKeyvalue,
    /// The adapter to a `wasi:keyvalue` that can compare and swap.
    WasiKeyvalueCas,
    /// The first adapter with a door through which tests play scenarios; never shipped.
    WasiKeyvalueDrive,
    /// The `wasi:http` component that guards an upstream, before a policy is plugged in.
    WasiGuard,
    /// A filter for Envoy that does nothing, to be compared with.
    EmptyFilter,
    /// A second policy, small and different: an example for authors.
    Throttle,
    /// A policy that is built against the first contract; for tests.
    First,
    /// A policy that does whatever harm it is told to; for tests.
    Hostile,
    /// The policy with another record schema; for tests.
    Ahead,
}

impl Artefact {
    /// What is shipped, in the order in which it is told.
    pub const SHIPPED: [Self; 6] = [
        Self::Policy,
        Self::Throttle,
        Self::Envoy,
        Self::WasiKeyvalue,
        Self::WasiKeyvalueCas,
        Self::WasiGuard,
    ];

    /// The package that it is compiled from.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::Policy => "fusewire-policy-component",
            Self::Envoy | Self::EnvoyDrive => "fusewire-envoy",
            Self::WasiKeyvalue | Self::WasiKeyvalueCas | Self::WasiKeyvalueDrive => {
                "fusewire-wasi-keyvalue"
            }
            Self::WasiGuard => "fusewire-wasi-guard",
            Self::EmptyFilter => "fusewire-empty-filter",
            Self::Throttle => "fusewire-throttle",
            Self::First => "fusewire-first-policy",
            Self::Hostile => "fusewire-hostile-policy",
            Self::Ahead => "fusewire-ahead-policy",
        }
    }

    /// The package's feature that makes it what it is, where there is one.
    #[must_use]
    pub fn feature(self) -> Option<&'static str> {
        match self {
            Self::EnvoyDrive | Self::WasiKeyvalueDrive => Some("drive"),
            Self::WasiKeyvalueCas => Some("cas"),
            _ => None,
        }
    }

    /// The profile of the workspace's manifest that it is compiled with.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Self::Envoy | Self::EnvoyDrive | Self::EmptyFilter => "wasm-speed",
            _ => "wasm",
        }
    }

    /// The name of the file that cargo makes.
    pub(crate) fn compiled_file(self) -> String {
        let library = match self {
            Self::Policy => "fusewire_policy",
            Self::Envoy | Self::EnvoyDrive => "fusewire_envoy",
            Self::WasiKeyvalue | Self::WasiKeyvalueCas | Self::WasiKeyvalueDrive => {
                "fusewire_wasi_keyvalue"
            }
            Self::WasiGuard => "fusewire_wasi_guard",
            Self::EmptyFilter => "fusewire_empty_filter",
            Self::Throttle => "fusewire_throttle",
            Self::First => "fusewire_first_policy",
            Self::Hostile => "fusewire_hostile_policy",
            Self::Ahead => "fusewire_ahead_policy",
        };
        format!("{library}.wasm")
    }

    /// The name of the file that it is kept in.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::EnvoyDrive => "fusewire_envoy_drive.wasm".to_owned(),
            Self::WasiKeyvalueCas => "fusewire_wasi_keyvalue_cas.wasm".to_owned(),
            Self::WasiKeyvalueDrive => "fusewire_wasi_keyvalue_drive.wasm".to_owned(),
            Self::WasiGuard => "fusewire_wasi_guard_alone.wasm".to_owned(),
            _ => self.compiled_file(),
        }
    }

    /// The folders and files of the workspace that it is made of.
    #[must_use]
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Policy => &["wit", "policy/core", "policy/component"],
            Self::Envoy | Self::EnvoyDrive => &["policy/core", "policy/envoy"],
            Self::WasiKeyvalue
            | Self::WasiKeyvalueCas
            | Self::WasiKeyvalueDrive
            | Self::WasiGuard => &["wit", "policy/core", "policy/wasi"],
            Self::EmptyFilter => &["tests/filters/empty"],
            Self::Throttle => &["wit", "policy/throttle"],
            Self::First => &["tests/contracts/0.1.0", "tests/policies/first"],
            Self::Hostile => &[
                "wit",
                "policy/core",
                "policy/component",
                "tests/policies/hostile",
            ],
            Self::Ahead => &[
                "wit",
                "policy/core",
                "policy/component",
                "tests/policies/ahead",
            ],
        }
    }

    /// The scenarios that it carries: files of the workspace, and folders of such files, of which
    /// one that is not there has none. They state what it promises before all else, and a host plays
    /// them before it lets it serve: few, so that this takes no time.
    #[must_use]
    pub fn scenarios(self) -> &'static [&'static str] {
        match self {
            Self::Policy => &[
                "tests/scenarios/five-failures-within-a-minute-open-the-breaker.toml",
                "tests/scenarios/successes-never-erase-failures.toml",
                "tests/scenarios/what-is-not-the-providers-fault-counts-for-nothing.toml",
                "tests/scenarios/one-provider-never-opens-another.toml",
                "tests/scenarios/the-end-of-a-cool-down-admits-one-probe-of-the-fleet.toml",
                "tests/scenarios/a-failed-probe-reopens-at-once.toml",
                "tests/scenarios/three-clean-probes-in-a-row-close-it.toml",
                "tests/scenarios/an-outcome-from-before-the-last-close-is-stale.toml",
                "tests/scenarios/a-store-that-is-down-refuses-nobody.toml",
                "tests/scenarios/an-operator-can-force-it-open.toml",
            ],
            Self::Throttle => &["policy/throttle/scenarios"],
            _ => &[],
        }
    }
}
