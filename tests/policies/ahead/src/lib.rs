//! For tests: Fusewire's policy with another, newer record schema.
//!
//! The decisions are the core's. Its records are translated on their way to the store and back, so
//! that the store has records of schema 2, and the core sees its own.
//!
//! | module | subject |
//! |---|---|
//! | [`schema`] | a record of the core's schema as one of schema 2, and back |
//! | `translated` | the store with records translated |
//! | `exports` | the policy's exports |

#![cfg_attr(
    not(target_arch = "wasm32"),
    allow(dead_code, reason = "exported from WebAssembly alone")
)]

mod exports;
pub mod schema;
mod translated;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(target_arch = "wasm32")]
mod component {
    use crate::exports::Ahead;

    fusewire_policy_bindings::export!(Ahead);
}
