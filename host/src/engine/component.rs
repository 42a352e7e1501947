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
//! Each instance has a memory limit, and so has what it hands to the host at a time: that is copied
//! out of its memory, where one text may stand for many. An instance that has used up most of its
//! memory is not put back: it would fail a call soon, and memory never shrinks. Each call has a
//! deadline, by wasmtime's epochs: a thread counts ticks, and compiled code looks at the count at
//! every loop and call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fusewire_core::{Description, Observation, Problem, Suspended, Target, Verdict, Wanted};
use wasmtime::{Store as WasmtimeStore, Trap};

use super::budget::Budget;
use super::evidence::{self, Kept};
use super::imports::HostState;
use super::instance::{Exports, Instance};
use super::runtime::TICK;
use super::{
    Answer, Call, Compiled, Engine, Fault, LoadError, Started, Tape, attempt, convert, operator,
    sense,
};

/// The policy that this host was built with: a component of the world `policy`.
pub static BUILT_IN: &[u8] = include_bytes!(env!("FUSEWIRE_POLICY_WASM"));

/// The most that a policy hands to the host in one answer, or in one question to its store, in
/// bytes. As much as the state of three domains with records of 64 KiB each; most answers have a few
/// hundred bytes.
const HANDED_OVER_MAX: usize = 256 << 10;

