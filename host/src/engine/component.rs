//! A policy as a WebAssembly component.
//!
//! # Instances
//!
//! A component answers from its arguments, its configuration and its store, so its instances are
//! interchangeable. An engine keeps those that nobody uses, makes another when there is none, and
//! so has as many as there are calls on different threads at one moment. A call takes an instance
//! out, and puts it back when it has answered; a call that is suspended holds none. An instance
//! that trapped, ran out of time or wanted too much memory is not put back: its state is unknown,
//! and the next call gets a new one.
//!
//! # Limits
//!
//! Each instance has a memory limit. Each call has a deadline, by wasmtime's epochs: a thread
//! counts ticks, and compiled code looks at the count at every loop and call. The thread ends with
//! its engine.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fusewire_core::{Description, Observation, OverrideError, Problem, Suspended, Target, Verdict};
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Config, Engine as Wasmtime, Store as WasmtimeStore, StoreLimitsBuilder, Trap};

use super::imports::HostState;
use super::{Answer, Call, Engine, Fault, LoadError, Tape, convert};

#[allow(missing_docs, reason = "the documentation is in wit/")]
pub(super) mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

/// The policy that this host was built with: a component of the world `policy`.
pub static BUILT_IN: &[u8] = include_bytes!(env!("FUSEWIRE_POLICY_WASM"));

/// The only interface that a policy may import, whatever its version.
const IMPORT: &str = "fusewire:policy/keyvalue@";

/// One tick of the epoch, which is how finely deadlines are kept.
const TICK: Duration = Duration::from_millis(5);

/// What a policy may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest that one run of an export may take. A thousand times what it usually takes,
    /// so that a busy machine does not look like a broken policy.
    pub deadline: Duration,
    /// The most memory of one instance, in bytes.
    pub memory: usize,
    /// The most instances kept for later calls.
    pub spare_instances: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(100),
            memory: 16 << 20,
            spare_instances: 64,
        }
    }
}

/// A component with its configuration, ready to be asked.
pub struct ComponentEngine {
    description: Description,
    configuration: String,
    limits: Limits,
    wasmtime: Wasmtime,
    pre: bindings::PolicyPre<HostState>,
    #[expect(
        clippy::vec_box,
        reason = "an instance is large, and is taken out and put back by every call"
    )]
    spare: Mutex<Vec<Box<Instance>>>,
}

struct Instance {
    store: WasmtimeStore<HostState>,
    policy: bindings::Policy,
}

impl ComponentEngine {
    /// The policy that this host was built with.
    ///
    /// # Errors
    /// The configuration is not accepted, or this machine cannot run WebAssembly.
    pub fn built_in(configuration: &str) -> Result<Self, LoadError> {
        Self::from_bytes(BUILT_IN, configuration, Limits::default())
    }

