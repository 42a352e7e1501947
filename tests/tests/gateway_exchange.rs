//! Filters in Envoy share the fleet's breakers through a gateway, over HTTP.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fusewire::gateway::Gateway;
use fusewire::store::{Lane, MemoryStore, RedisStore, Store, Window};
use fusewire_tests::gateway::{client, config, metric, start};
use fusewire_tests::redis_server::RedisServer;
use serde_json::{Value, json};

const OPEN: &str = "[exchange]\n";

async fn gateway_on(store: &Arc<MemoryStore>) -> Gateway {
    let builder = Gateway::builder(config(OPEN)).store(Arc::clone(store) as Arc<dyn Store>);
    builder.start().await.unwrap()
}

async fn post(gateway: &Gateway, body: &Value) -> (u16, Value) {
    let url = format!("http://{}/fusewire/exchange", gateway.address());
    let answer = client().post(url).body(body.to_string()).send().await;
    let answer = answer.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap())
}

fn exchange(records: Value, counters: Value) -> Value {
    json!({"instance": "e", "prefix": "fusewire", "records": records, "counters": counters})
}

fn bytes(text: &str) -> Value {
    json!(BASE64_STANDARD.encode(text))
}

async fn stored(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    let values = store.get(vec![key.to_owned()]).wait().await;
    values.unwrap().pop().flatten()
}

#[tokio::test]
async fn a_record_that_a_filter_changed_is_the_fleets_and_comes_back_to_others() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let key = "fusewire:s:{p}";
    let swap = json!({"replacement": bytes("open"), "ttl-ms": 60_000});
    let change = json!([{"key": key, "have": null, "swap": swap}]);

    let (status, told) = post(&gateway, &exchange(change, json!([]))).await;
    assert_eq!(status, 200);
    assert_eq!(told["records"], json!([{"key": key, "swapped": true}]));
    assert_eq!(stored(&store, key).await.as_deref(), Some(&b"open"[..]));

    let asks = json!([{"key": key, "have": null}]);
    let (_, learnt) = post(&gateway, &exchange(asks, json!([]))).await;
    assert_eq!(
        learnt["records"],
        json!([{"key": key, "swapped": null, "value": bytes("open")}])
    );
    let knows = json!([{"key": key, "have": bytes("open")}]);
    let (_, nothing_new) = post(&gateway, &exchange(knows, json!([]))).await;
    assert_eq!(
        nothing_new["records"],
        json!([{"key": key, "swapped": null}])
    );
    assert!(nothing_new["now-ms"].as_u64().unwrap() > 1_700_000_000_000);
}

#[tokio::test]
async fn what_a_filter_decided_on_something_old_does_not_undo_what_the_fleet_has_decided() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let key = "fusewire:s:{p}";
    let won = store.swap(key.to_owned(), None, Some(b"half-open".to_vec()), 0);
    assert!(won.wait().await.unwrap());

    let swap = json!({"replacement": bytes("closed"), "ttl-ms": 60_000});
    let late = json!([{"key": key, "have": bytes("open"), "swap": swap}]);
    let (_, told) = post(&gateway, &exchange(late, json!([]))).await;
    assert_eq!(
        told["records"],
        json!([{"key": key, "swapped": false, "value": bytes("half-open")}])
    );
    assert_eq!(
        stored(&store, key).await.as_deref(),
        Some(&b"half-open"[..])
    );
}

#[tokio::test]
async fn a_record_that_the_fleet_no_longer_has_is_told_as_gone() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let knows = json!([{"key": "fusewire:s:{p}", "have": bytes("open")}]);
    let (_, learnt) = post(&gateway, &exchange(knows, json!([]))).await;
    assert_eq!(learnt["records"][0]["value"], Value::Null);
    assert!(
        learnt["records"][0]
            .as_object()
            .unwrap()
            .contains_key("value")
    );
}

#[tokio::test]
async fn counts_are_added_to_the_fleets_and_its_sums_come_back_since_each_time_asked_for() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let key = "fusewire:w:{p}";
    let others = Window {
        key: key.to_owned(),
        epoch: 0,
        bucket: 5_000,
        add: vec![Lane {
            name: "failure".into(),
            amount: 4,
        }],
        since: 0,
        ttl_ms: 60_000,
    };
    store.count(vec![others]).wait().await.unwrap();

    let add = json!([
        {"bucket": 5_000, "lanes": {"failure": 1}},
        {"bucket": 10_000, "lanes": {"failure": 2, "success": 3}},
    ]);
    let mine = json!([{"key": key, "epoch": 0, "ttl-ms": 60_000, "since": [0, 5_000, 10_000, 15_000], "add": add}]);
    let (status, told) = post(&gateway, &exchange(json!([]), mine)).await;
    assert_eq!(status, 200, "{told}");
    assert_eq!(
        told["counters"],
        json!([{"key": key, "epoch": 0, "tallies": [
            {"failure": 7, "success": 3},
            {"failure": 7, "success": 3},
            {"failure": 2, "success": 3},
            {},
        ]}])
    );
}

