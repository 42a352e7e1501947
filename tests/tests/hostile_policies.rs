//! A hostile candidate is refused at the stage that it fails at, with the reason, before any call
//! depends on it; and the policy that serves goes on to serve.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fusewire::engine::evidence::unsaid;
use fusewire::engine::{BUILT_IN, ComponentEngine, Limits};
use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire::policy::rollout::{Options, Turned};
use fusewire::policy::{Artefact, Digest, KeyPair, SecretKey, Stage, Terms, Trust};
use fusewire::store::MemoryStore;
use fusewire_core::{Observation, RefusalReason, Response, Target};
use fusewire_tests::attacked::{Attacked, BROKEN, LIMITS, at_once, terms};
use fusewire_tests::hostile::{self, Mode};

/// A story that every policy is to tell: three failures open a breaker.
const STORY: &str = r#"
title = "Three failures open it"
about = "What the operator of these tests expects of every policy."

[config.breaker]
failures = { count = 3 }
cool-down = { jitter = 0 }

[[step]]
at = "0s"
call = "geocoder"
with = 503
times = 2
expect = "allowed"
events = []

[[step]]
call = "geocoder"
with = 503
expect = "allowed"
events = ["closed -> open: failures"]

[[step]]
admit = "geocoder"
expect = { refused = "open" }

[[step]]
at = "1m"
call = "geocoder"
as = "probe"
with = 503
expect = "probe"

[[step]]
next = "probe"
expect = "give-up"
"#;

fn unsigned(bytes: impl Into<Arc<[u8]>>) -> Artefact {
    Artefact::new(bytes, None, "the test")
}

fn told(harm: Mode) -> Artefact {
    unsigned(hostile::policy(harm))
}

/// A host on these terms.
async fn host(terms: Terms) -> Attacked {
    let options = Options { terms, ..at_once() };
    Attacked::start(options, Arc::new(MemoryStore::new())).await
}

