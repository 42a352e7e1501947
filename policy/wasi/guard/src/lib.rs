//! A `wasi:http` component that stands before an HTTP service: each request asks the policy, goes
//! on to the service where it may, and tells the policy how it went. Bodies stream through, in both
//! directions.
//!
//! It knows no rule of the policy, and keeps nothing but its name from one request to the next: a host
//! may give each request an instance of its own. What is remembered is in the policy's store.
//!
//! | module | subject |
//! |---|---|
//! | `settings` | what the environment says |
//! | `call` | one request: asking, forwarding, telling |
//! | `upstream` | the request to the service, and its answer |
//! | `relay` | bodies, chunk by chunk |
//! | `patience` | how long the service is waited for |
//! | `failure` | from an error of `wasi:http` to the contract's name for it |
//! | `fields` | which header fields pass through |
//! | `reply` | what the guard says itself |

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

mod call;
mod failure;
mod fields;
mod patience;
mod relay;
mod reply;
mod settings;
mod upstream;

#[allow(missing_docs, reason = "the documentation is in the WIT files")]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../wit"],
        world: "fusewire:wasi/guard",
        generate_all,
    });
}

use bindings::exports::wasi::http::incoming_handler::Guest;
use bindings::wasi::http::types::{IncomingRequest, ResponseOutparam};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

struct Guard;

// Only for WebAssembly: native linkers reject the exports' names. Elsewhere the bindings are only
// checked, by the compiler and its lints.
#[cfg(target_arch = "wasm32")]
bindings::export!(Guard with_types_in bindings);

impl Guest for Guard {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        call::handle(request, out);
    }
}
