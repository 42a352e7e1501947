//! `fusewire policy`, as people type it.

use std::fs;
use std::path::Path;

use fusewire::engine::BUILT_IN;
use fusewire::policy::Digest;
use fusewire_tests::desk::{Desk, has};
use serde_json::Value;

/// The repository's scenarios.
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");

#[test]
fn inspect_shows_what_a_policy_is() {
    let desk = Desk::laid();
    let out = desk.run("inspect policy.wasm").good();
    let bytes = fs::read(desk.path("policy.wasm")).expect("a policy");
    has(
        &out,
        &[
            "policy.wasm\n",
            "fusewire 0.1.0\n",
            &Digest::of(&bytes).to_string(),
            "not signed",
            "fusewire:policy/keyvalue@0.1.2\n",
            "fusewire:policy/planner@0.1.2\n",
            "fusewire:policy/evidence@0.1.2\n",
            "five-failures-within-a-minute-open-the-breaker.toml\n",
        ],
    );
    assert!(!out.contains('\u{1b}'), "no colour where nobody looks on");
    let json = desk.run("inspect policy.wasm --json").good();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["name"], "fusewire");
    assert_eq!(json["digest"], Digest::of(&bytes).to_string());
    assert_eq!(json["size"], bytes.len());
    assert_eq!(json["signature"]["verified"], Value::Null);
    assert_eq!(json["scenarios"].as_array().map(Vec::len), Some(10));
    assert_eq!(json["refused"], Value::Null);
    has(&desk.run("inspect built-in").good(), &["part of this host"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::laid();
    for words in ["inspect", "verify"] {
        let mut child = desk
            .command()
            .args([words, "policy.wasm"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && err.is_empty(), "{words}: {err}");
    }
}

#[test]
fn inspect_says_of_a_stranger_what_can_be_said() {
    let desk = Desk::laid();
    desk.write(
        "module.wasm",
        wat::parse_str("(module (import \"env\" \"f\" (func)))").expect("a module"),
    );
    let out = desk.run("inspect module.wasm").good();
    has(
        &out,
        &["refused at parse: it is a core module", "env.f", "sha256:"],
    );
    desk.write("notes.txt", "not a policy");
    has(
        &desk.run("inspect notes.txt").good(),
        &["it is not WebAssembly"],
    );
    has(
        &desk.run("inspect nothing.wasm").bad(),
        &["nothing.wasm: No such file"],
    );
}

#[test]
fn verify_tells_every_stage_and_ends_with_the_digest() {
    let desk = Desk::laid();
    let out = desk.run("verify policy.wasm").good();
    let stages: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("ok       "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let all = [
        "digest",
        "signature",
        "parse",
        "world",
        "compile",
        "start",
        "configure",
        "scenarios",
    ];
    assert_eq!(stages, all, "{out}");
    has(
        out.lines().last().expect("lines"),
        &["fusewire 0.1.0 may run here: sha256:"],
    );
}

#[test]
fn verify_fails_with_the_stage_that_refused() {
    let desk = Desk::laid();
    let bytes = fs::read(desk.path("policy.wasm")).expect("a policy");
    desk.write("short.wasm", &bytes[..bytes.len() / 2]);
    let out = desk.run("verify short.wasm").bad();
    has(
        &out,
        &[
            "REFUSED  parse",
            "cut off",
            "short.wasm is refused at parse",
        ],
    );
    let other = Digest::of(b"another");
    let out = desk
        .run(&format!("verify policy.wasm --digest {other}"))
        .bad();
    has(&out, &["REFUSED  digest", "is not allowed"]);
    let right = Digest::of(&bytes);
    desk.run(&format!(
        "verify policy.wasm --digest {other} --digest {right}"
    ))
    .good();
    let wrong = desk.run("verify policy.wasm --digest abc").misused();
    has(&wrong, &["64 hexadecimal digits"]);
}

#[test]
fn verify_asks_for_what_a_gateways_configuration_asks_for() {
    let desk = Desk::laid();
    desk.write("fusewire.toml", GATEWAY);
    desk.run("verify policy.wasm --config fusewire.toml").good();
    desk.write(
        "fusewire.toml",
        format!("{GATEWAY}\n[policy.breaker]\nfailures = \"many\"\n"),
    );
    has(
        &desk.run("verify policy.wasm --config fusewire.toml").bad(),
        &["fusewire.toml:"],
    );
}

const GATEWAY: &str = "[providers.geocoder]\nurl = \"http://127.0.0.1:1\"\n\n\
    [[routes]]\npath = \"/geocode\"\nchain = [\"geocoder\"]\n";

#[test]
fn verify_plays_the_operators_own_scenarios() {
    let desk = Desk::laid();
    let out = desk
        .run(&format!("verify policy.wasm --scenarios {SCENARIOS}"))
        .good();
    has(
        &out,
        &["10 carried and", "of the operator's, all as they say"],
    );
    let wrong =
        "title = \"Nobody may call\"\n\n[[step]]\nadmit = \"geocoder\"\nexpect = \"refused\"\n";
    desk.write("wrong.toml", wrong);
    let out = desk.run("verify policy.wasm --scenarios wrong.toml").bad();
    has(
        &out,
        &[
            "REFUSED  scenarios",
            "the operator's `wrong.toml`: line 5:",
            "refused at scenarios",
        ],
    );
}

#[test]
fn scenarios_are_packed_and_played() {
    let desk = Desk::laid();
    let one = Path::new(SCENARIOS).join("successes-never-erase-failures.toml");
    let one = one.display();
    let out = desk
        .run(&format!(
            "pack policy.wasm --scenarios {one} --output packed.wasm"
        ))
        .good();
    has(&out, &["packed.wasm: carries 1 scenario, sha256:"]);
    let out = desk.run("test packed.wasm").good();
    has(
        &out,
        &[
            "ok      successes-never-erase-failures",
            "1 passed, 0 failed",
        ],
    );

    let wrong =
        "title = \"Nobody may call\"\n\n[[step]]\nadmit = \"geocoder\"\nexpect = \"refused\"\n";
    desk.write("wrong.toml", wrong);
    let out = desk.run("test packed.wasm wrong.toml").bad();
    has(
        &out,
        &["FAILED  wrong", "wrong.toml:5:", "1 passed, 1 failed"],
    );
    let out = desk
        .run("pack policy.wasm --scenarios wrong.toml --output bad.wasm")
        .bad();
    has(
        &out,
        &[
            "bad.wasm would be refused at scenarios",
            "nothing was written",
        ],
    );
    assert!(!desk.path("bad.wasm").exists());
}

#[test]
fn a_policy_without_scenarios_says_how_to_play_some() {
    let desk = Desk::laid();
    let bare = fusewire::sections::with_scenarios(BUILT_IN, &[]).expect("a component");
    desk.write("bare.wasm", bare);
    has(
        &desk.run("test bare.wasm").bad(),
        &["the policy carries no scenario: name some to play"],
    );
    let out = desk.run("test built-in").good();
    has(
        &out,
        &[
            "ok      one-provider-never-opens-another",
            "10 passed, 0 failed",
        ],
    );
}

#[test]
fn bench_tells_each_call_beside_the_built_in_policy() {
    let desk = Desk::laid();
    let out = desk.run("bench policy.wasm").good();
    let rows: Vec<&str> = out.lines().filter(|line| line.contains("s ")).collect();
    for name in [
        "compile",
        "first instance",
        "admit",
        "classify",
        "settle",
        "next",
    ] {
        assert!(
            rows.iter().any(|row| row.starts_with(name)),
            "{name} is not in:\n{out}"
        );
    }
    has(&out, &["policy.wasm", "built-in", "median", "p99", "times"]);
    assert!(
        !out.contains('\u{1b}') && !out.contains("measuring"),
        "{out}"
    );
}
