//! Profiles as they are written: what holds of an answer, what is inherited, and what is told of
//! one that is wrong.

use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::observation::{Effect, Field, Observation, Outcome, Verdict};

const NOW: u64 = 1_767_225_600_000;

fn config(profile: Value) -> Config {
    let document = json!({"profile": "own", "profiles": {"own": profile}});
    Config::from_value(&document).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Observation {
    let mut response = Response::status(status);
    response.headers = headers
        .iter()
        .map(|(name, value)| Field {
            name: (*name).into(),
            value: (*value).into(),
        })
        .collect();
    response.body = Some(body.into());
    Observation::response(response, NOW)
}

fn judge(config: &Config, observation: &Observation) -> Verdict {
    crate::classify::classify(config.settings("p"), observation)
}

/// The problems of a profile, each as a line.
fn problems(profile: Value) -> Vec<String> {
    let problems = library::check("own", &profile);
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_profile_that_is_built_in_is_good_and_in_its_place() {
    let names: Vec<&str> = built_in().map(|(name, _)| name).collect();
    assert!(names.is_sorted());
    for (name, text) in built_in() {
        let document: Value = serde_json::from_str(text).unwrap();
        assert_eq!(library::check(name, &document), [], "{name}");
        assert!(document["about"].is_string(), "{name} says what it is");
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    let listed: Vec<String> = names.iter().map(|name| format!("{name}.json")).collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(files, sorted);
}

#[test]
fn numbers_with_a_fraction_are_compared_as_numbers() {
    let config = config(json!({"rules": [
        {"name": "load", "when": {"json": {"/load": 2.5}}, "then": "transient"},
        {"name": "much", "when": {"json": {"/used": {"at-least": 0.75, "at-most": 1.5}}}, "then": "throttled"},
        {"name": "whole", "when": {"json": {"/whole": 3}}, "then": "quota"},
        {"name": "three", "when": {"json": {"/three": 3.0}}, "then": "quota"},
    ]}));
    let rule = |body: &str| judge(&config, &answer(200, &[], body)).rule;
    for (body, name) in [
        (r#"{"load": 2.5}"#, "profile/own/load"),
        (r#"{"load": 2.4}"#, "status/200"),
        (r#"{"load": 25e-1}"#, "profile/own/load"),
        (r#"{"used": 0.75}"#, "profile/own/much"),
        (r#"{"used": 1.5}"#, "profile/own/much"),
        (r#"{"used": 1}"#, "profile/own/much"),
        (r#"{"used": 0.74}"#, "status/200"),
        (r#"{"used": 1.51}"#, "status/200"),
        (r#"{"used": "much"}"#, "status/200"),
        (r#"{"whole": 3.0}"#, "profile/own/whole"),
        (r#"{"whole": 3.5}"#, "status/200"),
        (r#"{"three": 3}"#, "profile/own/three"),
        (r#"{"three": 4}"#, "status/200"),
    ] {
        assert_eq!(rule(body), name, "{body}");
    }
}

#[test]
fn a_wait_with_a_fraction_is_a_span_in_thousandths_and_a_time_without_it() {
    let wait = |unit: &str, value: &str| {
        let config = config(json!({"rules": [{
            "when": {"json": {"/busy": true}}, "then": "throttled",
            "hint": {"json": "/wait", "unit": unit},
        }]}));
        let body = format!(r#"{{"busy": true, "wait": {value}}}"#);
        judge(&config, &answer(200, &[], &body)).retry_after_ms
    };
    assert_eq!(wait("s", "2.5"), Some(2_500));
    assert_eq!(wait("s", "2"), Some(2_000));
    assert_eq!(wait("s", "-2.5"), None);
    assert_eq!(wait("ms", "2500.9"), Some(2_500));
}

#[test]
fn a_status_of_grpc_is_written_as_a_number_or_by_its_name() {
    for code in [json!(8), json!("RESOURCE_EXHAUSTED"), json!([8, "ABORTED"])] {
        assert_eq!(
            problems(
                json!({"protocol": "grpc", "rules": [{"when": {"grpc": code}, "then": "quota"}]})
            ),
            [""; 0]
        );
    }
    for code in [json!([]), json!(true), json!(-1), json!("NO_SUCH")] {
        let told = problems(json!({"rules": [{"when": {"grpc": code}, "then": "quota"}]}));
        assert!(!told.is_empty(), "{code}");
    }
}

#[test]
fn conditions_hold_together_and_alternatives_one_by_one() {
    let config = config(json!({"rules": [
        {"when": {"status": ["4xx", 503], "header": {"X-Why": {"contains": "quota"}}}, "then": "quota"},
        {"when": {"json": {"/error/code": [7, "seven"], "/error/kind": {"not": "soft"}}}, "then": "costly"},
    ]}));
    let rule = |observation: &Observation| judge(&config, observation).rule;
    assert_eq!(
        rule(&answer(403, &[("x-why", "Quota used up")], "")),
        "profile/own/rule-1"
    );
    assert_eq!(rule(&answer(403, &[("x-why", "key")], "")), "status/403");
    assert_eq!(rule(&answer(500, &[("x-why", "quota")], "")), "status/500");
    let body = |code: Value, kind: &str| {
        let body = json!({"error": {"code": code, "kind": kind}}).to_string();
        rule(&answer(200, &[], &body))
    };
    assert_eq!(body(json!("7"), "hard"), "profile/own/rule-2");
    assert_eq!(body(json!("seven"), "hard"), "profile/own/rule-2");
    assert_eq!(body(json!(7), "soft"), "status/200");
    assert_eq!(body(json!(8), "hard"), "status/200");
}

#[test]
fn a_rule_may_have_alternatives_and_each_is_checked() {
    let config = config(json!({"rules": [
        {"name": "busy", "when": [{"status": 503}, {"status": "2xx", "json": {"/busy": true}}], "then": "throttled"},
    ]}));
    let rule = |status, body| judge(&config, &answer(status, &[], body)).rule;
    assert_eq!(rule(503, ""), "profile/own/busy");
    assert_eq!(rule(200, r#"{"busy": 1}"#), "profile/own/busy");
    assert_eq!(rule(200, "{}"), "status/200");
    assert_eq!(
        problems(json!({"rules": [
            {"name": "a", "when": [{"status": "5xx"}, {"status": 503}], "then": "throttled"},
            {"name": "a", "when": [{"status": 400}, {}], "then": "throttled"},
            {"when": [], "then": "throttled"},
        ]})),
        [
            "/rules/1/when/1: this asks for nothing, so it would take every answer; write a condition such as {\"status\": 403}",
            "/rules/2/when: this asks for nothing, so it would take every answer; write a condition such as {\"status\": 403}",
            "/rules/1/name: rule 1 has this name already; give each its own: they are counted by name",
            "/rules/0/when: an alternative of this rule is never reached: another before it takes every answer that it would; move it before that one, or make that one narrower",
        ]
    );
}

#[test]
fn what_is_absent_is_known_only_of_a_document_that_was_seen_whole() {
    let config = config(json!({"rules": [
        {"when": {"status": "2xx", "json": {"/features": false}}, "then": "transient"},
    ]}));
    let effect = |body: &str| judge(&config, &answer(200, &[], body)).effect;
    assert_eq!(effect(r#"{"a": 1}"#), Effect::Failure);
    assert_eq!(effect(r#"{"features": []}"#), Effect::Success);
    assert_eq!(effect(r#"{"a": [1, 2"#), Effect::Success);
    assert_eq!(effect("<html>"), Effect::Success);
    let mut unseen = answer(200, &[], "");
    unseen.response.as_mut().unwrap().body = None;
    assert_eq!(judge(&config, &unseen).effect, Effect::Success);
}

#[test]
fn a_report_in_xml_is_told_by_its_root_and_code_and_a_page_is_none() {
    let config = config(json!({"rules": [
        {"when": {"xml": {"/Report": true, "@code": "Busy"}}, "then": "transient"},
        {"when": {"xml": {"Text": {"contains": "memory"}}}, "then": "caller-error"},
        {"when": {"xml": {"/Report": true, "Text": false}}, "then": "provider-down"},
    ]}));
    let rule = |body: &str| judge(&config, &answer(200, &[], body)).rule;
    assert_eq!(
        rule("<a:Report><x code='busy'/></a:Report>"),
        "profile/own/rule-1"
    );
    assert_eq!(
        rule("<Report><Text>out of Memory</Text></Report>"),
        "profile/own/rule-2"
    );
    assert_eq!(rule("<Report></Report>"), "profile/own/rule-3");
    assert_eq!(rule("<Report>"), "status/200");
    assert_eq!(rule("<html><Text>memory</Text></html>"), "status/200");
}

#[test]
fn an_error_event_counts_wherever_it_comes_in_the_stream() {
    let config = config(json!({"rules": [
        {"when": {"event": "error", "json": {"/code": "busy"}}, "then": "transient"},
        {"when": {"event": true, "json": {"/error": true}}, "then": "throttled"},
    ]}));
    let outcome = |body: &str| {
        let stream = [("content-type", "text/event-stream; charset=utf-8")];
        judge(&config, &answer(200, &stream, body)).outcome
    };
    assert_eq!(
        outcome("data: {\"text\": \"error\"}\n\nevent: error\ndata: {\"code\": \"busy\"}\n\n"),
        Outcome::Transient
    );
    assert_eq!(outcome("data: {\"error\": {}}\n\n"), Outcome::Throttled);
    assert_eq!(outcome("data: {\"code\": \"busy\"}\n\n"), Outcome::Success);
    assert_eq!(
        outcome("event: error\ndata: {\"code\": \"busy\"}"),
        Outcome::Success
    );
    let plain = answer(200, &[], "event: error\ndata: {\"code\": \"busy\"}\n\n");
    assert_eq!(judge(&config, &plain).outcome, Outcome::Success);
}

#[test]
fn a_wait_is_read_where_the_profile_says_and_a_hint_that_is_known_to_be_wrong_is_not() {
    let config = config(json!({
        "hints": [{"text": "try again in"}],
        "rules": [
            {"when": {"status": 402}, "then": "quota", "hint": {"json": "/reset", "unit": "epoch-s"}},
            {"when": {"status": 403}, "then": "quota", "hint": false},
            {"when": {"status": 429}, "then": "throttled", "hint": {"header": "x-wait", "unit": "ms"}},
        ],
    }));
    let wait = |observation: Observation| judge(&config, &observation).min_delay_ms;
    assert_eq!(wait(answer(402, &[], r#"{"reset": 1767225660}"#)), 60_000);
    assert_eq!(wait(answer(402, &[], r#"{"reset": null}"#)), 3_600_000);
    assert_eq!(wait(answer(403, &[("retry-after", "7")], "")), 3_600_000);
    let both = [("retry-after", "9"), ("x-wait", "1500")];
    assert_eq!(wait(answer(429, &both, "")), 1_500);
    assert_eq!(wait(answer(429, &both[..1], "")), 9_000);
    assert_eq!(wait(answer(503, &[], "Please try again in 2s.")), 2_000);
    assert_eq!(
        wait(answer(503, &[("retry-after", "3")], "try again in 2s")),
        3_000
    );
}

#[test]
fn own_rules_come_before_inherited_ones_and_a_built_in_profile_is_extended_under_its_name() {
    let document = json!({
        "profile": "nominatim",
        "profiles": {
            "nominatim": {"extends": "nominatim", "rules": [
                {"name": "mine", "when": {"status": 503}, "then": "provider-down"}]},
        },
    });
    let config = Config::from_value(&document).unwrap();
    assert_eq!(
        judge(&config, &answer(503, &[], "")).rule,
        "profile/nominatim/mine"
    );
    assert_eq!(
        judge(&config, &answer(200, &[], "[]")).outcome,
        Outcome::NoResult
    );
}

#[test]
fn a_rule_that_leaves_it_to_the_generic_ones_hides_those_behind_it() {
    let config = config(json!({"rules": [
        {"when": {"status": 404, "media": "html"}, "then": "generic"},
        {"when": {"status": 404}, "then": "no-result"},
    ]}));
    let rule = |media: &str| judge(&config, &answer(404, &[("content-type", media)], "")).rule;
    assert_eq!(rule("text/html"), "status/404");
    assert_eq!(rule("application/json"), "profile/own/rule-2");
}

#[test]
fn every_problem_is_told_at_its_place() {
    let told = problems(json!({
        "rule": [],
        "rules": [
            {"name": "Quota!", "when": {"status": "4x"}, "then": "quotas"},
            {"when": {}, "then": "auth"},
            {"when": {"json": {"error": 1, "/a~": 2}}, "then": "auth", "retry": "sometimes"},
            {"when": {"status": 500, "heder": {}}, "delay": "2 weeks"},
            {"when": {"grpc": "BUSY", "xml": {"a b": true}}, "then": "auth",
             "hint": {"json": "/a", "text": "b"}},
            {"when": {"json": {"/a": {"contain": "x"}}}, "then": "auth"},
        ],
    }));
    let begin = [
        "/rules/0/name: \"Quota!\" cannot name a rule",
        "/rules/0/when/status: `status` has something in it that does not belong there; write a status from 100 to 999 such as 429",
        "/rules/0/then: `then` is \"quotas\"; write \"success\" or",
        "/rules/1/when: this asks for nothing",
        "/rules/2/when/json/~1a~0: in a JSON Pointer `~` stands for nothing",
        "/rules/2/when/json/error: a JSON Pointer begins with a `/`",
        "/rules/2/retry: this does not say whether to try again",
        "/rules/3/when/heder: `heder` is not a setting; did you mean `header`?",
        "/rules/3/then: the rule does not say what it means",
        "/rules/3/delay: `delay` is \"2 weeks\"",
        "/rules/4/when/grpc: `grpc` has something in it that does not belong there",
        "/rules/4/when/xml/a b: this is none of `Name`, `/Name` (the root)",
        "/rules/4/hint: a hint is told at one place",
        "/rules/5/when/json/~1a/contain: `contain` is not a setting; did you mean `contains`?",
        "/rule: `rule` is not a setting; did you mean `rules`?",
    ];
    for begin in begin {
        assert!(
            told.iter().any(|line| line.starts_with(begin)),
            "{begin}\nin {told:#?}"
        );
    }
}

#[test]
fn a_rule_that_can_never_decide_is_reported_and_one_that_can_is_not() {
    let reported = |first: Value, second: Value| {
        let told = problems(json!({"rules": [
            {"name": "first", "when": first, "then": "auth"},
            {"when": second, "then": "quota"},
        ]}));
        match &told[..] {
            [] => false,
            [one] => {
                assert!(
                    one.starts_with(
                        "/rules/1/when: this rule is never reached: \"first\" before it"
                    ),
                    "{one}"
                );
                true
            }
            more => panic!("{more:?}"),
        }
    };
    for (first, second) in [
        (
            json!({"status": "4xx"}),
            json!({"status": [403, "410-420"]}),
        ),
        (
            json!({"status": 403}),
            json!({"status": 403, "text": "quota"}),
        ),
        (
            json!({"json": {"/a": true}}),
            json!({"json": {"/a": [1, 2]}}),
        ),
        (
            json!({"json": {"/a": [1, 2, 3]}}),
            json!({"json": {"/a": 2, "/b": 1}}),
        ),
        (
            json!({"header": {"X": {"contains": "day"}}}),
            json!({"header": {"x": {"contains": "per day"}}}),
        ),
        (
            json!({"text": ["a", "b"]}),
            json!({"text": "b", "media": "html"}),
        ),
        (
            json!({"event": true}),
            json!({"event": "error", "json": {"/a": 1}}),
        ),
    ] {
        assert!(
            reported(first.clone(), second.clone()),
            "{first} before {second}"
        );
    }
    for (first, second) in [
        (json!({"status": 403}), json!({"status": [403, 404]})),
        (
            json!({"status": 403, "text": "quota"}),
            json!({"status": 403}),
        ),
        (
            json!({"json": {"/a": [1, 2]}}),
            json!({"json": {"/a": true}}),
        ),
        (json!({"json": {"/a": false}}), json!({"json": {"/a": 1}})),
        (
            json!({"json": {"/a": true}}),
            json!({"json": {"/a": false}}),
        ),
        (
            json!({"json": {"/a": 1}}),
            json!({"event": "error", "json": {"/a": 1}}),
        ),
        (json!({"header": {"x": "a"}}), json!({"header": {"y": "a"}})),
    ] {
        assert!(
            !reported(first.clone(), second.clone()),
            "{first} before {second}"
        );
    }
}

#[test]
fn a_status_that_no_answer_has_is_reported() {
    let told = |status: Value| {
        problems(json!({"rules": [{"when": {"status": status}, "then": "auth"}]})).len()
    };
    for good in [
        json!(100),
        json!(999),
        json!("9xx"),
        json!("500-500"),
        json!([404, "5xx"]),
    ] {
        assert_eq!(told(good.clone()), 0, "{good}");
    }
    for wrong in [
        json!(0),
        json!(99),
        json!(4180),
        json!("0xx"),
        json!("10xx"),
        json!("504-500"),
        json!("4x"),
        json!([404, "x"]),
    ] {
        assert!(told(wrong.clone()) > 0, "{wrong}");
    }
}

#[test]
fn a_profile_that_inherits_from_nowhere_or_in_a_circle_is_reported() {
    let told = |document: Value| -> Vec<String> {
        let problems = Config::from_value(&document).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        told(json!({"profile": "nominatin", "providers": {"p": {"profile": "x-y"}}})),
        [
            "/profile: there is no profile \"nominatin\"; did you mean \"nominatim\"?",
            "/providers/p/profile: there is no profile \"x-y\"; write the name of one that is built in (`fusewire profile list`), or of one under `profiles`",
        ]
    );
    let told = told(json!({"profiles": {
        "a": {"extends": "b"}, "b": {"extends": "a"}, "c": {"extends": "nowhere"}, "D": {"extends": "http"},
    }}));
    for begin in [
        "/profiles/a/extends: \"a\" is the ninth profile",
        "/profiles/b/extends: \"b\" is the ninth profile",
        "/profiles/c/extends: there is no profile \"nowhere\"",
        "/profiles/D: \"D\" cannot name a profile",
    ] {
        assert!(
            told.iter().any(|line| line.starts_with(begin)),
            "{begin} in {told:#?}"
        );
    }
}

#[test]
fn no_more_of_a_body_is_wanted_than_some_rule_looks_at() {
    let wanted = |profile: Value| crate::classify::wanted(config(profile).settings("p"));
    let bytes = |when: Value| wanted(json!({"rules": [{"when": when, "then": "auth"}]})).body_bytes;
    assert_eq!(bytes(json!({"status": 403})), 0);
    assert_eq!(bytes(json!({"magic": "html"})), 512);
    assert_eq!(bytes(json!({"json": {"/a": 1}})), 65_536);
    let expecting = wanted(
        json!({"expect": "json", "rules": [{"when": {"header": {"X-Own": "1"}}, "then": "auth"}]}),
    );
    assert_eq!(expecting.body_bytes, 512);
    assert!(expecting.headers.unwrap().contains(&"x-own".to_owned()));
}
