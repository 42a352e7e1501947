//! The scenarios: what the breaker does, told as stories, with the same decisions wherever they
//! are made.

use std::collections::BTreeSet;
use std::sync::Arc;

use fusewire::engine::{ComponentEngine, Engine, NativeEngine};
use fusewire::scenario::{Played, Scenario, TestOptions, play, report, run};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, RedisStore, Store};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::scenarios::scenarios;

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Plays a text over the core, in memory.
async fn play_here(text: &str) -> Played {
    let scenario = Scenario::parse(text).unwrap();
    let engine = NativeEngine::new(&scenario.configuration("here")).unwrap();
    play(&scenario, &engine, memory(), "here").await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_holds_with_the_same_log_natively_in_webassembly_on_a_late_store_and_on_redis()
 {
    let server = RedisServer::start();
    let redis: Arc<dyn Store> = Arc::new(RedisStore::connect(&server.url()).await.unwrap());
    let policy = ComponentEngine::built_in("{}").unwrap();
    let mut complaints = String::new();
    for (name, scenario) in scenarios() {
        // The prefix keeps the scenarios apart on the one Redis.
        let configuration = scenario.configuration(&name);
        let native: &dyn Engine = &NativeEngine::new(&configuration).unwrap();
        let component: &dyn Engine = &policy.with_configuration(&configuration).unwrap();
        let late: Arc<dyn Store> = Arc::new(Delayed::new(MemoryStore::new()));
        let ways: [(&str, &dyn Engine, Arc<dyn Store>); 4] = [
            ("natively, in memory", native, memory()),
            ("as a component, in memory", component, memory()),
            ("as a component, on a late store", component, late),
            ("as a component, on Redis", component, Arc::clone(&redis)),
        ];
        let mut first: Option<(&str, String)> = None;
        for (way, engine, store) in ways {
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
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn every_trap_within_a_policys_reach_has_a_scenario() {
    let guarded: BTreeSet<u64> = scenarios().into_iter().flat_map(|(_, s)| s.traps).collect();
    // 8, 11 and 12 are about hosts, and have tests of their own.
    assert_eq!(guarded, BTreeSet::from([1, 2, 3, 4, 5, 6, 7, 9, 10]));
}

#[test]
fn every_event_of_a_breaker_has_a_scenario() {
    let scenarios = scenarios();
    let expected: BTreeSet<&str> = scenarios
        .iter()
        .flat_map(|(_, s)| s.expected_events())
        .collect();
    let missing: Vec<&str> = [
        "closed -> open: failures",
        "closed -> open: failure-ratio",
        "open -> half-open: cool-down-over",
        "half-open -> open: probe-failed",
        "half-open -> closed: probes-passed",
        "probe passed",
        "probe failed",
        "probe neutral",
        "probe expired",
        "ignored: stale",
        "ignored: lease-lost",
        "ignored: late",
        "ignored: unshared",
        "ignored: invalid-permit",
        "ordered: open",
        "order cleared",
        "store",
        "held",
        "closed -> open: slow-ratio",
        "half-open -> open: probe-slow",
        "alone closed -> open: failures",
        "alone open -> half-open: cool-down-over",
        "alone half-open -> open: probe-failed",
        "alone half-open -> closed: probes-passed",
    ]
    .into_iter()
    .filter(|event| !expected.contains(event))
    .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_scenario_says_what_it_promises_and_why() {
    for (name, scenario) in scenarios() {
        assert!(
            !scenario.title.is_empty() && !scenario.about.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn every_mistake_in_a_scenario_is_reported_at_its_line_with_what_would_be_right() {
    let text = r#"title = "Mistakes"
trap = "three"
conifg = {}

[[step]]
at = "5s"
admit = "geocoder"
as = "first"
expect = { refused = "opened" }

[[step]]
at = "4s"
settle = "frist"
with = 503

[[step]]
call = "geocoder"
with = "read-timeut"
evry = "1s"
events = ["closed -> opened: failures"]

[[step]]
record = "geo{coder"
expect = { phase = "half-open", opennings = 2 }

[[step]]
admit = "geocoder"
record = "geocoder"

[[step]]
at = "later"
"#;
    let error = Scenario::parse(text).unwrap_err();
    let expected = r#"
  x.toml:2:1: `trap` is not a number; write `trap = 3` or `trap = [3, 5]`
  x.toml:3:1: `conifg` is not a setting; known here: title, about, trap, config, clocks, step
  x.toml:9:12: `refused` is "opened"; write "open" or "probe-in-flight" or "ramp" or "hold" or "override" or "store" or "invalid-target"
  x.toml:12:1: the story goes back in time; the step before is over at "5s", so write that or later
  x.toml:13:1: no admission before this is named `frist`; so far there are `first`
  x.toml:18:1: "read-timeut" is not a way for a call to end; write a status such as 503, a failure such as "read-timeout", "dropped", or a table such as { status = 503, headers = { retry-after = "120" } }
  x.toml:19:1: `evry` is not a setting; did you mean `every`?
  x.toml:20:1: "closed -> opened: failures" is not an event; write one such as "closed -> open: failures", "probe passed", "ignored: stale", "ordered: open", "order cleared", "store", "held", "reshaped" or "alone closed -> open: failures"; one of a narrower domain as "provider/operation: closed -> open: failures"
  x.toml:23:1: the provider's name has `{` in it, which separates parts of a domain; write `provider`, `provider@account` or `provider/operation`
  x.toml:24:33: `opennings` is not a setting; did you mean `openings`?
  x.toml:28:1: `admit` and `record` are two steps; begin each with its own `[[step]]`
  x.toml:30:1: this step does nothing; give it one of `admit`, `settle`, `overdue`, `call`, `record`, `inspect`, `order`, `explain`, `store`, `lose`, `put`, `forge`, `next`
  x.toml:31:1: `at` is "later"; write a duration such as "250ms", "30s", "10m" or "1m30s" from 0s to 1000d
"#;
    assert_eq!(
        format!("\n{}", report::mistakes("x.toml", &error)),
        expected
    );
}

#[tokio::test]
async fn an_expectation_that_does_not_hold_is_shown_with_the_story_before_it() {
    let text = r#"title = "Wrong about the cool-down"

[config.breaker.cool-down]
jitter = 0

[[step]]
at = "0s"
call = "geocoder"
with = 503
times = 5
every = "1s"

[[step]]
at = "5s"
admit = "geocoder"
by = "b"
expect = { refused = "open", retry-after = "30s" }

[[step]]
record = "geocoder"
expect = { phase = "open", openings = 2, until = "40s", lease = "a" }
"#;
    let expected = r#"
  x.toml:17:1: at 5s b asks for geocoder
    expected  refused = open, retry-after = 30s
    found     refused = open, retry-after = 29s, domain = geocoder: the breaker is open by the rule `failures` (1 in a row)
    before it:
          0s  a calls geocoder: allowed; status/503 (failure, transient)
          1s  a calls geocoder: allowed; status/503 (failure, transient)
          2s  a calls geocoder: allowed; status/503 (failure, transient)
          3s  a calls geocoder: allowed; status/503 (failure, transient)
          4s  a calls geocoder: allowed; status/503 (failure, transient); closed -> open: failures (until 34s, 1 in a row)
  1 more expectation did not hold after this one; it may follow from it
"#;
    let played = play_here(text).await;
    assert_eq!(
        format!("\n{}", report::failures("x.toml", &played)),
        expected
    );
    let second = &played.failures[1];
    assert_eq!(second.place.to_string(), "21:1");
    assert_eq!(second.expected, "openings = 2, until = 40s, lease = a");
    assert_eq!(second.found, "openings = 1, until = 34s, lease = nothing");
}

#[test]
fn two_logs_are_compared_byte_for_byte_and_the_first_decision_that_differs_is_shown() {
    let log = "{\"step\":0}\n{\"step\":1}\n";
    assert_eq!(report::log_difference(("here", log), ("there", log)), None);
    let shorter = report::log_difference(("here", log), ("there", "{\"step\":0}\n")).unwrap();
    assert_eq!(
        shorter,
        "  decision 2 differs\n    here   {\"step\":1}\n    there  (ended)\n"
    );
}

#[tokio::test]
async fn a_call_that_is_refused_against_expectation_is_not_settled_in_silence() {
    let text = r#"title = "Settles what was refused"
[[step]]
order = "geocoder"
mode = "open"
[[step]]
admit = "geocoder"
as = "first"
[[step]]
settle = "first"
with = 200
[[step]]
call = "geocoder"
with = 200
"#;
    let played = play_here(text).await;
    let found: Vec<&str> = played.failures.iter().map(|f| f.found.as_str()).collect();
    assert_eq!(
        found,
        [
            "it was refused, so there is nothing to settle",
            "refused = override, retry-after = 1m, domain = geocoder: forced open by operator: by hand",
        ]
    );
}

#[tokio::test]
async fn the_command_plays_a_directory_and_says_which_scenario_failed() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    let admit =
        |expect: &str| format!("title = \"x\"\n[[step]]\nadmit = \"p\"\nexpect = \"{expect}\"\n");
    write("a-good-one.toml", &admit("allowed"));
    write("bad-expectation.toml", &admit("refused"));
    write(
        "bad-setting.toml",
        &format!("config.slow = 5\n{}", admit("allowed")),
    );
    write("not-a-scenario.txt", "");
    let options = TestOptions {
        files: vec![directory.path().into()],
        ..TestOptions::default()
    };
    let mut out = Vec::new();
    let passed = run(&options, &mut out).await.unwrap();
    let out = String::from_utf8(out).unwrap();
    let out = out.replace(&format!("{}/", directory.path().display()), "");
    assert!(!passed);
    let expected = r#"
ok      a-good-one  1 step
FAILED  bad-expectation
  on memory
  bad-expectation.toml:4:1: at 0s a asks for p
    expected  refused
    found     allowed
FAILED  bad-setting
  bad-setting.toml:1:8: `slow` is 5; write a duration such as "250ms", "30s", "10m" or "1m30s" from 1ms to 1h
1 passed, 2 failed
"#;
    assert_eq!(format!("\n{out}"), expected);
}
