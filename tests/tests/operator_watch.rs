//! `fusewire status --watch` on a pipe: a line a change, on a real Redis.

use fusewire::guard::CallFacts;
use fusewire_core::{OverrideMode, Target};
use fusewire_tests::desk::has;
use fusewire_tests::fleet::trip;
use fusewire_tests::operator::{LONG, Operator, host, order};
use fusewire_tests::redis_server::RedisServer;
use serde_json::Value;

/// One that is open for a moment, and takes one probe.
const BRIEF: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "60s"},
        "cool-down": {"first": "3s", "jitter": 0},
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
async fn a_watch_on_a_pipe_has_a_line_a_change_and_ends_when_it_is_interrupted() {
    let server = RedisServer::start();
    let host = host(&server, "host-1", BRIEF).await;
    let operator = Operator::of(&server);
    let target = Target::provider("geocoder");
    host.order("zoo", Some(order(OverrideMode::Open)))
        .await
        .expect("given");
    let mut watch = operator.watch(&["status", "--watch", "geocoder", "z*"]);
    watch.says(&["  geocoder  closed"]).await;
    watch
        .says(&["  zoo  forced open until it is cleared: by operator@desk: a test"])
        .await;

    trip(&host, &target).await;
    watch
        .says(&["  geocoder  open for ", "opened by the rule `failures`"])
        .await;
    // By time alone: nothing is written at the end of a cool-down.
    watch
        .says(&["  geocoder  half-open: the next call is a probe"])
        .await;
    let probe = host
        .admit(&target, &CallFacts::default())
        .await
        .expect("it is the probe");
    watch
        .says(&["  geocoder  half-open: host-1 probes it"])
        .await;
    drop(probe);
    host.settled().await;
    watch
        .says(&["  geocoder  half-open: the next call is a probe"])
        .await;

    // What nobody asked for is not told.
    host.order("mailer", Some(order(OverrideMode::Open)))
        .await
        .expect("given");
    host.order("zoo", None).await.expect("cleared");
    watch.says(&["  zoo  closed"]).await;
    let said = watch.interrupted().await;
    assert_eq!(said.out, "");
    said.ended(1);

    let mut watch = operator.watch(&["status", "--watch", "--json", "zoo"]);
    let line = watch.says(&["\"domain\":\"zoo\""]).await;
    assert_eq!(json(&line)[0]["standing"], "closed");
    host.order("zoo", Some(order(OverrideMode::Open)))
        .await
        .expect("given");
    let line = watch.says(&["\"domain\":\"zoo\""]).await;
    assert_eq!(json(&line)[0]["standing"], "forced-open");
    host.order("zoo", None).await.expect("cleared");
    watch.says(&["\"standing\":\"closed\""]).await;
    watch.interrupted().await.ended(0);
}

#[tokio::test]
async fn a_watch_ends_when_nobody_reads_it_though_nothing_changes() {
    let server = RedisServer::start();
    let operator = Operator::of(&server);
    let mut watch = operator.watch(&["status", "--watch", "tiles"]);
    watch.says(&["  tiles  closed"]).await;
    let said = watch.unread().await;
    assert_eq!(said.err, "");
    said.ended(0);
}

#[tokio::test]
async fn a_watch_goes_on_while_its_store_is_gone_and_tells_what_it_finds_afterwards() {
    let mut server = RedisServer::start();
    let operator = Operator::of(&server);
    operator
        .run(&["open", "mailer", "--why", "x"])
        .await
        .ended(0);
    let mut watch = operator.watch(&["status", "--watch"]);
    watch.says(&["  mailer  forced open for "]).await;
    // Started again it has nothing: the order is gone as well, and another one comes.
    server.restart();
    watch.says(&["  mailer  closed: it has no record"]).await;
    operator
        .run(&["open", "tiles", "--why", "y"])
        .await
        .ended(0);
    watch.says(&["  tiles  forced open for "]).await;
    watch.interrupted().await.ended(1);

    let mut watch = operator.watch(&["status", "--watch"]);
    watch.says(&["  tiles  forced open for "]).await;
    server.kill();
    watch.complains(&["the store is out of reach"]).await;
    watch.interrupted().await.ended(2);
    let said = operator.watch(&["status", "--watch"]).ends().await;
    said.ended(2);
    has(
        &said.err,
        &["the store is out of reach", "Connection refused"],
    );
}

#[tokio::test]
async fn where_the_store_tells_nothing_of_changes_a_watch_asks_for_them() {
    let server = RedisServer::start();
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let user = redis::cmd("ACL")
        .arg(&[
            "SETUSER",
            "operator",
            "on",
            ">pw",
            "~*",
            "+@all",
            "-client|tracking",
        ])
        .exec(&mut admin);
    user.expect("a user who may not be told");
    let host = host(&server, "host-1", LONG).await;
    let operator = Operator::at(&format!(
        "redis://operator:pw@127.0.0.1:{}/0",
        server.port()
    ));
    let mut watch = operator.watch(&["status", "--watch", "tiles"]);
    watch.says(&["  tiles  closed"]).await;
    trip(&host, &Target::provider("tiles")).await;
    watch.says(&["  tiles  open for "]).await;
    watch.interrupted().await.ended(1);
}
