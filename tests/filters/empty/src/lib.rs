//! A proxy-wasm filter that looks at nothing and lets everything through: what Envoy and its
//! WebAssembly runtime charge before a filter has done anything. The benchmark compares
//! Fusewire's filter with it.

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

// Only for WebAssembly: elsewhere there is no host to call, and the code is only checked.
#[cfg(target_arch = "wasm32")]
#[allow(missing_docs, reason = "the macro's function has none")]
mod start {
    proxy_wasm::main! {{
        proxy_wasm::set_root_context(|_| Box::new(super::Empty));
    }}
}

/// The root of each worker, and each stream.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
struct Empty;

impl Context for Empty {}

impl HttpContext for Empty {}

impl RootContext for Empty {
    fn create_http_context(&self, _: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Self))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
