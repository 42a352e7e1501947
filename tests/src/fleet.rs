//! Guards of one fleet, and the steps that tests take with them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fusewire::engine::{ComponentEngine, Engine};
use fusewire::guard::{CallFacts, Guard};
use fusewire::store::{MergedStore, Mode, RedisStore, Store, WatchedStore};
use fusewire_core::{DomainState, Observation, Phase, Response, Target};

/// A policy with a breaker that trips on three failures and cools down in no time.
pub const QUICK: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "60s"},
        "cool-down": {"first": "300ms", "jitter": 0},
        "probes": {"needed": 1, "lease": "1s"}
    }
}"#;

/// How long the tests wait for an event before they say that it does not come.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// The built-in policy with this configuration, as a component.
///
/// # Panics
/// It does not load.
#[must_use]
pub fn engine(configuration: &str) -> Arc<dyn Engine> {
    Arc::new(ComponentEngine::built_in(configuration).expect("the policy loads"))
}

/// Redis as a fleet uses it: with a time limit and a breaker of its own, and with counts merged.
/// Returns when it is connected.
///
/// # Panics
/// It does not connect.
pub async fn redis(url: &str) -> Arc<dyn Store> {
    let redis = Arc::new(RedisStore::connect(url).await.expect("a good URL"));
    let watched = Arc::new(WatchedStore::new(redis, Duration::from_millis(50)));
    let store: Arc<dyn Store> = Arc::new(MergedStore::new(watched));
    until("the store answers", async || {
        store.ping().wait().await.is_ok() && store.mode() == Mode::Shared
    })
    .await;
    store
}

/// Waits for something to be so.
///
/// # Panics
/// It is not so before the deadline; `what` says what was awaited.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(
            started.elapsed() < DEADLINE,
            "waited {DEADLINE:?} in vain: {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Lets a call fail: admitted, answered 500, settled.
///
/// # Panics
/// The call is refused.
pub async fn fail(guard: &Guard, target: &Target) {
    settle_with(guard, target, 500).await;
}

/// Makes a call that is answered with this status.
///
/// # Panics
/// The call is refused.
pub async fn settle_with(guard: &Guard, target: &Target, status: u16) {
    let admitted = guard
        .admit(target, &CallFacts::default())
        .await
        .expect("admitted");
    let seen = Observation::response(Response::status(status), guard.now_ms());
    admitted.settle(guard.classify(target, &seen));
    guard.settled().await;
}

/// Trips a breaker that needs three failures.
///
/// # Panics
/// It does not trip.
pub async fn trip(guard: &Guard, target: &Target) {
    for _ in 0..3 {
        fail(guard, target).await;
    }
    assert_eq!(
        state(guard, target).await.phase,
        Phase::Open,
        "three failures trip it"
    );
}

/// The provider's domain as it stands.
///
/// # Panics
/// The store does not answer.
pub async fn state(guard: &Guard, target: &Target) -> DomainState {
    guard
        .inspect(target)
        .await
        .into_iter()
        .next()
        .expect("the store answers")
}

/// Waits until the cool-down of a tripped breaker is over.
pub async fn cool_down_is_over(guard: &Guard, target: &Target) {
    until("the cool-down is over", async || {
        state(guard, target).await.phase == Phase::HalfOpen
    })
    .await;
}
