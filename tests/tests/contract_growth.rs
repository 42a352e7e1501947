//! A policy that was built once keeps loading: the contract grows, and nothing in it changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fusewire::engine::{Answer, Call, ComponentEngine, Engine, Limits, LoadError, ask};
use fusewire::policy::{Artefact, Stage, Terms, vet};
use fusewire::scenario::{Scenario, play, report};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{
    Admission, Context, Decision, OverrideError, OverrideMode, OverrideOrder, Target, Wanted,
};
use fusewire_tests::contract::{changes, read};

/// Built against the contract of `tests/contracts/0.1.0`.
static FIRST: &[u8] = include_bytes!(env!("FUSEWIRE_FIRST_POLICY_WASM"));

fn load(bytes: &[u8]) -> Result<ComponentEngine, LoadError> {
    ComponentEngine::from_bytes(bytes, "{}", Limits::default())
}

fn refusal(bytes: &[u8]) -> String {
    load(bytes).err().expect("it is refused").to_string()
}

/// The first policy, as if built against a contract of this version.
fn of_version(version: &str) -> Vec<u8> {
    let (from, to) = (b"@0.1.0", format!("@{version}"));
    assert_eq!(from.len(), to.len(), "lengths are written before names");
    let mut bytes = FIRST.to_vec();
    let mut replaced = 0;
    while let Some(at) = bytes.windows(from.len()).position(|piece| piece == from) {
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        replaced += 1;
    }
    assert!(replaced >= 5, "the interfaces of the contract");
    bytes
}

/// The first policy with more in its component, in WebAssembly's text form.
fn with(more: &str) -> Vec<u8> {
    let text = wasmprinter::print_bytes(FIRST).expect("a component");
    let open = text
        .trim_end()
        .strip_suffix(')')
        .expect("the end of the component");
    wat::parse_str(format!("{open}{more})")).expect("a component")
}

const STORY: &str = r#"
title = "Three failures within a minute open it for ten seconds"
about = "All that the first policy knows."

[[step]]
at = "0s"
call = "geocoder"
with = 503
times = 2
events = []

[[step]]
at = "1s"
call = "geocoder"
by = "b"
with = "read-timeout"
events = ["closed -> open: failures"]

[[step]]
at = "2s"
call = "geocoder"
expect = { refused = "open", retry-after = "9s" }

[[step]]
inspect = "geocoder"
expect = { phase = "open", until = "11s" }

[[step]]
at = "11s"
call = "geocoder"
with = 200
expect = "allowed"

[[step]]
store = "down"

[[step]]
call = "geocoder"
with = 503
expect = "allowed"
events = ["store"]
"#;

/// Plays what the policies in this file can do, on a store that answers at once and on a late one.
async fn plays(engine: &ComponentEngine) {
    let scenario = Scenario::parse(STORY).expect("a good scenario");
    let engine = engine
        .with_configuration(&scenario.configuration("story"))
        .expect("a good configuration");
    let stores: [Arc<dyn Store>; 2] = [
        Arc::new(MemoryStore::new()),
        Arc::new(Delayed::new(MemoryStore::new())),
    ];
    for store in stores {
        let played = play(&scenario, &engine, store, "story").await;
        assert!(
            played.failures.is_empty(),
            "\n{}",
            report::failures("story", &played)
        );
    }
}

#[tokio::test]
async fn a_policy_that_was_built_against_the_first_contract_loads_and_does_what_it_did() {
    let engine = load(FIRST).expect("it loads");
    assert_eq!(engine.describe().name, "first");
    plays(&engine).await;
}

#[tokio::test]
async fn a_policy_of_a_later_version_that_uses_nothing_new_loads_here() {
    plays(&load(&of_version("0.1.7")).expect("it loads")).await;
}