    /// A policy from a file: a component in its binary form.
    ///
    /// # Errors
    /// See [`LoadError`]; a file that cannot be read is [`LoadError::Component`].
    pub fn from_file(
        path: &std::path::Path,
        configuration: &str,
        limits: Limits,
    ) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path)
            .map_err(|error| LoadError::Component(format!("{}: {error}", path.display())))?;
        Self::from_bytes(&bytes, configuration, limits)
    }

    /// A policy from the bytes of a component. Compiles it, which takes a good part of a second.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn from_bytes(
        bytes: &[u8],
        configuration: &str,
        limits: Limits,
    ) -> Result<Self, LoadError> {
        let wasmtime = ticking_wasmtime()?;
        let component = Component::new(&wasmtime, bytes).map_err(component_error)?;
        for (import, _) in component.component_type().imports(&wasmtime) {
            if !import.starts_with(IMPORT) {
                return Err(LoadError::Import(import.to_owned()));
            }
        }
        let mut linker = Linker::new(&wasmtime);
        bindings::Policy::add_to_linker::<_, HasSelf<HostState>>(&mut linker, |state| state)
            .map_err(component_error)?;
        let pre = linker
            .instantiate_pre(&component)
            .map_err(component_error)?;
        let pre = bindings::PolicyPre::new(pre).map_err(component_error)?;
        Self::start(wasmtime, pre, configuration, limits)
    }

    /// The same policy with another configuration, without compiling it again.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn with_configuration(&self, configuration: &str) -> Result<Self, LoadError> {
        Self::start(
            self.wasmtime.clone(),
            self.pre.clone(),
            configuration,
            self.limits,
        )
    }

    fn start(
        wasmtime: Wasmtime,
        pre: bindings::PolicyPre<HostState>,
        configuration: &str,
        limits: Limits,
    ) -> Result<Self, LoadError> {
        let mut engine = Self {
            description: Description {
                name: String::new(),
                version: String::new(),
                record_schema: 0,
            },
            configuration: configuration.to_owned(),
            limits,
            wasmtime,
            pre,
            spare: Mutex::default(),
        };
        let mut first = engine.instantiate()?;
        engine.description = engine
            .call(&mut first, |instance| {
                instance
                    .policy
                    .fusewire_policy_lifecycle()
                    .call_describe(&mut instance.store)
            })
            .map(convert::description)?;
        engine.put_back(first);
        Ok(engine)
    }

    /// Asks the policy what it would say to another configuration. This engine keeps its own.
    ///
    /// # Errors
    /// The policy failed; see [`Fault`].
    pub fn problems_with(&self, configuration: &str) -> Result<Vec<Problem>, Fault> {
        let mut instance = self.bare_instance()?;
        self.configure(&mut instance, configuration)
    }

    /// A new instance, configured.
    fn instantiate(&self) -> Result<Box<Instance>, LoadError> {
        let mut instance = self.bare_instance()?;
        let problems = self.configure(&mut instance, &self.configuration)?;
        if problems.is_empty() {
            Ok(instance)
        } else {
            Err(LoadError::Configuration(problems))
        }
    }

    fn bare_instance(&self) -> Result<Box<Instance>, Fault> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.limits.memory)
            .instances(16)
            .tables(16)
            .memories(4)
            .build();
        let mut store = WasmtimeStore::new(
            &self.wasmtime,
            HostState {
                limits,
                tape: Tape::blank(),
            },
        );
        store.limiter(|state| &mut state.limits);
        store.set_epoch_deadline(self.ticks());
        let policy = self
            .pre
            .instantiate(&mut store)
            .map_err(|error| self.fault(&error))?;
        Ok(Box::new(Instance { store, policy }))
    }

    fn configure(
        &self,
        instance: &mut Instance,
        configuration: &str,
    ) -> Result<Vec<Problem>, Fault> {
        let problems = self.call(instance, |instance| {
            instance
                .policy
                .fusewire_policy_lifecycle()
                .call_configure(&mut instance.store, configuration)
        })?;
        Ok(problems.into_iter().map(convert::problem).collect())
    }

    fn ticks(&self) -> u64 {
        let ticks = self.limits.deadline.as_millis() / TICK.as_millis();
        // One more: the tick under way has begun already. wasmtime adds it to the present epoch.
        u64::try_from(ticks).unwrap_or(u64::MAX).min(u64::MAX / 2) + 1
    }

    fn take(&self) -> Result<Box<Instance>, Fault> {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match spare {
            Some(instance) => Ok(instance),
            None => self.instantiate().map_err(|error| match error {
                LoadError::Setup(fault) => fault,
                other => Fault::Contract(other.to_string()),
            }),
        }
    }

    fn put_back(&self, instance: Box<Instance>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < self.limits.spare_instances {
            spare.push(instance);
        }
    }

    /// Calls an export within the deadline.
    fn call<T>(
        &self,
        instance: &mut Instance,
        export: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Fault> {
        instance.store.set_epoch_deadline(self.ticks());
        export(instance).map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &wasmtime::Error) -> Fault {
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => {
                Fault::Deadline(u64::try_from(self.limits.deadline.as_millis()).unwrap_or(u64::MAX))
            }
            Some(trap) => Fault::Trap(trap.to_string()),
            None => Fault::Trap(format!("{error:#}")),
        }
    }

    /// Takes an instance, calls an export, and puts the instance back where it answered. A tape
    /// is lent to the instance for that long.
    fn with_instance<T>(
        &self,
        tape: Option<&mut Tape>,
        export: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Fault> {
        let mut instance = self.take()?;
        let answer = match tape {
            None => self.call(&mut instance, export),
            Some(tape) => {
                std::mem::swap(&mut instance.store.data_mut().tape, tape);
                let answer = self.call(&mut instance, export);
                std::mem::swap(&mut instance.store.data_mut().tape, tape);
                answer
            }
        };
        if answer.is_ok() {
            self.put_back(instance);
        }
        answer
    }
}

