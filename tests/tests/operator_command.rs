//! How operators see a fleet's breakers, as they type it, on a real Redis: the status, and why.

use fusewire::guard::CallFacts;
use fusewire_core::{Observation, OverrideMode, Response, Target};
use fusewire_tests::desk::has;
use fusewire_tests::fleet::{cool_down_is_over, trip};
use fusewire_tests::gateway;
use fusewire_tests::operator::{LONG, Operator, host, host_of, order};
use fusewire_tests::redis_server::RedisServer;
use serde_json::Value;

/// One that is open for a moment, takes one probe, and ramps for as long as anybody looks.
const BRIEF: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "60s"},
        "cool-down": {"first": "2s", "jitter": 0},
        "probes": {"needed": 1, "lease": "30s"},
        "ramp": {"time": "10m"}
    }
}"#;

/// The values of a text that has one a line.
fn json(text: &str) -> Vec<Value> {
    let values = text.lines().map(serde_json::from_str);
    values.collect::<Result<_, _>>().expect("JSON a line")
}

#[tokio::test]
async fn the_status_has_every_domain_once_and_those_that_are_not_closed_first() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    // More than one page of keys, so that the server is asked again and again.
    let name = |n: usize| match n % 3 {
        0 => format!("p{n}"),
        1 => format!("p{n}@team"),
        _ => format!("p{n}/layer"),
    };
    let closed = order(OverrideMode::Closed);
    for n in 0..1_200 {
        host.order(&name(n), Some(closed.clone()))
            .await
            .expect("given");
    }
    trip(&host, &Target::provider("tripped")).await;
    host.order("zoo", Some(order(OverrideMode::Open)))
        .await
        .expect("given");
    // Of others: another fleet, another kind of key, and what is no record.
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    for (key, value) in [
        ("other:s:{a}", "{}"),
        ("fusewire:x:{a}", "{}"),
        ("fusewire:s:a", "{}"),
        ("fusewire:s:{junk}", "no record"),
    ] {
        let set = redis::cmd("SET").arg(key).arg(value).exec(&mut admin);
        set.expect("it is set");
    }

    let looks = json(&operator.run(&["status", "--json"]).await.ends(1));
    let text = |look: &Value, field: &str| look[field].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = looks.iter().map(|look| text(look, "domain")).collect();
    assert_eq!(names[..2], ["zoo", "tripped"], "those that are not closed");
    assert!(looks[2..].iter().all(|look| look["closed"] == true));
    let mut expected: Vec<String> = (0..1_200).map(name).collect();
    expected.extend(["zoo", "tripped", "junk"].map(str::to_owned));
    expected.sort_unstable();
    let mut found = names.clone();
    found.sort_unstable();
    assert_eq!(found, expected);
    let tripped = &looks[1];
    assert_eq!(text(tripped, "standing"), "open");
    assert_eq!(text(tripped, "rule"), "failures");
    assert_eq!(
        (&tripped["failures"], &tripped["openings"]),
        (&3.into(), &1.into())
    );
    let left = tripped["open-until-ms"]
        .as_u64()
        .zip(tripped["at-ms"].as_u64());
    let (until, at) = left.expect("times");
    assert!((500_000..=600_000).contains(&(until - at)), "{tripped}");
    assert_eq!(looks[0]["order"]["who"], "operator@desk");
    assert_eq!(looks[0]["order"]["until-ms"], Value::Null);

    let said = operator.run(&["status"]).await.ends(1);
    let rows: Vec<&str> = said.lines().collect();
    assert!(rows[0].starts_with("DOMAIN "), "{}", rows[0]);
    assert!(rows[1].starts_with("zoo "), "{}", rows[1]);
    assert!(!said.contains('\u{1b}'), "no colour where nobody looks on");
    has(
        rows.last().expect("lines"),
        &["1203 domains: 1 forced open, 1 open, 1200 forced closed, 1 closed"],
    );
    let said = operator
        .run(&["status", "p1?@*", "tripped", "p9"])
        .await
        .ends(1);
    let first = |row: &str| row.split(' ').next().unwrap_or_default().to_owned();
    let rows: Vec<String> = said
        .lines()
        .filter(|row| !row.starts_with(' '))
        .map(first)
        .collect();
    assert_eq!(
        rows[1..6],
        ["tripped", "p10@team", "p13@team", "p16@team", "p19@team"]
    );
    assert_eq!(rows[6], "p9", "{said}");

    // A name is shown whether it has a record or not; another fleet has its own domains.
    let said = operator.run(&["status", "nobody"]).await.ends(0);
    has(&said, &["nobody", "closed", "1 domain: 1 closed"]);
    let said = operator.run(&["status", "no*"]).await.ends(0);
    has(
        &said,
        &["no such domain has a record under the prefix `fusewire`"],
    );
    let url = server.url();
    let others = ["status", "--redis", &url, "--prefix", "other"];
    let said = operator.run(&others).await.ends(0);
    has(&said, &["1 domain: 1 closed"]);
}

