//! What the host of one instance has.

use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView, default_hooks};
use wasmtime_wasi_keyvalue::{WasiKeyValue, WasiKeyValueCtx};

use super::keyvalue::{Contents, HasContents, View};

/// WASI for one instance, on contents that it shares or on wasmtime's own `wasi:keyvalue`,
/// whichever is linked.
pub(super) struct State {
    table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    keyvalue: WasiKeyValueCtx,
    contents: Contents,
}

impl State {
    pub(super) fn new(wasi: WasiCtx, contents: Contents) -> Self {
        Self {
            table: ResourceTable::new(),
            wasi,
            http: WasiHttpCtx::new(),
            keyvalue: WasiKeyValueCtx::builder().build(),
            contents,
        }
    }

    /// Gives components wasmtime's own `wasi:keyvalue`, in place of the contents.
    pub(super) fn link_own_keyvalue(linker: &mut Linker<Self>) -> wasmtime::Result<()> {
        wasmtime_wasi_keyvalue::add_to_linker(linker, |state| {
            WasiKeyValue::new(&state.keyvalue, &mut state.table)
        })
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.table,
            hooks: default_hooks(),
        }
    }
}

impl HasContents for State {
    fn contents(&mut self) -> View<'_> {
        View {
            contents: &self.contents,
            table: &mut self.table,
        }
    }
}
