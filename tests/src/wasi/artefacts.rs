//! The components, as the build of the tests has made them.

/// The adapter to a `wasi:keyvalue` that can increment.
pub const ADAPTER: &str = env!("FUSEWIRE_WASI_KEYVALUE_WASM");

/// The adapter to a `wasi:keyvalue` that can compare and swap.
pub const ADAPTER_CAS: &str = env!("FUSEWIRE_WASI_KEYVALUE_CAS_WASM");

/// The policy, plugged onto the first adapter.
pub const POLICY: &str = env!("FUSEWIRE_POLICY_WASI_WASM");

/// The policy, plugged onto the second adapter.
pub const POLICY_CAS: &str = env!("FUSEWIRE_POLICY_WASI_CAS_WASM");

/// The policy, plugged onto the first adapter with a stage for scenarios around it.
pub const POLICY_DRIVE: &str = env!("FUSEWIRE_POLICY_WASI_DRIVE_WASM");

/// The HTTP component with its policy, plugged onto the first adapter.
pub const GUARD: &str = env!("FUSEWIRE_WASI_GUARD_WASM");

/// The HTTP component with its policy, plugged onto the second adapter.
pub const GUARD_CAS: &str = env!("FUSEWIRE_WASI_GUARD_CAS_WASM");

/// The HTTP component with a policy that is built against the first contract, plugged onto the first
/// adapter.
pub const GUARD_FIRST: &str = env!("FUSEWIRE_WASI_GUARD_FIRST_WASM");
