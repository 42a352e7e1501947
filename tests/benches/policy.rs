//! What WebAssembly costs: the built-in component against the same core compiled natively, on the
//! same store, call by call in one run.
//!
//! Each figure is the median over rounds in which the two sides take turns, so that a machine
//! whose speed drifts drifts for both. Goal for the whole of admit, classify and settle: at most
//! 4 times.
//!
//! `cargo bench -p fusewire-tests --bench policy -- FILE.wasm` measures another component.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use fusewire::engine::{
    Answer, BUILT_IN, Call, ComponentEngine, Engine, Limits, NativeEngine, Tape,
};
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{
    Context, Decision, Ending, Observation, OverrideMode, OverrideOrder, Permit, Response, Target,
    Verdict,
};

const ROUNDS: usize = 41;
const CALLS_A_ROUND: u32 = 2_000;
const NOW: u64 = 1_800_000_000_000;

/// One engine with a store of its own.
struct Side {
    engine: Box<dyn Engine>,
    store: Arc<dyn Store>,
    prefix: Arc<str>,
}

impl Side {
    fn new(engine: impl Engine) -> Self {
        Self {
            engine: Box::new(engine),
            store: Arc::new(MemoryStore::new()),
            prefix: "fusewire".into(),
        }
    }

    fn run(&self, call: &Call) -> Answer {
        let mut tape = Tape::new(Arc::clone(&self.store), Arc::clone(&self.prefix));
        self.engine
            .run(call, &mut tape)
            .expect("no fault")
            .expect("the store answers at once")
    }

    fn admit(&self, target: &Target) -> Option<Permit> {
        match self.run(&Call::Admit(target.clone(), Context::at(NOW, 1))) {
            Answer::Admission(admission) => match admission.decision {
                Decision::Allowed(permit) => Some(permit),
                Decision::Refused(_) => None,
            },
            other => panic!("admit answered {other:?}"),
        }
    }

    fn classify(&self, target: &Target) -> Verdict {
        let seen = Observation::response(Response::status(200), NOW);
        self.engine.classify(target, &seen).expect("no fault")
    }

    fn settle(&self, permit: Permit, verdict: Verdict) {
        black_box(self.run(&Call::Settle(
            permit,
            Ending::Judged(verdict),
            Context::at(NOW, 2),
        )));
    }

    fn whole(&self, target: &Target) {
        let permit = self.admit(target).expect("allowed");
        let verdict = self.classify(target);
        self.settle(permit, verdict);
    }
}

/// Nanoseconds a call, each side's median.
fn measure(sides: [&Side; 2], work: impl Fn(&Side)) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (side, times) in sides.iter().zip(&mut times) {
            let started = Instant::now();
            for _ in 0..CALLS_A_ROUND {
                work(side);
            }
            // The first round warms up.
            if round > 0 {
                times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS_A_ROUND));
            }
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

fn main() {
    let native = Side::new(NativeEngine::new("{}").expect("the defaults"));
    let file = std::env::args()
        .skip(1)
        .find(|argument| argument.ends_with(".wasm"));
    let began = Instant::now();
    let component = Side::new(
        match &file {
            Some(file) => ComponentEngine::from_file(file.as_ref(), "{}", Limits::default()),
            None => ComponentEngine::built_in("{}"),
        }
        .expect("the policy loads"),
    );
    component.admit(&Target::provider("first"));
    let ms = began.elapsed().as_secs_f64() * 1_000.0;
    let bytes = file.as_ref().map_or(BUILT_IN.len() as u64, |file| {
        std::fs::metadata(file).map_or(0, |file| file.len())
    });
    println!("the component has {bytes} bytes; compiled, with a first decision, in {ms:.0} ms");
    let sides = [&native, &component];
    let (fresh, open, known) = (
        Target::provider("fresh"),
        Target::provider("open"),
        Target::provider("known"),
    );
    for side in sides {
        let order = |mode| OverrideOrder {
            mode,
            who: "bench".into(),
            why: "bench".into(),
            until_ms: 0,
        };
        for (domain, mode) in [
            ("open", OverrideMode::Open),
            ("known", OverrideMode::Observe),
        ] {
            side.run(&Call::Order(
                domain.into(),
                Some(order(mode)),
                Context::at(NOW, 3),
            ));
        }
    }
    let permit = native.admit(&fresh).expect("allowed");
    let verdict = native.classify(&fresh);

    println!(
        "{:<44}{:>10}{:>12}{:>8}",
        "ns a call, median", "native", "component", "ratio"
    );
    let print = |what: &str, [native, component]: [f64; 2]| {
        println!(
            "{what:<44}{native:>10.0}{component:>12.0}{:>8.2}",
            component / native
        );
    };
    print(
        "admit, never tripped",
        measure(sides, |s| {
            black_box(s.admit(&fresh));
        }),
    );
    print(
        "admit, with a record in the store",
        measure(sides, |s| {
            black_box(s.admit(&known));
        }),
    );
    print(
        "admit, refused",
        measure(sides, |s| {
            black_box(s.admit(&open));
        }),
    );
    print(
        "classify a 200",
        measure(sides, |s| {
            black_box(s.classify(&fresh));
        }),
    );
    print(
        "settle a success",
        measure(sides, |s| s.settle(permit.clone(), verdict.clone())),
    );
    print(
        "admit + classify + settle (goal: 4 times)",
        measure(sides, |s| s.whole(&fresh)),
    );
    print(
        "the same, with a record in the store",
        measure(sides, |s| s.whole(&known)),
    );
}
