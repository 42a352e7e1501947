//! A failure of the policy costs its instance and nothing else: the call goes through, and so does
//! the next.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fusewire::engine::{BUILT_IN, Call, ComponentEngine, Engine, Fault, Limits, LoadError, ask};
use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{Context, Observation, Response, Target};
use fusewire_tests::attacked::LIMITS;
use fusewire_tests::hostile::{self, Mode};

/// Enough memory for a policy and its configuration, and not for a request of megabytes.
const TIGHT: Limits = Limits {
    deadline: Duration::from_millis(500),
    memory: 2 << 20,
    spare_instances: 4,
};

fn tight() -> ComponentEngine {
    ComponentEngine::from_bytes(BUILT_IN, "{}", TIGHT).expect("the policy loads")
}

fn huge() -> Target {
    Target {
        operation: Some("x".repeat(4 << 20)),
        ..Target::provider("p")
    }
}

#[test]
fn a_call_that_wants_too_much_memory_costs_one_instance_and_the_next_call_has_another() {
    let engine = tight();
    let seen = Observation::response(Response::status(200), 1);
    for _ in 0..3 {
        assert!(matches!(
            engine.classify(&huge(), &seen),
            Err(Fault::Memory(_))
        ));
        assert!(engine.classify(&Target::provider("p"), &seen).is_ok());
    }
}

#[tokio::test]
async fn a_call_whose_policy_fails_is_let_through_and_said_so() {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&faults);
    let observer = move |notice: &Notice<'_>| {
        if let Notice::Fault { during, fault } = notice {
            noted.lock().unwrap().push(format!("{during}: {fault}"));
        }
    };
    let guard = Guard::builder(Arc::new(tight()), Arc::new(MemoryStore::new()))
        .observer(Arc::new(observer))
        .build();
    let admitted = guard
        .admit(&huge(), &CallFacts::default())
        .await
        .expect("let through");
    let seen = Observation::response(Response::status(500), guard.now_ms());
    admitted.settle(guard.classify(&huge(), &seen));
    let faults = faults.lock().unwrap();
    // What it looks at is asked before it judges, and costs no call either.
    assert_eq!(faults.len(), 3, "{faults:?}");
    for (fault, during) in faults.iter().zip(["admit", "wanted", "classify"]) {
        let wanted = format!("{during}: the policy wanted more than its 2097152 bytes");
        assert!(fault.starts_with(&wanted), "{faults:?}");
    }
}

#[test]
fn a_policy_that_takes_too_long_is_interrupted() {
    let hurried = Limits {
        deadline: Duration::from_millis(1),
        memory: 512 << 20,
        spare_instances: 1,
    };
    let long = format!("[{}0]", "0,".repeat(8 << 20));
    match ComponentEngine::from_bytes(BUILT_IN, &long, hurried) {
        Err(LoadError::Setup(Fault::Deadline(1))) => {}
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it was not interrupted"),
    }
}

/// Asks the hostile policy once whether a call may be made.
async fn admit(harm: &ComponentEngine, store: &Arc<dyn Store>) -> Result<(), Fault> {
    let call = Call::Admit(Target::provider("p"), Context::at(1_000, 7));
    let patience = Duration::from_secs(1);
    ask(harm, store, &"fusewire".into(), patience, &call)
        .await
        .map(|_| ())
}

fn told(harm: Mode) -> ComponentEngine {
    ComponentEngine::from_bytes(&hostile::policy(harm), "{}", LIMITS).expect("it loads")
}

#[tokio::test]
async fn a_policy_that_leaks_fails_no_call() {
    let leaking = told(Mode::Leak);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    // 64 KiB a call: an instance has room for 240 of them.
    for call in 0..2_000 {
        assert_eq!(admit(&leaking, &store).await, Ok(()), "call {call}");
    }
}

#[tokio::test]
async fn a_call_has_one_deadline_for_all_its_runs() {
    let slow = told(Mode::LongerEachRun);
    let store: Arc<dyn Store> = Arc::new(Delayed::new(MemoryStore::new()));
    let began = Instant::now();
    let deadline = Fault::Deadline(200);
    assert_eq!(admit(&slow, &store).await, Err(deadline));
    // Without one deadline for all, sixty runs would have one each.
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn what_is_no_policy_is_refused_with_the_reason() {
    let load = |bytes: &[u8]| {
        ComponentEngine::from_bytes(bytes, "{}", Limits::default())
            .err()
            .expect("refused")
    };
    let not_wasm = load(b"policy");
    assert!(
        not_wasm.to_string().starts_with("cannot load the policy: "),
        "{not_wasm}"
    );
    let truncated = load(&BUILT_IN[..BUILT_IN.len() / 2]);
    assert!(matches!(truncated, LoadError::Component(_)), "{truncated}");
    let greedy = load(
        &wat::parse_str(r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance)))"#)
            .expect("good text"),
    );
    assert!(
        matches!(&greedy, LoadError::Import(name) if name == "wasi:clocks/wall-clock@0.2.0"),
        "{greedy}"
    );
    let empty = load(&wat::parse_str("(component)").expect("good text"));
    assert!(empty.to_string().contains("fusewire:policy/"), "{empty}");
}
