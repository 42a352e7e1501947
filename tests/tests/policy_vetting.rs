//! What must not run is refused at the stage that finds it, in words that say what would be right.

use fusewire::core::Target;
use fusewire::engine::evidence::unsaid;
use fusewire::engine::{BUILT_IN, Engine};
use fusewire::policy::{Artefact, Digest, KeyPair, Refused, SecretKey, Stage, Terms};
use fusewire::policy::{Trust, Vetted, vet};
use fusewire::sections::with_scenarios;

async fn vetted(bytes: impl Into<Vec<u8>>, terms: &Terms) -> Result<Vetted, Refused> {
    vet(Artefact::new(bytes.into(), None, "a test"), terms, |_| {}).await
}

/// Checks that these bytes are refused at a stage, and that it says this and that.
async fn refused(bytes: &[u8], terms: &Terms, stage: Stage, words: &[&str]) -> Refused {
    let refused = match vetted(bytes, terms).await {
        Ok(_) => panic!("it came through, and should have been refused at {stage}: {words:?}"),
        Err(refused) => refused,
    };
    assert_eq!(refused.stage, stage, "{}", refused.why);
    for word in words {
        assert!(
            refused.why.contains(word),
            "`{word}` is not in: {}",
            refused.why
        );
    }
    let last = refused.evidence.last().expect("what was seen");
    assert_eq!((last.stage, last.passed), (stage, false));
    assert_eq!(last.found, refused.why);
    let passed = &refused.evidence[..refused.evidence.len() - 1];
    assert!(passed.iter().all(|seen| seen.passed));
    let stages: Vec<Stage> = refused.evidence.iter().map(|seen| seen.stage).collect();
    assert_eq!(stages, Stage::ALL[..stages.len()], "none was left out");
    refused
}

/// The built-in policy with some of its names changed, all of them alike, to others as long.
fn renamed(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = BUILT_IN.to_vec();
    let mut at = 0;
    let mut changed = 0;
    while let Some(found) = bytes[at..]
        .windows(from.len())
        .position(|w| w == from.as_bytes())
    {
        at += found;
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        changed += 1;
    }
    assert!(changed > 0, "there is no {from} in it");
    bytes
}

/// The built-in policy with another section at its end.
fn with_section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = BUILT_IN.to_vec();
    let size = u8::try_from(content.len()).expect("short");
    assert!(size < 0x80, "its length is written in one byte");
    bytes.extend([id, size]);
    bytes.extend_from_slice(content);
    bytes
}

/// The built-in policy with a core module at its end, of which nobody makes an instance.
fn with_module(text: &str) -> Vec<u8> {
    let module = wat::parse_str(text).expect("a module");
    with_section(1, &module)
}

fn signed_by_nobody() -> Vec<u8> {
    with_section(0, b"\x04note")
}

#[tokio::test]
async fn the_built_in_policy_comes_through_with_evidence_of_every_stage() {
    let mut told = Vec::new();
    let terms = Terms::default();
    let vetted = vet(Artefact::built_in(), &terms, |seen| told.push(seen.clone())).await;
    let vetted = vetted.unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(told, vetted.evidence, "each is told as soon as it is seen");
    let stages: Vec<Stage> = told.iter().map(|seen| seen.stage).collect();
    assert_eq!(stages, Stage::ALL[..8]);
    let found = |stage: Stage| {
        &told
            .iter()
            .find(|seen| seen.stage == stage)
            .expect("seen")
            .found
    };
    let world = found(Stage::World);
    assert!(world.contains("imports fusewire:policy/keyvalue@0.1.2"));
    assert!(
        world.ends_with(
            "exports all that the contract asks for and evidence and attempts and operator"
        ),
        "{world}"
    );
    assert!(found(Stage::Start).starts_with("fusewire 0.1.0, record schema"));
    assert!(found(Stage::Scenarios).contains("10 carried, all as they say"));
    assert_eq!(vetted.engine.describe().name, "fusewire");
}

#[tokio::test]
async fn a_digest_that_is_not_on_the_list_is_refused_before_anything_else() {
    let allowed = Digest::of(b"another policy");
    let terms = Terms {
        trust: Trust {
            digests: vec![allowed],
            ..Trust::default()
        },
        ..Terms::default()
    };
    let bytes = signed_by_nobody();
    let digest = Digest::of(&bytes).to_string();
    let seen = refused(
        &bytes,
        &terms,
        Stage::Digest,
        &[&digest, &allowed.to_string()],
    )
    .await;
    assert_eq!(seen.evidence.len(), 1);
    let terms = Terms {
        trust: Trust {
            digests: vec![allowed, Digest::of(&bytes)],
            ..Trust::default()
        },
        ..Terms::default()
    };
    assert!(vetted(bytes, &terms).await.is_ok());
}

