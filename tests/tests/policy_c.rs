//! The policy that is written in C does what one in Rust does: nothing of a policy depends on the
//! language that it is written in.

use std::sync::Arc;
use std::time::Duration;

use fusewire::engine::{Answer, Call, ComponentEngine, Engine, Limits, LoadError, Tape};
use fusewire::policy::Facts;
use fusewire::scenario::{Scenario, play, report};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, RedisStore, Store};
use fusewire_core::{
    Blame, Context, Decision, Ending, Observation, Permit, Response, Target, Timing,
};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::scenarios::{scenarios, scenarios_in};
use proptest::prelude::*;
use serde_json::Value;

static POLICY_C: &[u8] = include_bytes!(env!("FUSEWIRE_POLICY_C_WASM"));

fn load(configuration: &str) -> Result<ComponentEngine, LoadError> {
    // Tens of thousands of calls on a busy machine: one that loops is found out all the same.
    let limits = Limits {
        deadline: Duration::from_secs(5),
        ..Limits::default()
    };
    ComponentEngine::from_bytes(POLICY_C, configuration, limits)
}

/// The scenarios of Fusewire's own policy that hold here too, each with the reason. The others are
/// about what this policy does not do: windows and ratios, orders, breakers of accounts and
/// operations, a breaker of each instance's own.
const FITTING: [(&str, &str); 27] = [
    (
        "a-close-by-a-slow-clock-still-begins-a-new-epoch",
        "epochs only grow, whatever the rule",
    ),
    ("a-dropped-probe-frees-the-lease", "leases are the same"),
    (
        "a-failed-probe-starts-the-count-of-clean-ones-again",
        "probes are counted in a row",
    ),
    (
        "a-flapping-provider-keeps-its-long-cool-down",
        "openings are counted in a row",
    ),
    (
        "a-forged-permit-changes-nothing",
        "permits are checked the same way",
    ),
    (
        "a-late-probe-cannot-free-its-successors-lease",
        "leases are the same",
    ),
    (
        "a-late-success-from-before-the-outage-does-not-close-it",
        "only probes close it",
    ),
    (
        "a-lease-lasts-as-long-as-its-call-may",
        "leases are the same",
    ),
    (
        "a-lease-whose-holder-died-is-taken-over",
        "leases are the same",
    ),
    (
        "a-name-that-is-not-valid-is-refused-for-good",
        "names are the contract's",
    ),
    (
        "a-neutral-probe-frees-the-lease-and-judges-nothing",
        "leases are the same",
    ),
    (
        "a-permit-of-the-future-cannot-poison-the-counter",
        "epochs are checked the same way",
    ),
    (
        "a-probe-that-runs-out-of-time-is-judged",
        "leases outlast their calls",
    ),
    (
        "a-providers-failure-is-not-its-accounts-or-operations",
        "accounts and operations are never open",
    ),
    (
        "a-retry-after-that-makes-no-sense-is-no-hint",
        "hints in digits are read",
    ),
    (
        "a-state-says-until-when-it-is-open-and-only-then",
        "states are the contract's",
    ),
    (
        "an-opening-outlasts-its-cool-down-without-traffic",
        "the record says until when",
    ),
    (
        "cool-downs-double-to-their-maximum",
        "cool-downs are the same",
    ),
    (
        "hosts-whose-clocks-differ-a-little-agree",
        "times are compared the same way",
    ),
    (
        "one-provider-never-opens-another",
        "each provider has a key of its own",
    ),
    (
        "retry-after-lengthens-a-cool-down-and-nothing-shortens-it",
        "hints are the same",
    ),
    (
        "stale-failures-before-the-first-new-outcome-open-nothing",
        "epochs tell them apart",
    ),
    (
        "the-end-of-a-cool-down-admits-one-probe-of-the-fleet",
        "a swap has one winner",
    ),
    (
        "the-fleet-counts-together",
        "the row of failures is the fleet's",
    ),
    (
        "three-clean-probes-in-a-row-close-it",
        "probes are counted in a row",
    ),
    (
        "two-clean-probes-of-three-do-not-close-it",
        "probes are counted in a row",
    ),
    (
        "what-is-not-the-providers-fault-counts-for-nothing",
        "outcomes are told apart the same way",
    ),
];

/// What Fusewire's own policy has and this one has not: a scenario that switches it off is about
/// something else.
const NEVER_ON: [&str; 2] = ["holds", "ramp"];