#[tokio::test]
async fn the_status_tells_a_probe_with_its_holder_and_a_ramp_after_it() {
    let server = RedisServer::start();
    let operator = Operator::at("");
    // The operator's settings are those of the hosts.
    let config = format!(
        "[store]\nurl = \"{}\"\n[policy]\nprefix = \"fusewire\"\n[policy.breaker]\n\
         cool-down = {{ first = \"2s\", jitter = 0 }}\nprobes.needed = 1\nramp.time = \"10m\"\n{}",
        server.url(),
        gateway::chain(&[("geocoder", "http://127.0.0.1:9/".into())], "")
    );
    operator.write("fusewire.toml", &config);
    let host = host(&server, "host-1", BRIEF).await;
    let target = Target::provider("geocoder");
    trip(&host, &target).await;
    cool_down_is_over(&host, &target).await;
    let said = operator.run(&["status"]).await.ends(1);
    has(
        &said,
        &[
            "half-open",
            "the next call is a probe",
            "opened by the rule `failures`",
        ],
    );

    let probe = host.admit(&target, &CallFacts::default()).await;
    let probe = probe.expect("it is the probe");
    let said = operator.run(&["status"]).await.ends(1);
    has(&said, &["half-open", "host-1 probes it, for ", " at most"]);
    let seen = Observation::response(Response::status(200), host.now_ms());
    let verdict = probe.classify(&target, &seen);
    probe.settle(verdict);
    host.settled().await;
    let said = operator.run(&["status"]).await.ends(0);
    has(&said, &["ramp", "closed ", " ago, after an opening"]);
}

#[tokio::test]
async fn what_cannot_be_told_ends_with_two_and_says_what_would_be_right() {
    let server = RedisServer::start();
    let operator = Operator::of(&server);
    for words in [["status", "geocoder@"], ["explain", "geocoder@"]] {
        let said = operator.run(&words).await.complains(2);
        has(
            &said,
            &["no domain can be called `geocoder@`", "`geocoder@team-1`"],
        );
    }
    let nowhere = Operator::at("");
    let said = nowhere.run(&["status"]).await.complains(2);
    has(
        &said,
        &[
            "--redis redis://",
            "--config",
            "FUSEWIRE_STORE",
            "fusewire.toml",
        ],
    );
    for url in [
        "redis://user:s3cret@127.0.0.1:1",
        "rediss://user:s3cret@127.0.0.1:1",
        "s3cret",
    ] {
        for command in ["status", "explain"] {
            let words = [command, "a", "--redis", url];
            let said = nowhere.run(&words).await.complains(2);
            assert!(!said.contains("s3cret"), "{said}");
        }
    }
    nowhere.write(
        "fusewire.toml",
        &gateway::chain(&[("a", "http://127.0.0.1:9/".into())], ""),
    );
    let said = nowhere.run(&["status"]).await.complains(2);
    has(&said, &["fusewire.toml: it has no `store.url`"]);
    let said = nowhere
        .run(&["status", "--config", "no.toml"])
        .await
        .complains(2);
    has(&said, &["no.toml"]);
    nowhere.write("bad.toml", "[policy]\nbreaker.failures.count = 0\n");
    let said = nowhere
        .run(&["status", "--config", "bad.toml"])
        .await
        .complains(2);
    has(&said, &["bad.toml:2:", "count"]);
    let said = operator
        .run(&["status", "--prefix", "a{b"])
        .await
        .complains(2);
    has(&said, &["--prefix \"a{b\"", "cannot begin a key"]);
    // Somebody whose Redis asks for a password.
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let guarded = redis::cmd("CONFIG")
        .arg("SET")
        .arg("requirepass")
        .arg("s3cret")
        .exec(&mut admin);
    guarded.expect("it is set");
    let said = operator.run(&["status"]).await.complains(2);
    has(&said, &["NOAUTH"]);
}

