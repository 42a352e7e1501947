//! Every store keeps every promise of `wit/keyvalue.wit`.

use std::sync::Arc;
use std::time::Duration;

use fusewire::store::contract::Delayed;
use fusewire::store::{
    Lane, LocalStore, MemoryStore, MergedStore, RedisStore, Reply, Store, WatchedStore, Window,
};
use fusewire_tests::promises::broken_promises;
use fusewire_tests::redis_server::RedisServer;

async fn keeps_every_promise(store: Arc<dyn Store>) {
    let broken = broken_promises(store).await;
    assert!(broken.is_empty(), "broken promises:\n{broken}");
}

async fn connected(server: &RedisServer, query: &str) -> RedisStore {
    let url = format!("{}{query}", server.url());
    let store = RedisStore::connect(&url).await.expect("a Redis URL");
    store.ping().wait().await.expect("a connection");
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_every_promise() {
    keeps_every_promise(Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_that_answers_later_keeps_every_promise() {
    keeps_every_promise(Arc::new(Delayed::new(MemoryStore::new()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_instances_own_keys_beside_it_a_store_keeps_every_promise() {
    let shared = Arc::new(Delayed::new(MemoryStore::new()));
    keeps_every_promise(Arc::new(LocalStore::new(shared, "fusewire"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_keeps_every_promise() {
    let server = RedisServer::start();
    keeps_every_promise(Arc::new(connected(&server, "").await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_keeps_every_promise_over_its_newer_protocol_too() {
    let server = RedisServer::start();
    keeps_every_promise(Arc::new(connected(&server, "?protocol=resp3").await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_is_watched_keeps_every_promise() {
    let server = RedisServer::start();
    let redis = Arc::new(connected(&server, "").await);
    // Patient, as a machine that builds and tests is busy: this is not a test of the limit.
    let watched = Arc::new(WatchedStore::new(redis, Duration::from_secs(5)));
    keeps_every_promise(Arc::clone(&watched) as Arc<dyn Store>).await;
    assert_eq!(watched.stats().errors, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merging_counts_keeps_every_promise() {
    let memory = Arc::new(Delayed::new(MemoryStore::new()));
    keeps_every_promise(Arc::new(MergedStore::new(memory))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_as_a_fleet_uses_it_keeps_every_promise() {
    let server = RedisServer::start();
    let redis = Arc::new(connected(&server, "").await);
    let watched = Arc::new(WatchedStore::new(redis, Duration::from_secs(5)));
    keeps_every_promise(Arc::new(MergedStore::new(watched))).await;
}

#[tokio::test]
async fn hosts_whose_stores_are_on_one_redis_see_each_others_counts() {
    let server = RedisServer::start();
    let (one, other) = (connected(&server, "").await, connected(&server, "").await);
    let window = Window {
        key: "fusewire:w:{p}".into(),
        epoch: 1,
        bucket: 0,
        add: vec![Lane {
            name: "failure".into(),
            amount: 1,
        }],
        since: 0,
        ttl_ms: 60_000,
    };
    for (store, sum) in [(&one, 1), (&other, 2), (&one, 3)] {
        let tallies = store.count(vec![window.clone()]).wait().await;
        let tallies = tallies.expect("an answer");
        assert_eq!(tallies[0].amount("failure"), sum);
    }
}

#[tokio::test]
async fn an_operation_is_one_round_trip_whatever_it_asks_for() {
    let server = RedisServer::start();
    let store = connected(&server, "").await;
    let key = |i: u64| format!("fusewire:w:{{p}}{i}");
    let windows: Vec<Window> = (0..2)
        .map(|i| Window {
            key: key(i),
            epoch: 1,
            bucket: 0,
            add: Vec::new(),
            since: 0,
            ttl_ms: 60_000,
        })
        .collect();
    // The scripts are known to the server after their first call.
    assert!(store.count(windows.clone()).wait().await.is_ok());
    assert!(store.swap("s".into(), None, None, 0).wait().await.is_ok());

    let mut admin = administrator(&server);
    let before = reads(&mut admin);
    let values = store.get(vec!["a".into(), "b".into(), "c".into()]);
    assert!(values.wait().await.is_ok());
    assert!(store.count(windows).wait().await.is_ok());
    assert!(store.swap("s".into(), None, None, 0).wait().await.is_ok());
    // The two questions about reads are one read each, the second of which is counted.
    assert_eq!(reads(&mut admin) - before, 3 + 1);
}

/// How often the server has read from a connection.
fn reads(admin: &mut redis::Connection) -> u64 {
    let info: String = redis::cmd("INFO")
        .arg("stats")
        .query(admin)
        .expect("the statistics");
    info.lines()
        .find_map(|line| line.strip_prefix("total_reads_processed:"))
        .and_then(|reads| reads.trim().parse().ok())
        .expect("the number of reads")
}

fn administrator(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection")
}

#[tokio::test]
async fn the_clock_is_the_servers() {
    let server = RedisServer::start();
    let store = connected(&server, "").await;
    let mut connection = administrator(&server);
    let earliest = store.now_ms();
    let (s, us): (u64, u64) = redis::cmd("TIME").query(&mut connection).expect("the time");
    let latest = store.now_ms();
    let server_ms = s * 1_000 + us / 1_000;
    assert!(
        (earliest.saturating_sub(5)..=latest + 5).contains(&server_ms),
        "{server_ms} is not within {earliest} to {latest}"
    );
}

#[tokio::test]
async fn dropping_the_store_closes_its_connection() {
    let server = RedisServer::start();
    let store = connected(&server, "").await;
    // An answer that is still awaited does not keep the store alive.
    let Reply::Later(pending) = store.ping() else {
        panic!("Redis answers later");
    };
    drop(store);
    assert!(pending.await.is_err());
    let mut connection = administrator(&server);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let clients: String = redis::cmd("CLIENT")
            .arg("LIST")
            .query(&mut connection)
            .expect("the clients");
        if clients.lines().count() == 1 {
            return;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "still there:\n{clients}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
