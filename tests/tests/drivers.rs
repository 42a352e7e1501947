//! Scenarios are played in another runtime through a driver, and one that is no good is told from
//! a policy that is.

use std::ffi::OsStr;

use fusewire::scenario::{Driver, Scenario, TestOptions, play_through, run};
use fusewire::store::{Store, StoreError};

const TEXT: &str = "title = \"x\"\n[[step]]\nadmit = \"p\"\nexpect = \"allowed\"\n";

fn driver(program: &str, arguments: &[&str]) -> Driver {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    Driver::start(OsStr::new(program), &arguments).unwrap()
}

async fn what_is_wrong_with(driver: &Driver) -> String {
    let scenario = Scenario::parse(TEXT).unwrap();
    let played = play_through(&scenario, driver, "test").await;
    played.unwrap_err().to_string()
}

/// A driver that answers these lines, one a request, whatever is asked.
fn saying(lines: &[&str]) -> Driver {
    let answers = lines.join("' '");
    let script =
        format!("for line in '{answers}'; do read request; echo \"$line\"; done; read end");
    driver("sh", &["-c", &script])
}

#[tokio::test]
async fn a_driver_that_is_not_there_is_named() {
    let error = Driver::at("no-such-driver --store memory").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start the driver `no-such-driver`: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn a_driver_that_ends_is_reported_with_its_status() {
    let driver = driver("sh", &["-c", "read request; exit 3"]);
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(wrong, "the driver ended: exit status: 3");
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(
        wrong,
        "the driver is gone, after the failure before this one"
    );
}

#[tokio::test]
async fn a_driver_that_reports_a_fault_is_believed() {
    let driver = saying(&[r#"{"fault": "there is no policy here"}"#]);
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(wrong, "the driver reports: there is no policy here");
}

#[tokio::test]
async fn an_answer_that_is_not_in_the_protocol_is_shown_with_what_was_asked() {
    let driver = saying(&["hello"]);
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(
        wrong,
        r#"the driver answered "hello" to {"prefix":"test"}: expected value at line 1 column 1"#
    );
    let driver = saying(&[r#"{"done": true}"#, r#"{"problem": []}"#]);
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(
        wrong,
        r#"the driver answered {"problem":[]} to configure: there is no `problems` in it"#
    );
}

#[tokio::test]
async fn a_decision_that_cannot_be_read_fails_the_scenario_at_its_step() {
    let driver = saying(&[
        r#"{"done": true}"#,
        r#"{"problems": []}"#,
        r#"{"admission": {"decision": "perhaps"}, "operations": 1}"#,
    ]);
    let scenario = Scenario::parse(TEXT).unwrap();
    let played = play_through(&scenario, &driver, "test").await.unwrap();
    let found = &played.failures[0].found;
    assert!(found.contains("unknown variant `perhaps`"), "{found}");
}

#[tokio::test]
async fn problems_with_the_configuration_are_told_as_the_policys_own() {
    let problem = r#"{"path": "/slow", "wrong": "`slow` is 5", "right": "write a duration"}"#;
    let driver = saying(&[
        r#"{"done": true}"#,
        &format!(r#"{{"problems": [{problem}]}}"#).replace('`', ""),
    ]);
    let wrong = what_is_wrong_with(&driver).await;
    assert_eq!(
        wrong,
        "the driver's policy does not accept its configuration: /slow: slow is 5; write a duration"
    );
}

#[tokio::test]
async fn what_a_drivers_store_does_not_do_is_told_apart() {
    let driver = saying(&[
        r#"{"error": "unavailable"}"#,
        r#"{"error": {"refused": "too long"}}"#,
        r#"{"values": [null, [104, 105]]}"#,
    ]);
    let store = driver.store();
    let get = async || store.get(vec!["a".into(), "b".into()]).wait().await;
    assert!(matches!(get().await, Err(StoreError::Unavailable(_))));
    assert_eq!(get().await, Err(StoreError::Refused("too long".into())));
    assert_eq!(get().await, Ok(vec![None, Some(b"hi".to_vec())]));
}

#[tokio::test]
async fn the_command_plays_through_a_driver_and_shows_the_decision_that_differs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.toml");
    std::fs::write(&file, TEXT).unwrap();
    let script = directory.path().join("driver.sh");
    let admission = r#"{"decision": {"allowed": {"target": {"provider": "p"}, "probe": false, "token": "other"}}, "holds-until-ms": 0, "events": []}"#;
    let lines = [
        r#"{"done": true}"#.to_owned(),
        r#"{"problems": []}"#.to_owned(),
        format!(r#"{{"admission": {admission}, "operations": 1}}"#),
        r#"{"values": [null]}"#.to_owned(),
    ];
    let answers: String = lines
        .iter()
        .map(|line| format!("read request; echo '{line}'\n"))
        .collect();
    std::fs::write(&script, answers).unwrap();
    let options = TestOptions {
        files: vec![file],
        through: vec![format!("sh {}", script.display())],
        ..TestOptions::default()
    };
    let mut out = Vec::new();
    assert!(!run(&options, &mut out).await.unwrap());
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.contains("two runs do not agree\n  decision 1 differs"),
        "{out}"
    );
    assert!(out.contains(r#""token":"other""#), "{out}");
    assert!(out.ends_with("0 passed, 1 failed\n"), "{out}");
}
