//! The Proxy-Wasm ABI, version 0.2.1: the one place where the filter touches memory and numbers
//! that another program hands it.
//!
//! | module | subject |
//! |---|---|
//! | `memory` | memory that Envoy asks for and hands back |
//! | `pairs` | lists of header fields, as bytes |
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
mod pairs;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Bytes as a text; what is not UTF-8 is replaced.
fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