#[tokio::test]
async fn counts_of_an_epoch_that_is_over_are_not_added_and_the_filter_is_told_whose_it_is() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let counter = |epoch: u64| {
        let add = json!([{"bucket": 5_000, "lanes": {"failure": 1}}]);
        json!([{"key": "fusewire:w:{p}", "epoch": epoch, "ttl-ms": 60_000, "since": [0], "add": add}])
    };
    post(&gateway, &exchange(json!([]), counter(2_000))).await;
    let (_, told) = post(&gateway, &exchange(json!([]), counter(1_000))).await;
    assert_eq!(told["counters"][0]["epoch"], 2_000);
    let (_, told) = post(&gateway, &exchange(json!([]), counter(2_000))).await;
    assert_eq!(told["counters"][0]["tallies"], json!([{"failure": 2}]));
}

#[tokio::test]
async fn a_key_that_somebody_uses_for_something_else_does_not_keep_the_others_from_being_exchanged()
{
    let server = RedisServer::start();
    let redis = RedisStore::connect(&server.url()).await.unwrap();
    let key = "fusewire:w:{poisoned}";
    let put = redis.swap(key.to_owned(), None, Some(b"a text".to_vec()), 0);
    assert!(put.wait().await.unwrap());
    let gateway = start(&format!("{OPEN}[store]\nurl = \"{}\"\n", server.url())).await;

    let counter = |key: &str| {
        let add = json!([{"bucket": 0, "lanes": {"failure": 1}}]);
        json!({"key": key, "epoch": 0, "ttl-ms": 60_000, "since": [0], "add": add})
    };
    let counters = json!([counter(key), counter("fusewire:w:{p}")]);
    let (status, told) = post(&gateway, &exchange(json!([]), counters)).await;
    assert_eq!(status, 200, "{told}");
    let refused = &told["counters"][0]["refused"];
    assert!(refused.as_str().unwrap().contains("WRONGTYPE"), "{refused}");
    assert_eq!(told["counters"][1]["tallies"], json!([{"failure": 1}]));
}

#[tokio::test]
async fn what_is_no_exchange_is_refused_with_its_place() {
    let store = Arc::new(MemoryStore::new());
    let gateway = gateway_on(&store).await;
    let outside = json!([{"key": "other:s:{p}", "have": null}]);
    let backwards =
        json!([{"key": "fusewire:w:{p}", "epoch": 0, "ttl-ms": 1, "since": [5, 0], "add": []}]);
    let add = json!([{"bucket": 0, "lanes": {"Failure": 1}}]);
    let lane =
        json!([{"key": "fusewire:w:{p}", "epoch": 0, "ttl-ms": 1, "since": [0], "add": add}]);
    let mut other_fleet = exchange(json!([]), json!([]));
    other_fleet["prefix"] = json!("blue");
    for (request, why) in [
        (
            exchange(outside, json!([])),
            r#"records[0]: the store refused: the key "other:s:{p}" does not begin with "fusewire:""#,
        ),
        (
            exchange(json!([]), backwards),
            "counters[0].since: the times are not ascending",
        ),
        (
            exchange(json!([]), lane),
            "counters[0].add: the store refused: \"Failure\" is no name of a lane: 1 to 16 of a-z, digits and `-`",
        ),
        (
            other_fleet,
            r#"prefix: this host's fleet has "fusewire", and the request "blue"; configure the same on both"#,
        ),
        (
            json!({"records": []}),
            "missing field `instance` at line 1 column 14",
        ),
        (
            json!("no object"),
            "invalid type: string \"no object\", expected struct Exchange at line 1 column 11",
        ),
    ] {
        let (status, told) = post(&gateway, &request).await;
        assert_eq!((status, told["detail"].as_str()), (400, Some(why)));
    }
    let refused = metric(&gateway, "fusewire_exchanges_total{outcome=\"refused\"}").await;
    assert_eq!(refused, Some(6));
}

#[tokio::test]
async fn with_a_token_configured_nobody_exchanges_without_it() {
    let gateway = start("[exchange]\ntoken = \"correct horse\"\n").await;
    let url = format!("http://{}/fusewire/exchange", gateway.address());
    let body = exchange(json!([]), json!([])).to_string();
    for (token, status) in [
        (None, 401),
        (Some("correct hors"), 401),
        (Some("correct horsf"), 401),
        (Some("correct horse"), 200),
    ] {
        let mut request = client().post(&url).body(body.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{token:?}");
    }
}

#[tokio::test]
async fn with_the_store_out_of_reach_a_filter_is_told_so_and_not_that_the_fleet_has_nothing() {
    let mut server = RedisServer::start();
    let gateway = start(&format!("{OPEN}[store]\nurl = \"{}\"\n", server.url())).await;
    server.kill();
    let asks = json!([{"key": "fusewire:s:{p}", "have": null}]);
    let (status, told) = post(&gateway, &exchange(asks, json!([]))).await;
    assert_eq!(status, 503);
    assert_eq!(told["title"], "The fleet's store is out of reach");
}

#[tokio::test]
async fn a_gateway_that_was_not_told_to_exchanges_nothing() {
    let routes = "[providers.p]\nurl = \"http://127.0.0.1:9/\"\n[[routes]]\npath = \"/a\"\nchain = [\"p\"]\n";
    let gateway = start(routes).await;
    let (status, _) = post(&gateway, &exchange(json!([]), json!([]))).await;
    assert_eq!(status, 404);
}