/// The configuration of a scenario, without what is off here anyway.
fn configuration(scenario: &Scenario, name: &str) -> String {
    let mut settings: Value = serde_json::from_str(&scenario.configuration(name)).unwrap();
    if let Some(breaker) = settings
        .pointer_mut("/breaker")
        .and_then(Value::as_object_mut)
    {
        breaker.retain(|name, value| !(NEVER_ON.contains(&name.as_str()) && *value == false));
    }
    settings.to_string()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Plays scenarios in memory, on a late store and on Redis; answers what went wrong.
async fn complaints(scenarios: Vec<(String, Scenario)>) -> String {
    let server = RedisServer::start();
    let redis: Arc<dyn Store> = Arc::new(RedisStore::connect(&server.url()).await.unwrap());
    let policy = load("{}").unwrap();
    let mut complaints = String::new();
    for (name, scenario) in scenarios {
        let engine = policy.with_configuration(&configuration(&scenario, &name));
        let engine: &dyn Engine = &match engine {
            Ok(engine) => engine,
            Err(error) => {
                complaints += &format!("{name}: {error}\n");
                continue;
            }
        };
        let late: Arc<dyn Store> = Arc::new(Delayed::new(MemoryStore::new()));
        let ways: [(&str, Arc<dyn Store>); 3] = [
            ("in memory", memory()),
            ("on a late store", late),
            ("on Redis", Arc::clone(&redis)),
        ];
        let mut first: Option<(&str, String)> = None;
        for (way, store) in ways {
            let played = play(&scenario, engine, store, &name).await;
            if !played.failures.is_empty() {
                complaints += &format!("{name} {way}:\n{}", report::failures(&name, &played));
            }
            let (first_way, log) = first.get_or_insert_with(|| (way, played.log.clone()));
            if let Some(difference) = report::log_difference((*first_way, log), (way, &played.log))
            {
                complaints += &format!("{name}:\n{difference}");
            }
        }
    }
    complaints
}

#[test]
fn it_imports_nothing_but_the_store_and_carries_its_scenarios() {
    let facts = Facts::of(POLICY_C);
    assert_eq!(facts.imports, ["fusewire:policy/keyvalue@0.1.2"]);
    assert_eq!(facts.scenarios.len(), own().len());
    let engine = load("{}").unwrap();
    assert_eq!(engine.describe().name, "consecutive-failures");
}

fn own() -> Vec<(String, Scenario)> {
    scenarios_in("policy/c/scenarios")
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_scenarios_hold_with_the_same_log_in_memory_on_a_late_store_and_on_redis() {
    let complaints = complaints(own()).await;
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scenarios_of_fusewires_own_policy_that_fit_it_hold_here_too() {
    let all = scenarios();
    let fitting: Vec<_> = FITTING
        .iter()
        .map(|(name, _)| {
            let found = all.iter().find(|(other, _)| other == name);
            found
                .unwrap_or_else(|| panic!("there is no scenario {name}"))
                .clone()
        })
        .collect();
    let complaints = complaints(fitting).await;
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn a_failure_of_an_account_is_the_providers_only_where_the_call_names_no_account() {
    let engine = load("{}").unwrap();
    let opened = |account: Option<&str>| {
        let store = memory();
        let run = |call: Call| {
            let mut tape = Tape::new(Arc::clone(&store), "fusewire".into());
            engine.run(&call, &mut tape).unwrap().unwrap()
        };
        let target = Target {
            account: account.map(str::to_owned),
            ..Target::provider("p")
        };
        let context = Context::at(1_767_225_600_000, 7);
        for _ in 0..5 {
            let Answer::Admission(admission) = run(Call::Admit(target.clone(), context.clone()))
            else {
                panic!("another answer");
            };
            let Decision::Allowed(permit) = admission.decision else {
                panic!("refused");
            };
            let seen = Observation::response(Response::status(503), context.now_ms);
            let mut verdict = engine.classify(&target, &seen).unwrap();
            verdict.blame = Blame::Account;
            run(Call::Settle(
                permit,
                Ending::Judged(verdict),
                Timing::default(),
                context.clone(),
            ));
        }
        let admission = run(Call::Admit(target, context));
        matches!(admission, Answer::Admission(a) if matches!(a.decision, Decision::Refused(_)))
    };
    assert!(!opened(Some("account")));
    assert!(opened(None));
}

#[test]
fn every_problem_of_a_configuration_is_told_with_its_place() {
    let told = |json: &str| match load("{}").unwrap().with_configuration(json) {
        Err(LoadError::Configuration(problems)) => {
            problems.into_iter().map(|p| p.path).collect::<Vec<_>>()
        }
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    };
    let good = r#"{"prefix":"x","breaker":{"failures":{"count":9},
        "cool-down":{"first":"1m30s","max":"1d","jitter":0.25},"probes":{"needed":1,"lease":"250ms"}}}"#;
    assert_eq!(told(good), [""; 0]);
    assert_eq!(
        told(
            r#"{"breaker":{"failures":{"count":0,"window":"1m"},"cool-down":{"first":"30","jitter":1.001},
            "probes":5},"prefix":"a{b","slow":"1s"}"#
        ),
        [
            "/breaker/failures/count",
            "/breaker/failures/window",
            "/breaker/cool-down/first",
            "/breaker/cool-down/jitter",
            "/breaker/probes",
            "/prefix",
            "/slow",
        ]
    );
    assert_eq!(
        told(r#"{"breaker":{"cool-down":{"first":"1h"}}}"#),
        ["/breaker/cool-down/max"]
    );
    for text in [
        "",
        "[]",
        "{",
        "nul",
        "{}{}",
        r#"{"prefix":"a"#,
        &"[".repeat(100_000),
    ] {
        assert_eq!(told(text), [""], "{text:.20}");
    }
    // Deeper, larger and odder than any configuration; and the pointer stays one.
    assert_eq!(
        told(&format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40))),
        [""]
    );
    assert_eq!(told(r#"{"a/b~":1}"#), [""]);
    assert_eq!(
        told(&format!("{{{}\"z\":1}}", "\"y\":1,".repeat(10_000))).len(),
        50
    );
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z]{1,6}", 1 => any::<String>(), 1 => "[/@{}:\"\\\\]{0,3}", 1 => "x{120,140}"]
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[clux]:?[0-9a-f]{0,20}",
        any::<u64>().prop_map(|n| format!("c:{n}")),
        any::<u64>().prop_map(|n| format!("l:{n:016x}")),
        any::<String>(),
    ]
}

