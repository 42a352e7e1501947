//! Fusewire's policy as a WebAssembly component: the core on the store that the host imports. It
//! imports nothing but `fusewire:policy/keyvalue`.
//!
//! Everything is for WebAssembly alone: native linkers reject the names of the exports.

#[cfg(target_arch = "wasm32")]
mod component {
    use fusewire_policy_bindings::{Core, HostStore, export};

    #[global_allocator]
    static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

    type Policy = Core<HostStore>;

    export!(Policy);
}
