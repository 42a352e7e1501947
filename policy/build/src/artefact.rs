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
}

impl Artefact {
    /// What is shipped, in the order in which it is told.
    pub const SHIPPED: [Self; 5] = [
        Self::Policy,
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
        }
    }
}