/// What a policy may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest that a policy may run for one call, the runs together that it takes where its
    /// store answers later. A thousand times what it usually takes, so that a busy machine does not
    /// look like a broken policy.
    pub deadline: Duration,
    /// The most memory of one instance, its tables included, in bytes.
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
    compiled: Compiled,
    #[expect(
        clippy::vec_box,
        reason = "an instance is large, and is taken out and put back by every call"
    )]
    spare: Mutex<Vec<Box<Instance>>>,
    /// Whether instances are of no more use once they have answered.
    replaced: AtomicBool,
    /// What it looks at, by target.
    looks_at: Kept,
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
        Compiled::new(bytes)?
            .start(limits)?
            .configured(configuration)
    }

    /// The same policy with another configuration, without compiling it again.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn with_configuration(&self, configuration: &str) -> Result<Self, LoadError> {
        let policy = Started {
            compiled: self.compiled.clone(),
            limits: self.limits,
            description: self.description.clone(),
        };
        policy.configured(configuration)
    }

    /// Starts a first instance of a policy, and asks who it is.
    pub(super) fn who_is(compiled: &Compiled, limits: Limits) -> Result<Description, LoadError> {
        let engine = Self::unconfigured(compiled.clone(), limits);
        let mut first = engine.bare_instance()?;
        let description = engine.call(&mut first, |instance| {
            instance
                .exports
                .lifecycle
                .call_describe(&mut instance.store)
        })?;
        let description = convert::description(description);
        sense::description(&description)?;
        Ok(description)
    }

    /// An engine whose first instance has accepted this configuration.
    pub(super) fn begin(policy: Started, configuration: &str) -> Result<Self, LoadError> {
        let mut engine = Self::unconfigured(policy.compiled, policy.limits);
        engine.description = policy.description;
        configuration.clone_into(&mut engine.configuration);
        let first = engine.instantiate()?;
        engine.put_back(first);
        Ok(engine)
    }

    fn unconfigured(compiled: Compiled, limits: Limits) -> Self {
        Self {
            description: Description {
                name: String::new(),
                version: String::new(),
                record_schema: 0,
            },
            configuration: String::new(),
            limits,
            compiled,
            spare: Mutex::default(),
            replaced: AtomicBool::new(false),
            looks_at: Kept::default(),
        }
    }

    /// What it was made of: other limits or configurations can be had from that.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
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
            instance.store.data_mut().budget.is_ready();
            Ok(instance)
        } else {
            Err(LoadError::Configuration(problems))
        }
    }

    fn bare_instance(&self) -> Result<Box<Instance>, Fault> {
        let mut store = WasmtimeStore::new(
            &self.compiled.runtime.wasmtime,
            HostState {
                budget: Budget::new(self.limits.memory),
                tape: Tape::blank(),
            },
        );
        store.limiter(|state| &mut state.budget);
        store.set_hostcall_fuel(HANDED_OVER_MAX);
        store.set_epoch_deadline(Self::ticks(self.limits.deadline));
        match Exports::make(&self.compiled, &mut store) {
            Ok(exports) => Ok(Box::new(Instance { store, exports })),
            Err(error) => Err(self.fault(&error, &store.data().budget)),
        }
    }

    /// Asks what it looks at.
    fn ask_wanted(&self, target: &Target) -> Result<Wanted, Fault> {
        let answer = self.with_instance(None, |Instance { store, exports }| {
            let says = exports.evidence.as_ref();
            says.map(|says| says.call_wanted(store, convert::target(target)))
                .transpose()
        })?;
        let Some(answer) = answer else {
            return Ok((*evidence::unsaid()).clone());
        };
        let wanted = convert::wanted(answer);
        sense::wanted(&wanted)?;
        Ok(wanted)
    }

    fn configure(
        &self,
        instance: &mut Instance,
        configuration: &str,
    ) -> Result<Vec<Problem>, Fault> {
        let problems = self.call(instance, |instance| {
            instance
                .exports
                .lifecycle
                .call_configure(&mut instance.store, configuration)
        })?;
        Ok(problems.into_iter().map(convert::problem).collect())
    }

    /// How many ticks of the epoch a time takes.
    fn ticks(time: Duration) -> u64 {
        let ticks = time.as_millis() / TICK.as_millis();
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
        let worn_out = instance.store.data().budget.is_nearly_used_up();
        if worn_out || self.replaced.load(Ordering::Acquire) {
            return;
        }
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
        self.call_within(self.limits.deadline, instance, export)
    }

    /// Calls an export within what is left of the deadline.
    fn call_within<T>(
        &self,
        left: Duration,
        instance: &mut Instance,
        export: impl FnOnce(&mut Instance) -> wasmtime::Result<T>,
    ) -> Result<T, Fault> {
        instance.store.set_epoch_deadline(Self::ticks(left));
        instance.store.data_mut().budget.begin();
        export(instance).map_err(|error| self.fault(&error, &instance.store.data().budget))
    }

    fn fault(&self, error: &wasmtime::Error, budget: &Budget) -> Fault {
        if budget.is_exceeded() {
            // Told that there is no more it has trapped, whatever that trap is called.
            return Fault::Memory(self.limits.memory);
        }
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
                // A call that is made again for each answer of its store has one deadline for all.
                let left = self.limits.deadline.saturating_sub(tape.spent());
                let began = Instant::now();
                std::mem::swap(&mut instance.store.data_mut().tape, tape);
                let answer = self.call_within(left, &mut instance, export);
                std::mem::swap(&mut instance.store.data_mut().tape, tape);
                tape.spend(began.elapsed());
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

    fn replaced(&self) {
        self.replaced.store(true, Ordering::Release);
        let spare = std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        // Unmapping takes its time, and others may be waiting for the lock.
        drop(spare);
    }

    fn sets_limits(&self) -> bool {
        self.compiled.places.sets_limits()
    }

    fn wanted(&self, target: &Target) -> Result<Arc<Wanted>, Fault> {
        match self.compiled.places.says_what_it_looks_at() {
            true => self.looks_at.get_or_ask(target, || self.ask_wanted(target)),
            false => Ok(evidence::unsaid()),
        }
    }

    fn classify(&self, target: &Target, observation: &Observation) -> Result<Verdict, Fault> {
        let wanted = self.wanted(target).unwrap_or_else(|_| evidence::unsaid());
        let seen = convert::Seen::of(observation, &wanted);
        let (target, observation) = (
            convert::target(target),
            convert::observation(observation, &seen),
        );
        let verdict = self.with_instance(None, |instance| {
            let classifier = &instance.exports.classifier;
            classifier.call_classify(&mut instance.store, target, observation)
        })?;
        let verdict = convert::verdict(verdict);
        sense::verdict(&verdict)?;
        Ok(verdict)
    }

    fn run(&self, call: &Call, tape: &mut Tape) -> Result<Result<Answer, Suspended>, Fault> {
        let answer = self.with_instance(Some(tape), |Instance { store, exports }| match call {
            Call::Admit(target, context) => attempt::admit(exports, store, target, context),
            Call::Settle(permit, ending, timing, context) => {
                attempt::settle(exports, store, permit, ending, *timing, context)
            }
            Call::Overdue(permit, context) => attempt::overdue(exports, store, permit, context),
            Call::Inspect(target, context) => operator::inspect(exports, store, target, context),
            Call::Order(domain, order, context) => {
                operator::order(exports, store, domain, order.as_ref(), context)
            }
            Call::Explain(domain, context) => operator::explain(exports, store, domain, context),
            Call::Next(progress, verdict, context) => {
                attempt::next(exports, store, progress, verdict, context)
            }
        })?;
        if let Ok(answer) = &answer {
            sense::answer(call, answer)?;
        }
        Ok(answer)
    }
}
