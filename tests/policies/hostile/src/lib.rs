//! For tests: a policy that does whatever harm it is told to.
//!
//! It is Fusewire's policy, with one misbehaviour. Which one is a byte in its data, after
//! [`MARK`]: the tests compile it once, and change the byte.
//!
//! | module | subject |
//! |---|---|
//! | [`mode`] | the misbehaviours, and the byte |
//! | `harm` | the harm itself |
//! | `exports` | the policy's exports, each with its misbehaviours before the core's answer |

#![cfg_attr(
    not(target_arch = "wasm32"),
    allow(dead_code, reason = "exported from WebAssembly alone")
)]

mod exports;
mod harm;
pub mod mode;

pub use mode::{MARK, Mode};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

#[cfg(target_arch = "wasm32")]
mod component {
    use crate::exports::Hostile;

    fusewire_policy_bindings::export!(Hostile);

    /// What a component runs when an instance of it is made.
    #[unsafe(export_name = "_initialize")]
    extern "C" fn initialize() {
        crate::harm::at_start();
    }
}
