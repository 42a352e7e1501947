//! Whatever comes in, the component does not trap and does not hang.

use std::sync::{Arc, LazyLock};

use fusewire::engine::{Answer, Call, ComponentEngine, Engine, Limits, LoadError, Tape};
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{
    Blame, Context, Effect, Ending, Field, Media, Observation, Outcome, Permit, Response, Target,
    Timing, TransportFailure, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

static ENGINE: LazyLock<ComponentEngine> =
    LazyLock::new(|| ComponentEngine::built_in("{}").expect("the policy loads"));

fn tries() -> Config {
    Config {
        cases: 10_000,
        failure_persistence: None,
        ..Config::default()
    }
}

/// Makes a call on a store that answers at once.
fn run(store: &Arc<dyn Store>, call: &Call) -> Answer {
    let mut tape = Tape::new(Arc::clone(store), "fusewire".into());
    ENGINE
        .run(call, &mut tape)
        .expect("no trap")
        .expect("no suspension")
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z]{1,6}", 1 => any::<String>(), 1 => "[/@{}:]{0,3}"]
}

prop_compose! {
    fn target()(
        provider in name(), account in proptest::option::of(name()), operation in proptest::option::of(name()),
    ) -> Target {
        Target { provider, account, operation }
    }
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[clux]:?[0-9a-f]{0,20}(,[clux]:?[0-9a-f]{0,20}){0,3}",
        any::<u64>().prop_map(|n| format!("c:{n}")),
        any::<u64>().prop_map(|n| format!("l:{n:016x}")),
        any::<String>(),
    ]
}

prop_compose! {
    fn verdict()(
        outcome in one_of(Outcome::ALL), effect in one_of(Effect::ALL), blame in one_of(Blame::ALL),
        retry_same: bool, next_provider: bool, min_delay_ms: u64, retry_after_ms: Option<u64>, slow: bool,
        rule: String, reason: String,
    ) -> Verdict {
        Verdict {
            outcome, effect, blame, retry_same, next_provider, min_delay_ms, retry_after_ms, slow, rule, reason,
        }
    }
}

prop_compose! {
    fn context()(
        now_ms in prop_oneof![Just(0), Just(u64::MAX), 1_700_000_000_000u64..1_900_000_000_000, any::<u64>()],
        entropy: u64, instance in name(), call_limit_ms: Option<u64>, fingerprint: Option<u64>,
    ) -> Context {
        Context { now_ms, entropy, instance, call_limit_ms, fingerprint }
    }
}

/// A record that looks like one: each field of the right kind, of another, or absent.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        Just("-1".to_owned()),
        Just("1e999".to_owned()),
        Just("null".to_owned()),
        Just("\"closed\"".to_owned()),
        Just("\"open\"".to_owned()),
        Just("\"half-open\"".to_owned()),
        Just(r#"{"token":"00000000000000ff","owner":"x","expires":99}"#.to_owned()),
        Just(r#"{"mode":"observe","who":"x","why":"y","until":0}"#.to_owned()),
        Just("[[[[[[[[]]]]]]]]".to_owned()),
    ];
    const NAMES: &[&str] = &[
        "schema", "revision", "phase", "epoch", "until", "openings", "passed", "lease", "override",
        "expires",
    ];
    let fields = proptest::collection::vec((one_of(NAMES), field), 0..12);
    prop_oneof![
        4 => fields.prop_map(|fields| {
            let inner: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            format!("{{\"schema\":1,\"phase\":\"half-open\"{}{}}}", if inner.is_empty() { "" } else { "," }, inner.join(",")).into_bytes()
        }),
        1 => any::<Vec<u8>>(),
    ]
}