/// Has a host refuse a policy at this stage, for a reason with these words. The host serves calls
/// afterwards as before.
async fn refuses(host: &Attacked, artefact: Artefact, stage: Stage, words: &str) -> Turned {
    let before = host.rollout.status().serving;
    let turned = host.turned(artefact).await;
    assert_eq!(turned.stage, stage, "{}", turned.why);
    assert!(turned.why.contains(words), "{words:?} in {:?}", turned.why);
    let (last, earlier) = turned.evidence.split_last().expect("evidence");
    assert!(!last.passed && last.stage == stage, "{last:?}");
    assert!(earlier.iter().all(|evidence| evidence.passed));
    let passed: Vec<Stage> = earlier.iter().map(|evidence| evidence.stage).collect();
    let all: Vec<Stage> = Stage::ALL.into_iter().filter(|at| *at < stage).collect();
    assert_eq!(passed, all, "every stage before it was gone through");

    assert_eq!(host.rollout.status().serving, before);
    let admit = async |name: &str| {
        let target = Target::provider(name);
        host.guard.admit(&target, &CallFacts::default()).await
    };
    assert!(admit("healthy").await.is_ok(), "calls go through");
    let refusal = admit(BROKEN).await.err().expect("its breaker stays open");
    assert_eq!(refusal.reason, RefusalReason::Open);
    turned
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_is_not_the_one_allowed_is_refused_by_its_digest() {
    let allowed = Digest::of(&hostile::policy(Mode::Harmless));
    let host = host(Terms {
        trust: Trust {
            digests: vec![allowed],
            ..Trust::default()
        },
        ..terms()
    })
    .await;
    let other = told(Mode::AllowsAll);
    let words = format!("{} is not allowed", other.digest());
    refuses(&host, other, Stage::Digest, &words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_nobody_trusted_has_signed_is_refused_by_its_signature() {
    let [ours, other] = [(); 2].map(|()| KeyPair::generate(None).expect("a pair of keys"));
    let host = host(Terms {
        trust: Trust {
            keys: vec![ours.public.clone()],
            ..Trust::default()
        },
        ..terms()
    })
    .await;
    let bytes = hostile::policy(Mode::AllowsAll);
    let sign = |pair: &KeyPair| {
        let key = SecretKey::read(&pair.secret, None).expect("its own text");
        key.sign(&bytes, "a policy").expect("a signature")
    };
    let signed = |bytes: &[u8], signature| Artefact::new(bytes, Some(signature), "the test");
    let is_refused = async |artefact, words| {
        refuses(&host, artefact, Stage::Signature, words).await;
    };
    is_refused(unsigned(bytes.clone()), "not signed").await;
    is_refused(signed(&bytes, sign(&other)), "key").await;
    is_refused(signed(&bytes, "no signature".into()), "signature").await;
    let mut changed = bytes.clone();
    if let Some(last) = changed.last_mut() {
        *last ^= 1;
    }
    is_refused(signed(&changed, sign(&ours)), "changed").await;
    is_refused(signed(&bytes[..bytes.len() / 2], sign(&ours)), "changed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_whole_component_is_refused_before_anything_is_compiled() {
    let host = host(terms()).await;
    let is_refused = async |bytes: &[u8], words| {
        refuses(&host, unsigned(bytes), Stage::Parse, words).await;
    };
    is_refused(b"", "it is empty").await;
    is_refused(b"policy", "it is not WebAssembly").await;
    for cut in [9, BUILT_IN.len() / 3, BUILT_IN.len() - 1] {
        is_refused(&BUILT_IN[..cut], "it is cut off").await;
    }
    let mut longer = BUILT_IN.to_vec();
    longer.push(0);
    is_refused(&longer, "cut off").await;
    is_refused(
        &wat::parse_str("(module)").expect("good text"),
        "a core module",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_of_another_world_is_refused_before_anything_is_compiled() {
    let host = host(terms()).await;
    let is_refused = async |bytes: &[u8], words| {
        refuses(&host, unsigned(bytes), Stage::World, words).await;
    };
    is_refused(
        &wat::parse_str("(component)").expect("good text"),
        "fusewire:policy/",
    )
    .await;
    // An adapter: a component of this project, and no policy.
    let adapter = include_bytes!(env!("FUSEWIRE_WASI_KEYVALUE_WASM"));
    is_refused(adapter, "wasi:keyvalue/").await;
    // A whole policy that wants more than a policy may have.
    let wanting = include_bytes!(env!("FUSEWIRE_POLICY_WASI_WASM"));
    is_refused(wanting, "wasi:keyvalue/").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_does_not_come_through_its_start_is_refused_there() {
    let host = host(terms()).await;
    for (harm, words) in [
        (Mode::EndlessStart, "ran for longer than 200 ms"),
        (Mode::EndlessDescribe, "ran for longer than 200 ms"),
        (
            Mode::GreedyStart,
            "more memory while it started than the 16 MiB",
        ),
        (Mode::TrapAtStart, "it trapped while it started"),
        (Mode::EndlessName, "too much data"),
        (Mode::EscapingName, "control characters"),
    ] {
        let turned = refuses(&host, told(harm), Stage::Start, words).await;
        assert_eq!(turned.name, "", "{harm:?} never said who it is");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_wants_more_memory_than_there_is_for_it_is_never_started() {
    let host = host(Terms {
        limits: Limits {
            memory: 4 << 20,
            ..terms().limits
        },
        ..terms()
    })
    .await;
    let greedy = hostile::policy_with_pages(127);
    let words = "it wants 7.9 MiB of memory at its start, and may have 4 MiB";
    refuses(&host, unsigned(greedy), Stage::Start, words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_cannot_be_configured_is_refused_there() {
    let host = host(terms()).await;
    for (harm, words) in [
        (Mode::EndlessConfigure, "ran for longer than 200 ms"),
        (
            Mode::AcceptsNothing,
            "/breaker: this policy does as it likes",
        ),
    ] {
        let turned = refuses(&host, told(harm), Stage::Configure, words).await;
        assert_eq!(
            turned.name, "",
            "{harm:?} is known by name once it is vetted"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_cannot_say_what_it_looks_at_is_refused_where_it_is_configured() {
    let host = host(terms()).await;
    for (harm, words) in [
        (Mode::TrapInWanted, "it trapped while it said"),
        (
            Mode::EndlessWanted,
            "ran for longer than 200 ms while it said",
        ),
        (
            Mode::WantsHugeBody,
            "4294967295 bytes of a body, and may want 65536",
        ),
        (
            Mode::WantsManyFields,
            "1000 header fields by name, and may want 256",
        ),
        (Mode::AliasedFields, "too much data"),
    ] {
        refuses(&host, told(harm), Stage::Configure, words).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_cannot_say_what_it_looks_at_costs_no_call_and_is_left_alone_with_it() {
    for harm in [
        Mode::TrapInWanted,
        Mode::EndlessWanted,
        Mode::WantsHugeBody,
        Mode::WantsManyFields,
        Mode::AliasedFields,
    ] {
        let engine = ComponentEngine::from_bytes(&hostile::policy(harm), "{}", LIMITS);
        let (faults, told) = (Arc::new(AtomicU64::new(0)), Target::provider("p"));
        let counted = Arc::clone(&faults);
        let count = move |notice: &Notice<'_>| {
            let is_so = matches!(
                notice,
                Notice::Fault {
                    during: "wanted",
                    ..
                }
            );
            counted.fetch_add(is_so.into(), Ordering::Relaxed);
        };
        let engine = Arc::new(engine.expect("it loads"));
        let guard = Guard::builder(engine, Arc::new(MemoryStore::new()))
            .observer(Arc::new(count))
            .build();
        for _ in 0..5 {
            let admitted = guard.admit(&told, &CallFacts::default()).await;
            let admitted = admitted.expect("calls go through");
            assert_eq!(guard.wanted(&told), unsaid(), "{harm:?}");
            let seen = Observation::response(Response::status(200), guard.now_ms());
            let verdict = admitted.classify(&told, &seen);
            assert_eq!(verdict.rule, "status/200", "{harm:?}: it is judged as ever");
            admitted.settle(verdict);
        }
        assert_eq!(faults.load(Ordering::Relaxed), 1, "{harm:?}: asked once");
        let counts = guard.generations().active().counts();
        let counted = counts.traps + counts.deadlines + counts.breaches;
        assert_eq!(counted, 1, "{harm:?}: {counts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_does_not_decide_as_its_operator_expects_is_refused_by_a_scenario() {
    let host = host(Terms {
        scenarios: vec![("three-failures.toml".into(), STORY.into())],
        ..terms()
    })
    .await;
    for (harm, words) in [
        (Mode::TrapOnFirstAdmit, "trapped"),
        (Mode::EndlessAdmit, "ran for longer than 200 ms"),
        (Mode::Recursion, "stack"),
        (Mode::RefusesAll, "refused"),
        (Mode::AllowsAll, "closed -> open: failures"),
        (Mode::ThousandOperations, "more than 64 store operations"),
        (Mode::SuspendsForNothing, "though its store had answered"),
        (Mode::HugeReason, "trapped"),
        (Mode::LongReason, "8192 bytes, and may have 4096"),
        (Mode::AliasedEvents, "trapped"),
        (Mode::LongPermit, "8192 bytes, and may have 1024"),
        (Mode::ForeignPermit, "another target"),
        (Mode::ForeignEvents, "no domain of the target"),
        (Mode::NoTime, "may last 0 ms"),
        (Mode::RetriesForEver, "retry"),
        (Mode::WaitsForEver, "18446744073709551615 ms"),
    ] {
        let turned = refuses(&host, told(harm), Stage::Scenarios, words).await;
        let whose = "1 of 1 scenarios failed\n  the operator's `three-failures.toml`: line ";
        assert!(turned.why.starts_with(whose), "{harm:?}: {}", turned.why);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_explains_without_end_is_not_listened_to() {
    for (harm, words) in [
        (Mode::ManyFacts, "1000 facts of one domain, and may tell 64"),
        (Mode::LongFact, "8192 bytes, and may have 128"),
    ] {
        let engine = ComponentEngine::from_bytes(&hostile::policy(harm), "{}", LIMITS);
        let engine = Arc::new(engine.expect("it loads"));
        let guard = Guard::builder(engine, Arc::new(MemoryStore::new())).build();
        let why = guard
            .explain("p")
            .await
            .expect_err("it breaks its contract");
        assert!(why.contains(words), "{harm:?}: {why}");
        assert_eq!(guard.generations().active().counts().breaches, 1);
        let admitted = guard
            .admit(&Target::provider("p"), &CallFacts::default())
            .await;
        assert!(admitted.is_ok(), "{harm:?}: no call is lost for that");
    }
}