#[tokio::test]
async fn a_configuration_says_which_fleet_is_meant_and_whose_providers_it_has() {
    let server = RedisServer::start();
    let config = format!(
        "[store]\nurl = \"{}\"\n[policy]\nprefix = \"north\"\nbreaker.failures.count = 7\n{}",
        server.url(),
        gateway::chain(&[("geocoder", "http://127.0.0.1:9/".into())], "")
    );
    let operator = Operator::at("");
    operator.write("fusewire.toml", &config);
    operator
        .run(&["open", "geocoder", "--why", "x"])
        .await
        .ended(0);
    let host = host_of("north", &server, "host-1", r#"{"prefix": "north"}"#).await;
    let refused = host
        .admit(&Target::provider("geocoder"), &CallFacts::default())
        .await;
    assert!(refused.is_err(), "it is of the same fleet");
    let said = operator.run(&["explain", "geocoder"]).await.ends(1);
    has(&said, &["it takes 7"]);
    let said = operator.run(&["open", "geocodre", "--why", "x"]).await;
    assert_eq!(said.code, Some(0));
    has(&said.err, &["no provider of this name", "`geocodre`"]);
    let said = operator
        .run(&["status", "--prefix", "south"])
        .await
        .complains(2);
    has(&said, &["--prefix goes with --redis"]);
}

#[tokio::test]
async fn a_domain_is_explained_by_the_policy_fact_by_fact() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let target = Target::provider("geocoder");
    let said = operator.run(&["explain", "geocoder"]).await.ends(0);
    has(
        &said,
        &[
            "geocoder  closed\n",
            "phase ",
            "has not tripped for as long as",
        ],
    );
    trip(&host, &target).await;
    operator
        .run(&["observe", "geocoder", "--why", "to see"])
        .await
        .ended(0);
    let said = operator.run(&["explain", "geocoder"]).await.ends(1);
    has(
        &said,
        &[
            "geocoder  observed\n",
            "open for another ",
            "by the rule `failures`",
            "by on-call@desk: to see",
            "3 failures in 1m; it takes 5",
        ],
    );
    let said = operator
        .run(&["explain", "geocoder", "--json"])
        .await
        .ends(1);
    let explained = json(&said).remove(0);
    assert_eq!(explained["domain"], "geocoder");
    assert_eq!(explained["state"]["phase"], "open");
    let facts = explained["facts"].as_array().expect("facts");
    let phase = facts.iter().find(|fact| fact["subject"] == "phase");
    assert_eq!(phase.expect("the phase")["value"], "open");
    assert!(facts.iter().all(|fact| fact["says"].is_string()));
}

#[tokio::test]
async fn of_a_policy_that_does_not_explain_itself_the_status_is_told() {
    let server = RedisServer::start();
    let operator = Operator::of(&server);
    let first = env!("FUSEWIRE_FIRST_POLICY_WASM");
    let config = format!(
        "[store]\nurl = \"{}\"\n[policy]\ncomponent = \"{first}\"\n{}",
        server.url(),
        gateway::chain(&[("geocoder", "http://127.0.0.1:9/".into())], "")
    );
    operator.write("old.toml", &config);
    let said = operator
        .run(&["explain", "geocoder", "--config", "old.toml"])
        .await;
    let said = said.ends(0);
    has(
        &said,
        &[
            "geocoder  closed\n",
            "phase ",
            "0 failures in the widest window",
        ],
    );
    operator
        .run(&["status", "--config", "old.toml"])
        .await
        .ended(0);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_nobody_from_seeing_the_others() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::of(&server);
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let odd = ["fusewire:s:{odd}", "no", "record"];
    let set = redis::cmd("HSET").arg(&odd).exec(&mut admin);
    set.expect("it is set");
    host.order("tiles", Some(order(OverrideMode::Off)))
        .await
        .expect("given");
    let said = operator.run(&["status"]).await;
    has(&said.err, &["`odd` cannot be told", "WRONGTYPE"]);
    has(&said.ends(2), &["tiles", "1 domain: 1 off"]);
    trip(&host, &Target::provider("geocoder")).await;
    let said = operator.run(&["status"]).await;
    has(&said.err, &["`odd` cannot be told", "WRONGTYPE"]);
    has(&said.ends(1), &["geocoder", "2 domains: 1 open, 1 off"]);
}
