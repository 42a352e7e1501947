//! A store that is away costs nothing, and is shared again when it is back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fusewire::store::{Lane, Mode, RedisStore, Reply, Store, StoreError, WatchedStore, Window};
use fusewire_tests::redis_server::RedisServer;
use tokio::sync::mpsc;

/// The limit within which a store must answer: the default.
const LIMIT: Duration = Duration::from_millis(50);
/// How long a store may take to be noticed as back. It is within two seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(15);

fn window(key: &str) -> Window {
    Window {
        key: key.into(),
        epoch: 1,
        bucket: 0,
        add: vec![Lane {
            name: "failure".into(),
            amount: 1,
        }],
        since: 0,
        ttl_ms: 60_000,
    }
}

async fn connected(server: &RedisServer) -> RedisStore {
    let store = RedisStore::connect(&server.url()).await;
    let store = store.expect("a Redis URL");
    store.ping().wait().await.expect("a connection");
    store
}

/// A store on this server within the limit, and the changes of its mode.
async fn watched(server: &RedisServer) -> (WatchedStore, mpsc::UnboundedReceiver<(Mode, String)>) {
    let (told, changes) = mpsc::unbounded_channel();
    let redis = Arc::new(connected(server).await);
    let store = WatchedStore::observed(redis, LIMIT, move |mode, why| {
        let _ = told.send((mode, why.to_owned()));
    });
    (store, changes)
}

async fn next(changes: &mut mpsc::UnboundedReceiver<(Mode, String)>) -> (Mode, String) {
    tokio::time::timeout(PATIENCE, changes.recv())
        .await
        .expect("a change of mode, in time")
        .expect("a store that lives")
}

/// Waits until the store answers, without a watch that would do so.
async fn is_back(store: &dyn Store) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = store.ping().wait().await {
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[track_caller]
fn is_unavailable_at_once<T>(reply: Reply<T>) {
    match reply {
        Reply::Ready(Err(StoreError::Unavailable(_))) => {}
        Reply::Ready(Err(error)) => panic!("{error}"),
        Reply::Ready(Ok(_)) => panic!("it was answered"),
        Reply::Later(_) => panic!("it was asked"),
    }
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let server = RedisServer::start();
    let store = connected(&server).await;
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    for round in 1..=3 {
        redis::cmd("SCRIPT")
            .arg("FLUSH")
            .exec(&mut admin)
            .expect("an empty script cache");
        let counted = store
            .count(vec![window("a"), window("b"), window("a")])
            .wait()
            .await;
        let sums: Vec<u64> = counted
            .expect("tallies")
            .iter()
            .map(|tally| tally.amount("failure"))
            .collect();
        assert_eq!(sums, [2 * round - 1, round, 2 * round]);
        redis::cmd("SCRIPT")
            .arg("FLUSH")
            .exec(&mut admin)
            .expect("an empty script cache");
        let key = format!("s{round}");
        let swapped = store.swap(key, None, Some(b"x".to_vec()), 60_000);
        assert_eq!(swapped.wait().await, Ok(true));
    }
}

#[tokio::test]
async fn a_server_that_is_killed_costs_nothing_and_is_shared_again_when_it_is_back() {
    let mut server = RedisServer::start();
    let (store, mut changes) = watched(&server).await;
    assert!(store.count(vec![window("k")]).wait().await.is_ok());

    server.kill();
    let began = Instant::now();
    assert!(store.count(vec![window("k")]).wait().await.is_err());
    assert!(began.elapsed() < 10 * LIMIT, "{:?}", began.elapsed());
    assert_eq!(next(&mut changes).await.0, Mode::Down);
    for _ in 0..1_000 {
        is_unavailable_at_once(store.count(vec![window("k")]));
    }

    server.restart();
    assert_eq!(next(&mut changes).await.0, Mode::Shared);
    let tallies = store.count(vec![window("k")]).wait().await;
    assert_eq!(tallies.expect("tallies")[0].amount("failure"), 1);
    assert!(changes.try_recv().is_err(), "one event a change of mode");
    assert_eq!(store.stats().mode_changes, 2);
}

#[tokio::test]
async fn a_server_that_hangs_costs_one_operation_its_limit_and_the_next_nothing() {
    let server = RedisServer::start();
    let (store, mut changes) = watched(&server).await;
    assert!(store.count(vec![window("k")]).wait().await.is_ok());

    server.pause();
    let began = Instant::now();
    let answer = store.count(vec![window("k")]).wait().await;
    let took = began.elapsed();
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    assert!(took >= LIMIT && took < 10 * LIMIT, "{took:?}");
    let (mode, why) = next(&mut changes).await;
    assert_eq!(mode, Mode::Down);
    assert!(why.contains("50ms"), "{why}");
    for _ in 0..1_000 {
        is_unavailable_at_once(store.count(vec![window("k")]));
    }

    server.resume();
    assert_eq!(next(&mut changes).await.0, Mode::Shared);
    // The add that was given up may have taken effect, once.
    let tallies = store.count(vec![window("k")]).wait().await;
    let sum = tallies.expect("tallies")[0].amount("failure");
    assert!((2..=3).contains(&sum), "{sum}");
}

#[tokio::test]
async fn a_server_that_hangs_for_long_is_shared_again_when_it_goes_on() {
    let server = RedisServer::start();
    let (store, mut changes) = watched(&server).await;
    server.pause();
    assert!(store.ping().wait().await.is_err());
    assert_eq!(next(&mut changes).await.0, Mode::Down);
    // Longer than the connection waits for a sign of life, so that it is given up meanwhile.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    server.resume();
    assert_eq!(next(&mut changes).await.0, Mode::Shared);
    assert!(store.count(vec![window("k")]).wait().await.is_ok());
}

#[tokio::test]
async fn a_store_whose_server_is_down_can_be_made_and_shares_when_it_is_up() {
    let mut server = RedisServer::start();
    server.kill();
    let store = RedisStore::connect(&server.url()).await;
    let store = store.expect("a Redis URL is enough");
    assert_eq!(store.mode(), Mode::Down);
    is_unavailable_at_once(store.get(vec!["k".into()]));
    is_unavailable_at_once(store.ping());

    server.restart();
    is_back(&store).await;
    assert_eq!(store.mode(), Mode::Shared);
    assert_eq!(store.get(vec!["k".into()]).wait().await, Ok(vec![None]));
}

#[tokio::test]
async fn a_lost_connection_is_noticed_without_an_operation() {
    let mut server = RedisServer::start();
    let store = connected(&server).await;
    server.kill();
    let deadline = Instant::now() + PATIENCE;
    while store.mode() == Mode::Shared {
        assert!(Instant::now() < deadline, "it still counts as connected");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_that_takes_no_writes_any_more_is_left_and_asked_again() {
    let server = RedisServer::start();
    let primary = RedisServer::start();
    let store = connected(&server).await;
    let mut admin = redis::Client::open(server.url())
        .and_then(|client| client.get_connection())
        .expect("a connection");
    let mut replicate = |host: &str, port: &str| {
        redis::cmd("REPLICAOF")
            .arg(host)
            .arg(port)
            .exec(&mut admin)
            .expect("another role");
    };
    replicate("127.0.0.1", &primary.port().to_string());
    let refused = store.count(vec![window("k")]).wait().await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    let deadline = Instant::now() + PATIENCE;
    // A ping alone would succeed: a watch that trusts it would change mode all the time.
    while store.ping().wait().await.is_ok() {
        assert!(Instant::now() < deadline, "it stays with a replica");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    replicate("NO", "ONE");
    is_back(&store).await;
    assert!(store.count(vec![window("k")]).wait().await.is_ok());
}
