//! `fusewire profile`, as people type it.

use std::process::Command;

use fusewire_core::classify::profile::built_in;
use fusewire_tests::desk::{Desk, Run, has};
use fusewire_tests::tools;
use serde_json::Value;

/// Runs the command with these words, which have no blanks in them.
fn profile(desk: &Desk, words: &str) -> Run {
    let mut command = Command::new(tools::fusewire());
    command.current_dir(desk.path("")).arg("profile");
    Run::of(words, command.args(words.split(' ')))
}

const MINE: &str = "[policy.profiles.mine]\nextends = \"locationiq\"\nabout = \"ours\"\n\
    [[policy.profiles.mine.rules]]\nname = \"teapot\"\n\
    when = { status = 418, json = { \"/pot\" = { empty = true } } }\n\
    then = \"quota\"\ndelay = \"10m\"\nbecause = \"the pot is empty\"\n";

#[test]
fn every_profile_is_listed_with_what_it_extends_and_says_of_itself() {
    let desk = Desk::laid();
    let out = profile(&desk, "list").good();
    has(&out, &["NAME  ", "EXTENDS  ", "RULES  ABOUT\n"]);
    let names: Vec<&str> = out
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    let known: Vec<&str> = built_in().map(|(name, _)| name).collect();
    assert_eq!(names, known);
    desk.write("fusewire.toml", MINE);
    let out = profile(&desk, "list --config fusewire.toml --json").good();
    let all: Vec<Value> = out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mine = all
        .iter()
        .find(|profile| profile["name"] == "mine")
        .expect("mine");
    assert_eq!(
        (&mine["extends"], &mine["own-rules"]),
        (&"locationiq".into(), &1.into())
    );
    assert_eq!(all.len(), known.len() + 1);
}

#[test]
fn a_profile_is_shown_rule_by_rule_with_what_it_inherits() {
    let desk = Desk::laid();
    desk.write("fusewire.toml", MINE);
    let out = profile(&desk, "show mine --config fusewire.toml").good();
    has(
        &out,
        &[
            "mine\n  about     ours\n  extends   locationiq",
            "  teapot  status 418 and json /pot is empty\n          \
             -> quota, for 10m: the pot is empty\n",
            "inherited from locationiq\n",
            "-> no-result\n",
        ],
    );
    assert!(!out.contains('\u{1b}'), "no colour where nobody looks on");
    for (name, text) in built_in() {
        has(&profile(&desk, &format!("show {name}")).good(), &[name]);
        let source = profile(&desk, &format!("show {name} --json")).good();
        assert_eq!(source.trim_end(), text.trim_end());
    }
    let out = profile(&desk, "show nominatum").bad();
    has(
        &out,
        &["there is no profile \"nominatum\"; did you mean \"nominatim\"?"],
    );
}

#[test]
fn a_file_is_checked_and_every_problem_is_told_at_its_place() {
    let desk = Desk::laid();
    desk.write("fusewire.toml", MINE);
    let out = profile(&desk, "check fusewire.toml").good();
    assert_eq!(out, "fusewire.toml: good, with 1 profile and 1 rule\n");
    for (name, text) in built_in() {
        let file = format!("{name}.json");
        desk.write(&file, text);
        let out = profile(&desk, &format!("check {file}")).good();
        has(&out, &["good, with 1 profile and "]);
    }

    desk.write(
        "bad.json",
        "{\n  \"extends\": \"nominatum\",\n  \"rules\": [\n    \
         {\"when\": {\"status\": 403, \"heade\": {\"a\": true}}, \"then\": \"quota\"},\n    \
         {\"when\": {\"status\": 404}, \"then\": \"quote\"}\n  ]\n}\n",
    );
    let out = profile(&desk, "check bad.json").bad();
    let begins = [
        "bad.json:2:3: extends: there is no profile \"nominatum\"; did you mean \"nominatim\"?",
        "bad.json:4:30: rules[0].when.heade: `heade` is not a setting; did you mean `header`?",
        "bad.json:5:31: rules[1].then: `then` is \"quote\"; write \"success\" or ",
    ];
    assert_eq!(out.lines().count(), begins.len(), "{out}");
    for (line, begin) in out.lines().zip(begins) {
        assert!(line.starts_with(begin), "{line}");
    }

    let bad = MINE.replace("\"quota\"", "\"tea\"");
    desk.write("bad.toml", bad);
    has(
        &profile(&desk, "check bad.toml").bad(),
        &["bad.toml:7:1: policy.profiles.mine.rules[0].then: `then` is \"tea\"; write "],
    );
    desk.write("twice.json", "{\"rules\": [],\n \"rules\": []}");
    has(
        &profile(&desk, "check twice.json").bad(),
        &["twice.json:2:2: `rules` is here a second time; the first is in line 1"],
    );
    has(
        &profile(&desk, "check none.json").bad(),
        &["none.json: No such file"],
    );
}