#[tokio::test]
async fn what_a_policy_exports_beyond_this_hosts_contract_is_left_alone() {
    // An interface that came later, and one in a contract that came later as well as in this one.
    for name in [
        "fusewire:policy/more@0.1.7",
        "fusewire:policy/breaker@0.2.0",
    ] {
        let more = format!(r#"(instance $more) (export "{name}" (instance $more))"#);
        plays(&load(&with(&more)).expect("it loads")).await;
    }
}

#[test]
fn a_policy_that_does_not_say_what_it_looks_at_gets_all_fields_and_trailers_and_no_body() {
    let target = Target::provider("geocoder");
    // Of a contract that is not compatible it is as good as not there.
    let another = with(r#"(instance $e) (export "fusewire:policy/evidence@0.2.0" (instance $e))"#);
    for bytes in [FIRST, &another] {
        let wanted = load(bytes).expect("it loads").wanted(&target);
        let wanted = wanted.expect("nothing is asked");
        let expected = Wanted {
            body_bytes: 0,
            headers: None,
            trailers: true,
        };
        assert_eq!(*wanted, expected);
    }
}

/// One call of a policy on a store that answers at once.
async fn run(engine: &ComponentEngine, call: Call) -> Answer {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let patience = Duration::from_secs(1);
    ask(engine, &store, &"fusewire".into(), patience, &call)
        .await
        .expect("it keeps its contract")
}

#[tokio::test]
async fn a_policy_that_knows_nothing_of_limits_sets_none_and_is_told_nothing_of_slow_calls() {
    let engine = load(FIRST).expect("it loads");
    assert!(!engine.sets_limits());
    let target = Target::provider("geocoder");
    let answer = run(&engine, Call::Admit(target, Context::at(1_000, 7))).await;
    let Answer::Admission(Admission {
        decision: Decision::Allowed(permit),
        limits,
        ..
    }) = answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(limits, fusewire_core::Limits::default());
    let told = run(&engine, Call::Overdue(permit, Context::at(2_000, 7))).await;
    assert_eq!(told, Answer::Settled(Vec::new()));
    let built_in = ComponentEngine::built_in("{}").expect("it loads");
    assert!(built_in.sets_limits());
}

#[tokio::test]
async fn a_policy_without_answers_for_operators_shows_its_state_and_takes_no_share() {
    let engine = load(FIRST).expect("it loads");
    let context = Context::at(1_000, 7);
    let answer = run(&engine, Call::Explain("geocoder".into(), context.clone())).await;
    let Answer::Facts(Ok(facts)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((&*facts[0].subject, &*facts[0].value), ("phase", "closed"));
    let order = OverrideOrder {
        mode: OverrideMode::Observe,
        enforce_percent: 10,
        who: "on-call".into(),
        why: "a drill".into(),
        until_ms: 0,
    };
    let answer = run(
        &engine,
        Call::Order("geocoder".into(), Some(order), context),
    )
    .await;
    let Answer::Ordered(Err(OverrideError::Invalid(why))) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        why,
        "this policy enforces all refusals or none, not a share of them"
    );
}

#[tokio::test]
async fn an_optional_interface_in_another_shape_is_refused_when_it_is_loaded() {
    for (interface, function) in [
        ("evidence", "wanted"),
        ("attempts", "admit"),
        ("operator", "explain"),
    ] {
        let export = format!(r#"(export "fusewire:policy/{interface}@0.1.1" (instance $e))"#);
        for shape in [
            "(instance $e)".to_owned(),
            format!(
                r#"(core module $m (func (export "f")))
                (core instance $i (instantiate $m))
                (func $f (canon lift (core func $i "f")))
                (instance $e (export "{function}" (func $f)))"#
            ),
        ] {
            let bytes = with(&format!("{shape} {export}"));
            let why = refusal(&bytes);
            assert!(why.contains(interface), "{why}");
            let candidate = Artefact::new(bytes, None, "a test");
            let refused = vet(candidate, &Terms::default(), |_| {}).await;
            let refused = refused.err().expect("it is refused");
            assert_eq!(refused.stage, Stage::World);
            let named = format!("`{interface}.{function}`");
            assert!(refused.why.contains(&named), "{refused}");
        }
    }
}

#[test]
fn a_policy_that_needs_an_interface_which_this_host_does_not_have_needs_a_newer_host() {
    let why = refusal(&with(r#"(import "fusewire:policy/more@0.1.7" (instance))"#));
    assert_eq!(
        why,
        "the policy needs a newer host: it imports `fusewire:policy/more@0.1.7`, and this host's \
         contract, 0.1.2, has no such interface"
    );
}

#[test]
fn a_policy_of_a_contract_that_may_differ_in_everything_needs_a_newer_host() {
    let why = refusal(&of_version("0.2.0"));
    assert_eq!(
        why,
        "the policy needs a newer host: it imports `fusewire:policy/keyvalue@0.2.0`, and this \
         host's contract is 0.1.2"
    );
    assert!(refusal(&of_version("1.0.0")).contains("needs a newer host"));
    let older = refusal(&of_version("0.0.9"));
    assert!(older.contains("needs an older host"), "{older}");
}

#[tokio::test]
async fn a_candidate_that_needs_a_newer_host_is_told_so_before_it_is_compiled() {
    for bytes in [
        with(r#"(import "fusewire:policy/more@0.1.7" (instance))"#),
        of_version("0.2.0"),
    ] {
        let candidate = Artefact::new(bytes, None, "a test");
        match vet(candidate, &Terms::default(), |_| {}).await {
            Ok(_) => panic!("it came through"),
            Err(refused) => {
                assert_eq!(refused.stage, Stage::World);
                assert!(refused.why.contains("it needs a newer host"), "{refused}");
            }
        }
    }
}

#[test]
fn what_is_not_of_the_contract_at_all_is_refused_for_what_it_is() {
    let why = refusal(&with(
        r#"(import "wasi:clocks/wall-clock@0.2.0" (instance))"#,
    ));
    assert!(
        why.contains("may import nothing but `fusewire:policy/keyvalue`"),
        "{why}"
    );
}

#[test]
fn everything_of_each_contract_of_the_past_is_in_todays_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let today = read(&root.join("../wit"));
    for (version, what, there) in [
        ("0.1.0", "fusewire:policy/keyvalue", "get"),
        ("0.1.0", "fusewire:policy/breaker", "admit"),
        ("0.1.1", "fusewire:policy/evidence", "wanted"),
        ("0.1.2", "fusewire:policy/attempts", "overdue"),
        ("0.1.2", "fusewire:policy/operator", "explain"),
    ] {
        let past = read(&root.join("contracts").join(version));
        assert_eq!(changes(&past, &today), [""; 0], "{version}");
        assert!(
            past.contains_key(&format!("{what}: function {there}")),
            "{version}: {what}"
        );
    }
}

#[test]
fn the_comparison_sees_whatever_would_break_a_policy_and_nothing_else() {
    let before = "package a:b@0.1.0;
        interface i {
            record r { one: u32, two: option<string> }
            enum e { first, second }
            variant v { none, some(r) }
            f: func(r: r, e: e) -> result<v, string>;
            g: func();
        }
        world w { import i; }";
    let compare = |changed: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            std::fs::write(folder.join("a.wit"), text).expect("a file");
            read(&folder)
        };
        changes(&write("before", before), &write("after", changed))
    };
    assert_eq!(compare(before), [""; 0]);
    let grown = before
        .replace("0.1.0", "0.1.9")
        .replace("g: func();", "/// Said more clearly.\n g: func();")
        .replace(
            "world w {",
            "@since(version = 0.1.9)
            interface more { h: func() -> u32; }
            @since(version = 0.1.3) @deprecated(version = 0.1.9)
            interface once { h: func(); }
            @since(version = 0.1.9)
            world w2 { include w; import more; }
            world w {",
        );
    assert_eq!(compare(&grown), [""; 0], "what may be added");
    for (from, to, seen) in [
        ("g: func();", "", "a:b/i: function g is gone"),
        (
            "one: u32",
            "one: u64",
            "a:b/i: type r was record { one: u32, two: option<string> }, and is record { one: u64, two: option<string> }",
        ),
        (
            "one: u32, two: option<string>",
            "two: option<string>, one: u32",
            "a:b/i: type r was",
        ),
        (
            "two: option<string> }",
            "two: option<string>, three: u8 }",
            "a:b/i: type r was",
        ),
        (
            "{ first, second }",
            "{ second, first }",
            "a:b/i: type e was enum { first, second }, and is enum { second, first }",
        ),
        (
            "{ first, second }",
            "{ first, second, third }",
            "a:b/i: type e was",
        ),
        (
            "some(r)",
            "some(e)",
            "a:b/i: type v was variant { none, some(r) }, and is variant { none, some(e) }",
        ),
        ("r: r, e: e", "r: r", "a:b/i: function f was"),
        ("r: r, e: e", "r: r, other: e", "a:b/i: function f was"),
        ("result<v, string>", "result<v>", "a:b/i: function f was"),
        ("import i", "export i", "a:b: world w was"),
        (
            "g: func();",
            "g: func(); h: func();",
            "a:b/i: function h is new in an interface that was there before",
        ),
    ] {
        let found = compare(&before.replacen(from, to, 1));
        assert!(
            found.iter().any(|change| change.starts_with(seen)),
            "{from} -> {to}: {found:?}"
        );
    }
}