/// What somebody else may have written under the key, the record of an open or half-open breaker
/// with parts changed among it.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        Just(String::new()),
        any::<u64>().prop_map(|n| n.to_string()),
        "-?[0-9]{1,25}(\\.[0-9])?"
    ];
    let piece = (
        prop_oneof!["open", "half-open", "closed", "ajar"],
        number.clone(),
        number.clone(),
        number,
        text(),
        0u32..3,
    );
    prop_oneof![
        1 => any::<Vec<u8>>(),
        1 => any::<String>().prop_map(String::into_bytes),
        4 => (piece, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
            |((phase, until, epoch, expires, owner, schema), at, byte, damaged)| {
                let owner = Value::from(owner);
                let mut bytes = format!(
                    r#"{{"schema":{schema},"revision":7,"phase":"{phase}","epoch":{epoch},"until":{until},
                    "openings":3,"lease":{{"token":"00000000000000ff","owner":{owner},"expires":{expires}}}}}"#
                )
                .into_bytes();
                if damaged {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            }
        ),
    ]
}

proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 5_000,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn whatever_comes_in_it_does_not_trap_and_never_admits_a_name_that_is_not_valid(
        provider in text(), account in proptest::option::of(text()), operation in proptest::option::of(text()),
        instance in text(), token in token(), record in record(),
        now_ms in prop_oneof![Just(1_767_225_600_000u64), any::<u64>()], entropy: u64,
        call_limit_ms: Option<u64>, retry_after in text(), status: u16, delay: Option<u64>,
    ) {
        static ENGINE: std::sync::LazyLock<ComponentEngine> =
            std::sync::LazyLock::new(|| load("{}").expect("the policy loads"));
        let store = MemoryStore::new();
        let valid = Target { provider: provider.clone(), account, operation };
        let is_valid = valid.domains().is_ok();
        if is_valid {
            let key = format!("fusewire:s:{{{provider}}}");
            let _ = store.swap(key, None, Some(record), 0);
        }
        let store: Arc<dyn Store> = Arc::new(store);
        let context = Context { now_ms, entropy, instance, call_limit_ms, fingerprint: None };
        let run = |call: Call| {
            let mut tape = Tape::new(Arc::clone(&store), "fusewire".into());
            ENGINE.run(&call, &mut tape).expect("no fault").expect("no suspension")
        };
        let mut response = Response::status(status);
        response.headers = vec![fusewire_core::Field { name: "Retry-After".into(), value: retry_after }];
        let seen = Observation::response(response, now_ms);
        let mut verdict = ENGINE.classify(&valid, &seen).expect("no fault");
        verdict.retry_after_ms = delay;
        let Answer::Admission(admission) = run(Call::Admit(valid.clone(), context.clone())) else {
            panic!("another answer");
        };
        let timing = Timing::default();
        if let Decision::Allowed(permit) = &admission.decision {
            prop_assert!(is_valid);
            run(Call::Settle(permit.clone(), Ending::Judged(verdict.clone()), timing, context.clone()));
        }
        let forged = Permit { target: valid.clone(), probe: false, token };
        run(Call::Settle(forged.clone(), Ending::Judged(verdict), timing, context.clone()));
        run(Call::Settle(forged.clone(), Ending::Dropped, timing, context.clone()));
        run(Call::Overdue(forged, context.clone()));
        run(Call::Inspect(valid, context));
    }

    #[test]
    fn no_configuration_makes_it_trap(json in prop_oneof![
        any::<String>(),
        "[{}\\[\\]\":,a-z0-9.\\\\ -]{0,60}",
        r#"\{"breaker":\{"(failures|cool-down|probes)":\{"(count|first|max|jitter|needed|lease)":("[0-9a-z]{0,9}"|-?[0-9.]{0,25})\}\}\}"#,
    ]) {
        static ENGINE: std::sync::LazyLock<ComponentEngine> =
            std::sync::LazyLock::new(|| load("{}").expect("the policy loads"));
        match ENGINE.with_configuration(&json) {
            Ok(_) | Err(LoadError::Configuration(_)) => {}
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