fn trusting(pair: &KeyPair) -> Terms {
    Terms {
        trust: Trust {
            keys: vec![pair.public.clone()],
            ..Trust::default()
        },
        ..Terms::default()
    }
}

#[tokio::test]
async fn with_a_key_nothing_runs_that_it_has_not_signed() {
    let pair = KeyPair::generate(None).expect("a key");
    let terms = trusting(&pair);
    let bytes = signed_by_nobody();
    refused(
        &bytes,
        &terms,
        Stage::Signature,
        &["not signed", &pair.public.id(), ".minisig"],
    )
    .await;

    let secret = SecretKey::read(&pair.secret, None).expect("its own");
    let signature = secret.sign(&bytes, "file:policy.wasm").expect("signed");
    let signed = Artefact::new(bytes.clone(), Some(signature.clone()), "a test");
    assert!(vet(signed, &terms, |_| {}).await.is_ok());

    let mut changed = bytes;
    *changed.last_mut().expect("bytes") ^= 1;
    let changed = Artefact::new(changed, Some(signature), "a test");
    let Err(why) = vet(changed, &terms, |_| {}).await else {
        panic!("it was changed after it was signed");
    };
    assert_eq!(why.stage, Stage::Signature);
    assert!(
        why.why.contains("changed after they were signed"),
        "{}",
        why.why
    );
}

#[tokio::test]
async fn what_is_no_component_is_called_what_it_is() {
    let terms = Terms::default();
    let parse = |bytes: Vec<u8>, words: &'static str| {
        let terms = terms.clone();
        async move { refused(&bytes, &terms, Stage::Parse, &[words]).await }
    };
    let module = wat::parse_str("(module (memory 1))").expect("a module");
    parse(module, "core module, not a component: make one of it").await;
    let package = r#"(component
        (type (component (export "a:b/c" (instance (export "f" (func))))))
        (export "c" (type 0)))"#;
    parse(wat::parse_str(package).expect("a package"), "a WIT package").await;
    parse(package.into(), "text form").await;
    parse(Vec::new(), "it is empty").await;
    parse(b"\x7fELF\x02\x01\x01\x00".to_vec(), "machine code").await;
    parse(b"\x1f\x8b\x08\x00".to_vec(), "compressed").await;
    parse(b"#!/bin/sh\n".to_vec(), "not WebAssembly").await;
}

#[tokio::test]
async fn a_policy_that_is_cut_off_is_called_that_wherever_it_ends() {
    let lengths = (1..BUILT_IN.len()).step_by(BUILT_IN.len() / 40);
    // The scenarios at its end are sections of their own: without them it is whole as well.
    let code = with_scenarios(BUILT_IN, &[]).expect("a component").len();
    for length in lengths.filter(|length| (8..code).contains(length)) {
        let words = format!("it ends after {length} bytes");
        refused(
            &BUILT_IN[..length],
            &Terms::default(),
            Stage::Parse,
            &["cut off", &words],
        )
        .await;
    }
}

#[tokio::test]
async fn a_policy_that_is_damaged_is_never_taken_for_another() {
    let mut flipped = BUILT_IN.to_vec();
    let middle = flipped.len() / 3;
    for byte in &mut flipped[middle..middle + 64] {
        *byte = !*byte;
    }
    refused(
        &flipped,
        &Terms::default(),
        Stage::Parse,
        &["it is damaged at byte"],
    )
    .await;
    let terms = Terms {
        largest: BUILT_IN.len() - 1,
        ..Terms::default()
    };
    refused(BUILT_IN, &terms, Stage::Parse, &["KiB, and may have"]).await;
}

#[tokio::test]
async fn what_it_carries_must_be_whole() {
    let bytes = with_section(0, b"\x11fusewire:scenariono name");
    let words = [
        "what it carries cannot be read",
        "does not begin with its name",
    ];
    refused(&bytes, &Terms::default(), Stage::Parse, &words).await;
}

