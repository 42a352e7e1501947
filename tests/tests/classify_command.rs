//! `fusewire classify`, as people type it.

use std::fs::File;
use std::process::{Command, Stdio};

use fusewire::engine::BUILT_IN;
use fusewire_tests::desk::{Desk, Run, has};
use fusewire_tests::tools;
use serde_json::Value;

/// The labelled cases of this repository.
const LABELLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/labelled.jsonl");

/// A day's quota, as `curl -i` saves it.
const QUOTA: &str = "HTTP/1.1 301 Moved Permanently\r\nlocation: /v2\r\n\r\n\
    HTTP/2 429 \r\ncontent-type: application/json\r\nretry-after: 86400\r\n\
    date: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n{\"error\":\"Rate Limited Day\"}";

fn command(desk: &Desk) -> Command {
    let mut command = Command::new(tools::fusewire());
    command.current_dir(desk.path("")).arg("classify");
    command
}

/// Runs the command with these words, which have no blanks in them.
fn classify(desk: &Desk, words: &str) -> Run {
    Run::of(words, command(desk).args(words.split(' ')))
}

/// The lines of JSON that were written.
fn lines(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn a_saved_answer_is_judged_by_the_profile_that_is_named() {
    let desk = Desk::laid();
    desk.write("answer.http", QUOTA);
    let judged = lines(&classify(&desk, "answer.http --profile locationiq").good());
    let verdict = &judged[0]["verdict"];
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0]["at"], "answer.http");
    assert_eq!(judged[0]["profile"], "locationiq");
    assert_eq!(verdict["outcome"], "quota-or-auth");
    assert_eq!(verdict["retry-after-ms"], 21_600_000);
    let judged = lines(&classify(&desk, "answer.http").good());
    assert_eq!(judged[0]["verdict"]["rule"], "status/429");
}

#[test]
fn an_explanation_tells_what_was_tried_what_decided_and_what_follows() {
    let desk = Desk::laid();
    desk.write("answer.http", QUOTA);
    let out = classify(&desk, "answer.http --profile locationiq --explain").good();
    has(
        &out,
        &[
            "answer.http  by profile locationiq\n",
            "  seen      429, application/json, a body of 28 bytes\n",
            "  means     quota-or-auth: ",
            "  breaker   counts nothing; the account is blamed\n",
            "  retry     the same request is not sent there again\n",
            "  chain     the next provider is asked, where there is one\n",
            "it said 1d (retry-after), of which 6h are believed\n",
            "    profile/locationiq/unable ",
            "  * profile/locationiq/",
        ],
    );
    assert!(!out.contains('\u{1b}'), "no colour where nobody looks on");
    let judged =
        lines(&classify(&desk, "answer.http --profile locationiq --explain --json").good());
    let tried = judged[0]["tried"].as_array().expect("what was tried");
    assert_eq!(tried.last().expect("rules")["decided"], true);
    assert_eq!(judged[0]["hint"]["wait-ms"], 86_400_000);
}

#[test]
fn observations_are_judged_line_by_line_and_mistakes_keep_none_of_the_others_back() {
    let desk = Desk::laid();
    desk.write(
        "seen.jsonl",
        "\u{feff}{\"id\": \"a\", \"status\": 503}\n\
         \n\
         {\"id\": \"b\", \"transport\": \"bad_luck\"}\n\
         {\"id\": \"c\", \"service\": \"nominatum\", \"status\": 200}\n\
         nonsense\n\
         {\"id\": \"d\", \"transport\": \"nxdomain\", \"slow_ms\": 5, \"latency_ms\": 6}\n",
    );
    let out = classify(&desk, "seen.jsonl").bad();
    let (good, bad): (Vec<&str>, Vec<&str>) = out.lines().partition(|line| line.starts_with('{'));
    let ids: Vec<Value> = lines(&good.join("\n"))
        .iter()
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(ids, ["a", "d"]);
    let begins = [
        "seen.jsonl:3: transport: \"bad_luck\" is not known; known are dns-not-found, ",
        "seen.jsonl:4: there is no profile \"nominatum\"; did you mean \"nominatim\"?",
        "seen.jsonl:5: this is not JSON from column 2 on; write one object a line",
    ];
    assert_eq!(bad.len(), begins.len(), "{out}");
    for (line, begin) in bad.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}");
    }
    let last = &lines(good[1])[0]["verdict"];
    assert_eq!(
        (&last["rule"], &last["slow"]),
        (&"transport/dns-not-found".into(), &true.into())
    );
}

