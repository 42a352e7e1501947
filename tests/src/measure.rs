//! The component against the same core compiled natively, on the same store, side by side in one
//! run.
//!
//! Each figure is the median over rounds in which the two sides take turns, so that a machine
//! whose speed drifts drifts for both.

use std::sync::Arc;
use std::time::Instant;

use fusewire::engine::{Answer, Call, ComponentEngine, Engine, NativeEngine, Tape};
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{Observation, Target, Verdict};

const ROUNDS: usize = 41;

/// One engine with a store of its own.
pub struct Side {
    engine: Box<dyn Engine>,
    store: Arc<dyn Store>,
    prefix: Arc<str>,
}

impl Side {
    /// With an empty store.
    pub fn new(engine: impl Engine) -> Self {
        Self {
            engine: Box::new(engine),
            store: Arc::new(MemoryStore::new()),
            prefix: "fusewire".into(),
        }
    }

    /// The core compiled natively, and the component that is built in.
    ///
    /// # Panics
    /// The configuration is not accepted.
    #[must_use]
    pub fn both(configuration: &str) -> [Self; 2] {
        let native = NativeEngine::new(configuration).expect("a good configuration");
        let component = ComponentEngine::built_in(configuration).expect("the policy loads");
        [Self::new(native), Self::new(component)]
    }

    /// Makes a call of the breaker.
    ///
    /// # Panics
    /// The policy failed, or its store was not ready.
    pub fn run(&self, call: &Call) -> Answer {
        let mut tape = Tape::new(Arc::clone(&self.store), Arc::clone(&self.prefix));
        self.engine
            .run(call, &mut tape)
            .expect("no fault")
            .expect("the store answers at once")
    }

    /// Judges an attempt.
    ///
    /// # Panics
    /// The policy failed.
    pub fn classify(&self, target: &Target, observation: &Observation) -> Verdict {
        self.engine.classify(target, observation).expect("no fault")
    }

    /// How much of a body it wants to see, in bytes.
    ///
    /// # Panics
    /// The policy failed.
    #[must_use]
    pub fn body_bytes(&self, target: &Target) -> u32 {
        self.engine.wanted(target).expect("no fault").body_bytes
    }
}

/// Nanoseconds a call, each side's median.
pub fn measure(sides: [&Side; 2], calls_a_round: u32, work: impl Fn(&Side)) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (side, times) in sides.iter().zip(&mut times) {
            let started = Instant::now();
            for _ in 0..calls_a_round {
                work(side);
            }
            // The first round warms up.
            if round > 0 {
                times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(calls_a_round));
            }
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// Prints what is above the lines of a table.
pub fn print_head() {
    println!(
        "{:<52}{:>10}{:>12}{:>8}",
        "ns a call, median", "native", "component", "ratio"
    );
}

/// Prints a line of a table.
pub fn print_line(what: &str, [native, component]: [f64; 2]) {
    println!(
        "{what:<52}{native:>10.0}{component:>12.0}{:>8.2}",
        component / native
    );
}