#[tokio::test]
async fn another_world_is_told_by_what_is_missing_and_what_is_too_much() {
    let terms = Terms::default();
    let world = |bytes: Vec<u8>, words: &'static [&'static str]| {
        let terms = terms.clone();
        async move { refused(&bytes, &terms, Stage::World, words).await }
    };
    // At its end, so that nothing else is moved: a resource that it wants from the host.
    let extra = with_section(10, b"\x01\x00\x04evil\x03\x01");
    world(
        extra,
        &["it imports `evil`, and may import nothing but `fusewire:policy/keyvalue`"],
    )
    .await;
    world(
        wat::parse_str("(component)").expect("a component"),
        &[
            "does not export `fusewire:policy/lifecycle@0.1.x`",
            "planner",
        ],
    )
    .await;
    world(
        renamed(
            "fusewire:policy/planner@0.1.2",
            "fusewire:policy/plannex@0.1.2",
        ),
        &["it does not export `fusewire:policy/planner@0.1.x`"],
    )
    .await;
    world(
        renamed(
            "fusewire:policy/planner@0.1.2",
            "fusewire:policy/planner@0.2.0",
        ),
        &["`fusewire:policy/planner@0.2.0`, of another contract: this host has 0.1.x"],
    )
    .await;
    world(
        renamed(
            "fusewire:policy/keyvalue@0.1.2",
            "fusewire:policy/keyvalue@7.1.0",
        ),
        &["imports `fusewire:policy/keyvalue@7.1.0`, of another contract"],
    )
    .await;
    world(
        renamed("set-override", "get-override"),
        &["it does not export `breaker.set-override`"],
    )
    .await;
    world(
        renamed("record-schema", "record-schemb"),
        &["it exports `lifecycle.describe` with another type than the contract's"],
    )
    .await;
    world(
        renamed("body-bytes", "body-bytez"),
        &["it exports `evidence.wanted` with another type than the contract's"],
    )
    .await;
    world(
        renamed("unavailable", "unavailabme"),
        &["it imports `keyvalue.get` with another type than the contract's"],
    )
    .await;
}

#[tokio::test]
async fn a_later_contract_of_the_same_line_is_no_other_world() {
    let later = renamed("@0.1.2", "@0.1.9");
    let vetted = vetted(later, &Terms::default()).await;
    let vetted = vetted.unwrap_or_else(|refused| panic!("{refused}"));
    let wanted = vetted.engine.wanted(&Target::provider("p")).expect("said");
    assert_ne!(wanted, unsaid(), "it is asked what it looks at");
}

#[tokio::test]
async fn what_this_host_cannot_compile_is_refused_there() {
    let bytes = with_module("(module (type (struct)) (func (param (ref null 0))))");
    refused(&bytes, &Terms::default(), Stage::Compile, &["gc"]).await;
}

#[tokio::test]
async fn more_memory_than_allowed_is_told_in_figures() {
    let bytes = with_module("(module (memory 1024))");
    let words = ["MiB of memory at its start, and may have 16 MiB"];
    refused(&bytes, &Terms::default(), Stage::Start, &words).await;
}

#[tokio::test]
async fn every_problem_of_its_configuration_is_told_with_its_place() {
    let terms = Terms {
        configuration: r#"{"breaker": {"failures": "many"}, "nonsense": 1}"#.into(),
        ..Terms::default()
    };
    let words = [
        "it does not accept its configuration",
        "\n  /breaker/failures",
        "\n  /nonsense",
    ];
    refused(BUILT_IN, &terms, Stage::Configure, &words).await;
}

/// A scenario that expects a call to be refused that is admitted.
const WRONG: &str = "title = \"Nobody may call\"\n\n[[step]]\nat = \"0s\"\nadmit = \"geocoder\"\n\
    expect = \"refused\"\n";
const RIGHT: &str = "title = \"Anybody may call\"\n\n[[step]]\nat = \"0s\"\nadmit = \"geocoder\"\n\
    expect = \"allowed\"\n";

fn scenario(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[tokio::test]
async fn a_scenario_that_does_not_come_out_as_it_says_refuses_the_policy() {
    let carrying = [scenario("right.toml", RIGHT), scenario("wrong.toml", WRONG)];
    let carrying = with_scenarios(BUILT_IN, &carrying).expect("carried");
    let terms = Terms {
        scenarios: vec![
            scenario("mine.toml", WRONG),
            scenario("typo.toml", "titel = \"\""),
            scenario("other.toml", &format!("{RIGHT}\n[config]\nnonsense = 1\n")),
        ],
        ..Terms::default()
    };
    let words = [
        "4 of 5 scenarios failed",
        "its own `wrong.toml`: line 6:1, at 0s a asks for geocoder: expected refused, found allowed",
        "the operator's `mine.toml`: line 6:1",
        "the operator's `typo.toml`: it cannot be read",
        "the operator's `other.toml`: the policy does not accept its configuration: /nonsense",
    ];
    refused(&carrying, &terms, Stage::Scenarios, &words).await;
}

#[tokio::test]
async fn a_scenario_cannot_fill_the_hosts_memory() {
    let text = "x".repeat(20_000);
    let flood = format!(
        "title = \"A flood\"\n\n[[step]]\nput = \"geocoder\"\ntext = \"{text}\"\ntimes = 10_000\n"
    );
    let carrying = with_scenarios(BUILT_IN, &[scenario("flood.toml", &flood)]).expect("carried");
    let words = ["`flood.toml`", "the log has become too long to go on"];
    refused(&carrying, &Terms::default(), Stage::Scenarios, &words).await;
}