#[test]
fn the_standard_input_is_read_where_no_file_is_named() {
    let desk = Desk::laid();
    desk.write("answer.http", QUOTA);
    for words in ["--profile locationiq", "- --profile locationiq"] {
        let input = File::open(desk.path("answer.http")).expect("the file");
        let out = Run::of(words, command(&desk).args(words.split(' ')).stdin(input)).good();
        assert_eq!(lines(&out)[0]["at"], "stdin", "{words}");
    }
}

#[test]
fn a_line_that_never_ends_is_not_kept_in_memory() {
    let desk = Desk::laid();
    let long = format!(
        "{{\"id\": \"{}\"}}\n{{\"status\": 200}}\n",
        "x".repeat(9 << 20)
    );
    desk.write("long.jsonl", long);
    let out = classify(&desk, "long.jsonl").bad();
    has(
        &out,
        &["long.jsonl:1: longer than 4 MiB", "\"at\":\"long.jsonl:2\""],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::laid();
    let mut child = command(&desk)
        .arg(LABELLED)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.is_empty(), "{err}");
}

#[test]
fn cases_are_compared_with_what_is_expected_of_them() {
    let desk = Desk::laid();
    let out = classify(&desk, &format!("--cases {LABELLED}")).good();
    has(
        &out,
        &[
            "GROUP ",
            "CASES  AGREE  DIFFER\n",
            "geocoding ",
            "cases, all as expected\n",
        ],
    );

    let wrong = "{\"id\": \"w\", \"group\": \"mine\", \"why\": \"it should\", \"input\": {\"status\": 503}, \
                 \"expected\": {\"outcome\": \"no_result\", \"retry_same\": true}}\n";
    desk.write("mine.jsonl", wrong);
    let out = classify(&desk, "--cases mine.jsonl").bad();
    has(
        &out,
        &[
            "mine   1      0      1\n",
            "w (mine.jsonl:1)\n",
            "  outcome: expected no-result, found transient\n",
            "  found by status/503: ",
            "  expected because it should\n",
            "1 case, 1 not as expected\n",
        ],
    );
    assert!(!out.contains("retry_same"), "{out}");
    let json = lines(&classify(&desk, "--cases mine.jsonl --json").bad());
    assert_eq!(json[0]["differences"][0]["found"], "transient");

    desk.write("none.jsonl", "\n");
    has(
        &classify(&desk, "--cases none.jsonl").bad(),
        &["there is no case in what was read"],
    );
}

#[test]
fn a_gateways_configuration_is_judged_by_with_its_providers_and_profiles() {
    let desk = Desk::laid();
    desk.write(
        "fusewire.toml",
        "[policy]\nslow = \"1s\"\n[policy.providers.maps]\nprofile = \"mine\"\n\
         [[policy.profiles.mine.rules]]\nname = \"teapot\"\nwhen = { status = 418 }\n\
         then = \"quota\"\nbecause = \"the pot is empty\"\n",
    );
    desk.write("tea.jsonl", "{\"status\": 418, \"latency_ms\": 1500}\n");
    for words in ["--provider maps", "--profile mine"] {
        let out = classify(&desk, &format!("tea.jsonl --config fusewire.toml {words}")).good();
        let verdict = &lines(&out)[0]["verdict"];
        assert_eq!(verdict["rule"], "profile/mine/teapot", "{words}");
        assert_eq!(verdict["reason"], "the pot is empty", "{words}");
        assert_eq!(verdict["slow"], true, "{words}");
    }
    let out = classify(&desk, "tea.jsonl --config fusewire.toml --provider map").bad();
    has(&out, &["there is no provider \"map\"; known are maps"]);
    let _ = classify(&desk, "tea.jsonl --provider maps").misused();

    desk.write("policy.json", "{\"profile\": \"locationiq\"}");
    desk.write("answer.http", QUOTA);
    let judged = lines(&classify(&desk, "answer.http --config policy.json").good());
    assert_eq!(judged[0]["profile"], "locationiq");
    assert_eq!(judged[0]["verdict"]["outcome"], "quota-or-auth");

    desk.write("bad.json", "{\n  \"slow\": \"never\"\n}\n");
    let out = classify(&desk, "tea.jsonl --config bad.json").bad();
    has(
        &out,
        &["bad.json:2:3: slow: `slow` is \"never\"; write a duration"],
    );
}

#[test]
fn a_component_judges_in_place_of_the_built_in_policy() {
    let desk = Desk::laid();
    desk.write("built-in.wasm", BUILT_IN);
    let all = |words: &str| lines(&classify(&desk, &format!("{LABELLED}{words}")).good());
    assert_eq!(all(" --policy built-in.wasm"), all(""));
    let out = classify(&desk, &format!("{LABELLED} --policy nothing.wasm")).bad();
    has(&out, &["nothing.wasm: "]);
}
