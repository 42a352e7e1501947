//! The Proxy-Wasm ABI, version 0.2.1: the one place where the filter touches memory and numbers
//! that another program hands it.
//!
//! | module | subject |
//! |---|---|
//! | `memory` | memory that Envoy asks for and hands back |
//! | `imports` | Envoy's functions, each fallible |
//! | `exports` | the functions that Envoy calls |
//!
//! The crate `proxy-wasm` is not used: its host calls panic on a status that it does not expect,
//! and take the host's number for a Rust enum, which is undefined for one that it does not know;
//! its dispatcher panics on a context that it does not know. A panic here costs Envoy's worker its
//! VM.

#![allow(
    unsafe_code,
    reason = "a foreign function interface; each block says why it is sound"
)]

#[cfg(target_arch = "wasm32")]
mod exports;
#[cfg(target_arch = "wasm32")]
mod imports;
mod memory;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