proptest! {
    #![proptest_config(tries())]

    #[test]
    fn any_observation_is_classified(
        target in target(), status: u16, name in "(?i)retry-after|[a-z-]{0,12}", value: String,
        body: Option<Vec<u8>>, failure in proptest::option::of(one_of(TransportFailure::ALL)), answered: bool,
        latency_ms: u64, now_ms: u64, idempotent: bool, delivered_partial: bool,
        minimum_budget_ms: Option<u64>,
    ) {
        let fields = vec![Field { name, value }];
        let response = Response { status, headers: fields.clone(), trailers: fields, body };
        let observation = Observation {
            response: answered.then_some(response), failure, cause: None, latency_ms, now_ms, idempotent,
            delivered_partial, expect: Media::Json, minimum_budget_ms,
        };
        prop_assert!(ENGINE.classify(&target, &observation).is_ok());
    }

    #[test]
    fn any_permit_is_settled(
        target in target(), probe: bool, token in token(), verdict in proptest::option::of(verdict()),
        context in context(), latency_ms: Option<u64>, overdue: bool,
    ) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let ending = verdict.map_or(Ending::Dropped, Ending::Judged);
        let permit = Permit { target, probe, token };
        let timing = Timing { latency_ms, overdue };
        let answer = run(&store, &Call::Overdue(permit.clone(), context.clone()));
        prop_assert!(matches!(answer, Answer::Settled(_)));
        let answer = run(&store, &Call::Settle(permit, ending, timing, context));
        prop_assert!(matches!(answer, Answer::Settled(_)));
    }

    #[test]
    fn any_bytes_in_the_store_are_survived(
        bytes in record(), token in token(), verdict in verdict(), context in context(),
    ) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let put = store.swap("fusewire:s:{p}".into(), None, Some(bytes), 0);
        let fusewire::store::Reply::Ready(Ok(true)) = put else { panic!("the memory store answers at once") };
        let target = Target::provider("p");
        run(&store, &Call::Admit(target.clone(), context.clone()));
        run(&store, &Call::Inspect(target.clone(), context.clone()));
        run(&store, &Call::Explain("p".into(), context.clone()));
        let permit = Permit { target, probe: true, token };
        run(&store, &Call::Settle(permit, Ending::Judged(verdict), Timing::default(), context));
    }
}

proptest! {
    // Each try configures an instance of its own.
    #![proptest_config(tries())]

    #[test]
    fn any_configuration_is_accepted_or_answered_with_problems(
        text in prop_oneof![
            any::<String>(),
            r#"\{"(breaker|retry|hints|slow|prefix|providers)":(\{"[a-z-]{0,9}":("[0-9]{0,4}[a-z]{0,2}"|[0-9]{0,6}|\{\}|null|false)\}|"[a-z0-9]{0,6}"|[0-9]{0,6})\}"#,
            r#"[\[\{"]{0,400}"#,
        ],
    ) {
        let problems = ENGINE.problems_with(&text).expect("no trap");
        prop_assert!(problems.iter().all(|problem| !problem.wrong.is_empty()));
    }
}

#[test]
fn huge_and_deep_inputs_are_answered_within_the_deadline() {
    let deep = "[".repeat(100_000);
    let wide = format!(
        "{{\"providers\":{{{}\"z\":{{}}}}}}",
        (0..20_000)
            .map(|n| format!("\"p{n}\":{{}},"))
            .collect::<String>()
    );
    for text in [&deep, &format!("{{\"a\":{deep}"), &"9".repeat(100_000)] {
        let refused =
            ComponentEngine::from_bytes(fusewire::engine::BUILT_IN, text, Limits::default());
        assert!(
            matches!(refused, Err(LoadError::Configuration(_))),
            "it says what is wrong"
        );
    }
    // Twenty thousand providers: either in time and memory, or refused for one of them; no hang.
    let _ = ComponentEngine::built_in(&wide);

    let mut response = Response::status(503);
    response.headers = (0..5_000)
        .map(|n| Field {
            name: format!("x-{n}"),
            value: "y".repeat(100),
        })
        .chain([Field {
            name: "retry-after".into(),
            value: "9".repeat(100_000),
        }])
        .collect();
    let verdict = ENGINE.classify(&Target::provider("p"), &Observation::response(response, 1));
    assert_eq!(
        verdict.expect("no trap").retry_after_ms,
        Some(6 * 3_600_000)
    );
}
