//! One instance of a component, whose exports are called by JSON.

use std::path::Path;

use serde_json::{Value, json};
use wasmtime::component::{Component, Func, Instance, Linker, Val};
use wasmtime::{Engine, Store};
use wasmtime_wasi::WasiCtx;

use super::json;
use super::keyvalue::Contents;
use super::state::State;

/// What went wrong, as a sentence.
pub(super) type Fault = String;

/// One instance of a component.
pub(super) struct Running {
    store: Store<State>,
    instance: Instance,
}

impl Running {
    /// An instance of the component in this file, alone on wasmtime's own `wasi:keyvalue`.
    pub(super) fn alone(path: &Path) -> wasmtime::Result<Self> {
        // These contents are not linked, and so never asked.
        Self::start(path, Contents::cas(), State::link_own_keyvalue)
    }

    /// An instance that shares these contents.
    pub(super) fn sharing(path: &Path, contents: &Contents) -> wasmtime::Result<Self> {
        Self::start(path, contents.clone(), Contents::add_to_linker)
    }

    fn start(
        path: &Path,
        contents: Contents,
        link: impl FnOnce(&mut Linker<State>) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<Self> {
        let engine = Engine::default();
        let component = Component::from_file(&engine, path)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
        link(&mut linker)?;
        let state = State::new(WasiCtx::builder().build(), contents);
        let mut store = Store::new(&engine, state);
        let instance = linker.instantiate(&mut store, &component)?;
        Ok(Self { store, instance })
    }

    /// Whether the component exports this interface.
    pub(super) fn exports(&mut self, interface: &str) -> bool {
        let found = self
            .instance
            .get_export_index(&mut self.store, None, interface);
        found.is_some()
    }

    /// Calls an export with arguments by the names of its parameters.
    pub(super) fn call_named(
        &mut self,
        interface: &str,
        name: &str,
        given: &Value,
    ) -> Result<Value, Fault> {
        let function = self.function(interface, name)?;
        let names: Vec<String> = function
            .ty(&self.store)
            .params()
            .map(|(name, _)| name.to_owned())
            .collect();
        let arguments: Vec<Value> = names.iter().map(|name| given[name].clone()).collect();
        self.call(interface, name, &arguments)
    }

    fn function(&mut self, interface: &str, name: &str) -> Result<Func, Fault> {
        let absent = || format!("the component does not export `{name}` of `{interface}`");
        let store = &mut self.store;
        let outer = self.instance.get_export_index(&mut *store, None, interface);
        let outer = outer.ok_or_else(absent)?;
        let inner = self
            .instance
            .get_export_index(&mut *store, Some(&outer), name);
        let inner = inner.ok_or_else(absent)?;
        self.instance
            .get_func(&mut *store, inner)
            .ok_or_else(absent)
    }

    /// Calls an export. A result is an object with `ok` or `err`; no result is null.
    pub(super) fn call(
        &mut self,
        interface: &str,
        name: &str,
        given: &[Value],
    ) -> Result<Value, Fault> {
        let function = self.function(interface, name)?;
        let ty = function.ty(&self.store);
        let arguments: Vec<Val> = ty
            .params()
            .zip(given)
            .map(|((name, ty), value)| {
                json::read(value, &ty).map_err(|fault| format!("the argument `{name}`: {fault}"))
            })
            .collect::<Result<_, _>>()?;
        let mut results = vec![Val::Bool(false); ty.results().len()];
        function
            .call(&mut self.store, &arguments, &mut results)
            .map_err(|error| format!("`{name}` failed: {error:#}"))?;
        let payload =
            |value: &Option<Box<Val>>| value.as_deref().map_or(Ok(Value::Null), json::write);
        match results.first() {
            None => Ok(Value::Null),
            Some(Val::Result(Ok(value))) => Ok(json!({ "ok": payload(value)? })),
            Some(Val::Result(Err(value))) => Ok(json!({ "err": payload(value)? })),
            Some(value) => json::write(value),
        }
    }
}
