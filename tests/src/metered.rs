//! The built-in policy as a component, with the work that it does counted: what is compared is the
//! same on every machine and at any load.

use fusewire::engine::BUILT_IN;
use fusewire_core::{Observation, Target, Verdict};
use serde_json::{Value, json};
use wasmtime::component::{Component, Func, Instance, Linker, Val};
use wasmtime::{Config, Engine, Store};

use crate::wasi::json;

/// More than any call takes.
const FUEL: u64 = u64::MAX / 2;

/// One instance.
pub struct Metered {
    store: Store<()>,
    classify: Func,
}

impl Metered {
    /// With this configuration.
    ///
    /// # Panics
    /// The component does not start, or does not accept the configuration.
    #[must_use]
    pub fn new(configuration: &str) -> Self {
        let mut config = Config::new();
        config.consume_fuel(true);
        let engine = Engine::new(&config).expect("an engine");
        let component = Component::new(&engine, BUILT_IN).expect("a component");
        let mut linker = Linker::new(&engine);
        // Its store, of which nothing that is measured here makes use.
        linker
            .define_unknown_imports_as_traps(&component)
            .expect("a linker");
        let mut store = Store::new(&engine, ());
        store.set_fuel(FUEL).expect("fuel is consumed");
        let instance = linker
            .instantiate(&mut store, &component)
            .expect("it starts");
        let configure = export(&mut store, &instance, "lifecycle", "configure");
        let classify = export(&mut store, &instance, "classifier", "classify");
        let mut metered = Self { store, classify };
        let (problems, _) = metered.call(&configure, &[json!(configuration)]);
        assert_eq!(problems, json!([]), "the configuration has problems");
        metered
    }

    /// Judges an answer. The verdict, and how many instructions it took.
    ///
    /// # Panics
    /// The component trapped, or answered what is no verdict.
    pub fn classify(&mut self, target: &Target, observation: &Observation) -> (Verdict, u64) {
        let arguments = [json!(target), json!(observation)];
        let (verdict, fuel) = self.call(&self.classify.clone(), &arguments);
        let verdict = serde_json::from_value(verdict).expect("a verdict");
        (verdict, fuel)
    }

    fn call(&mut self, function: &Func, arguments: &[Value]) -> (Value, u64) {
        let ty = function.ty(&self.store);
        let arguments: Vec<Val> = ty
            .params()
            .zip(arguments)
            .map(|((_, ty), value)| json::read(value, &ty).expect("an argument"))
            .collect();
        self.store.set_fuel(FUEL).expect("fuel is consumed");
        let mut answer = [Val::Bool(false)];
        function
            .call(&mut self.store, &arguments, &mut answer)
            .expect("it answers");
        let left = self.store.get_fuel().expect("fuel is consumed");
        let answer = json::write(&answer[0]).expect("an answer");
        (answer, FUEL - left)
    }
}

fn export(store: &mut Store<()>, instance: &Instance, interface: &str, name: &str) -> Func {
    let interface = format!("fusewire:policy/{interface}@0.1.2");
    let interface = instance
        .get_export_index(&mut *store, None, &interface)
        .expect("the interface is exported");
    let function = instance
        .get_export_index(&mut *store, Some(&interface), name)
        .expect("the function is exported");
    instance.get_func(store, function).expect("a function")
}
