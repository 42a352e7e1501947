//! One policy, the same decisions byte for byte, in every runtime that it runs in; and every store
//! there keeps every promise of the contract.

use std::path::Path;
use std::sync::Arc;

use fusewire::engine::NativeEngine;
use fusewire::scenario::{Driver, Scenario, play, play_through, report};
use fusewire::store::MemoryStore;
use fusewire_tests::drivers::{Workerd, node, python};
use fusewire_tests::envoy::{Filter, Setup};
use fusewire_tests::promises::broken_promises;
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::scenarios::scenarios;

/// Plays every scenario through a driver, and compares its log with that of the core in memory.
async fn every_scenario_is_decided_alike(driver: &Driver) {
    let mut complaints = String::new();
    for (name, scenario) in scenarios() {
        complaints += &difference(&name, &scenario, driver).await;
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

async fn difference(name: &str, scenario: &Scenario, driver: &Driver) -> String {
    let core = NativeEngine::new(&scenario.configuration(name)).unwrap();
    let here = play(scenario, &core, Arc::new(MemoryStore::new()), name).await;
    let there = match play_through(scenario, driver, name).await {
        Ok(there) => there,
        Err(error) => return format!("{name}: {error}\n"),
    };
    if !there.failures.is_empty() {
        return format!("{name}:\n{}", report::failures(name, &there));
    }
    match report::log_difference(("here", &here.log), ("there", &there.log)) {
        Some(difference) => format!("{name}:\n{difference}"),
        None => String::new(),
    }
}

async fn every_promise_of_a_store_is_kept(driver: &Driver) {
    let broken = broken_promises(Arc::new(driver.store())).await;
    assert!(broken.is_empty(), "broken promises:\n{broken}");
}

async fn all_of_it(driver: &Driver) {
    every_scenario_is_decided_alike(driver).await;
    every_promise_of_a_store_is_kept(driver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_node_in_memory() {
    all_of_it(&node(&["--store", "memory"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_node_on_redis() {
    let server = RedisServer::start();
    all_of_it(&node(&["--store", &server.url()])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_python_in_memory() {
    all_of_it(&python(&["--store", "memory"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_python_on_redis() {
    let server = RedisServer::start();
    all_of_it(&python(&["--store", &server.url()])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_python_on_redis_with_asyncio() {
    let server = RedisServer::start();
    let store = format!("asyncio+{}", server.url());
    all_of_it(&python(&["--store", &store])).await;
}

/// One worker, as a driver answers one request after the other; that workers share their data is
/// tested with real traffic.
#[tokio::test(flavor = "multi_thread")]
async fn in_envoy_on_its_shared_data() {
    let envoy = Setup::with(Filter::drive()).workers(1).start().await;
    all_of_it(&Driver::connect(&envoy.url("/")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_workerd_on_a_durable_object() {
    let workerd = Workerd::start().await;
    all_of_it(&workerd.driver()).await;
    workerd.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_wasi_keyvalue() {
    let program = Path::new(env!("CARGO_BIN_EXE_wasi_driver"));
    all_of_it(&Driver::start(program.as_os_str(), &[]).unwrap()).await;
}