impl Engine for ComponentEngine {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        let fields = convert::Fields::of(observation);
        let (target, observation) = (
            convert::target(target),
            convert::observation(observation, &fields),
        );
        self.with_instance(None, |instance| {
            instance.policy.fusewire_policy_classifier().call_classify(
                &mut instance.store,
                target,
                observation,
            )
        })
        .map(convert::verdict)
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        self.with_instance(Some(tape), |Instance { store, policy }| {
            let breaker = policy.fusewire_policy_breaker();
            Ok(match call {
                Call::Admit(target, context) => breaker
                    .call_admit(store, convert::target(target), convert::context(context))?
                    .map(|admission| Answer::Admission(convert::admission(admission)))
                    .map_err(convert::suspended),
                Call::Settle(permit, ending, context) => breaker
                    .call_settle(
                        store,
                        convert::permit(permit),
                        convert::ending(ending),
                        convert::context(context),
                    )?
                    .map(|events| Answer::Settled(convert::events(events)))
                    .map_err(convert::suspended),
                Call::Inspect(target, context) => breaker
                    .call_inspect(store, convert::target(target), convert::context(context))?
                    .map(|states| Answer::States(states.into_iter().map(convert::state).collect()))
                    .map_err(convert::suspended),
                Call::Order(domain, order, context) => {
                    let order = order.as_ref().map(convert::order);
                    let context = convert::context(context);
                    match breaker.call_set_override(store, domain, order, context)? {
                        Ok(events) => Ok(Answer::Ordered(Ok(convert::events(events)))),
                        Err(error) => match convert::override_error(error) {
                            OverrideError::Suspended(suspended) => Err(suspended),
                            other => Ok(Answer::Ordered(Err(other))),
                        },
                    }
                }
                Call::Next(progress, verdict, context) => policy
                    .fusewire_policy_planner()
                    .call_next(
                        store,
                        convert::progress(progress),
                        convert::judged(verdict),
                        convert::context(context),
                    )?
                    .map(|step| Answer::Step(convert::step(step)))
                    .map_err(convert::suspended),
            })
        })
    }
}

fn component_error(error: wasmtime::Error) -> LoadError {
    LoadError::Component(format!("{error:#}"))
}

/// A wasmtime engine whose epoch advances for as long as it lives.
fn ticking_wasmtime() -> Result<Wasmtime, LoadError> {
    let mut config = Config::new();
    config.epoch_interruption(true);
    // A policy's functions are synchronous. On by default where a crate beside this one has the
    // runtime's asynchronous functions compiled in, it makes each call dearer.
    config.concurrency_support(false);
    let wasmtime = Wasmtime::new(&config).map_err(component_error)?;
    let weak = wasmtime.weak();
    std::thread::Builder::new()
        .name("fusewire-epoch".into())
        .spawn(move || {
            while let Some(wasmtime) = weak.upgrade() {
                wasmtime.increment_epoch();
                drop(wasmtime);
                std::thread::sleep(TICK);
            }
        })
        .map_err(|error| LoadError::Component(format!("no thread for deadlines: {error}")))?;
    Ok(wasmtime)
}
