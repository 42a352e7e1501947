//! What WebAssembly costs: the built-in component against the same core compiled natively, on the
//! same store, call by call in one run.
//!
//! Goal for the whole of admit, classify and settle: at most 4 times. `classify` has what judging
//! takes by the kind of answer.
//!
//! `cargo bench -p fusewire-tests --bench policy -- FILE.wasm` measures another component.

use std::hint::black_box;
use std::time::Instant;

use fusewire::engine::{Answer, BUILT_IN, Call, ComponentEngine, Limits, NativeEngine};
use fusewire_core::{
    Context, Decision, Ending, Observation, OverrideMode, OverrideOrder, Permit, Response, Target,
    Timing, Verdict,
};
use fusewire_tests::measure::{Side, measure, print_head, print_line};

const CALLS_A_ROUND: u32 = 2_000;
const NOW: u64 = 1_800_000_000_000;

fn admit(side: &Side, target: &Target) -> Option<Permit> {
    match side.run(&Call::Admit(target.clone(), Context::at(NOW, 1))) {
        Answer::Admission(admission) => match admission.decision {
            Decision::Allowed(permit) => Some(permit),
            Decision::Refused(_) => None,
        },
        other => panic!("admit answered {other:?}"),
    }
}

fn classify(side: &Side, target: &Target) -> Verdict {
    let seen = Observation::response(Response::status(200), NOW);
    side.classify(target, &seen)
}

fn settle(side: &Side, permit: Permit, verdict: Verdict) {
    let ending = Ending::Judged(verdict);
    black_box(side.run(&Call::Settle(
        permit,
        ending,
        Timing::default(),
        Context::at(NOW, 2),
    )));
}

fn whole(side: &Side, target: &Target) {
    let permit = admit(side, target).expect("allowed");
    let verdict = classify(side, target);
    settle(side, permit, verdict);
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
    admit(&component, &Target::provider("first"));
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
            enforce_percent: 0,
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
    let permit = admit(&native, &fresh).expect("allowed");
    let verdict = classify(&native, &fresh);

    print_head();
    let line = |what: &str, work: &dyn Fn(&Side)| {
        print_line(what, measure(sides, CALLS_A_ROUND, work));
    };
    line("admit, never tripped", &|s| {
        black_box(admit(s, &fresh));
    });
    line("admit, with a record in the store", &|s| {
        black_box(admit(s, &known));
    });
    line("admit, refused", &|s| {
        black_box(admit(s, &open));
    });
    line("classify a 200", &|s| {
        black_box(classify(s, &fresh));
    });
    line("settle a success", &|s| {
        settle(s, permit.clone(), verdict.clone());
    });
    line("admit + classify + settle (goal: 4 times)", &|s| {
        whole(s, &fresh);
    });
    line("the same, with a record in the store", &|s| {
        whole(s, &known);
    });
}
