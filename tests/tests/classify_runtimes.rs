//! One policy, the same verdicts byte for byte, in every runtime that it runs in: of the labelled
//! cases, with bodies, trailers and all.

use std::path::Path;

use fusewire::scenario::Driver;
use fusewire_core::Policy;
use fusewire_tests::cases::Cases;
use fusewire_tests::drivers::{Workerd, node, python};
use fusewire_tests::envoy::{Filter, Setup};
use serde_json::json;

/// How many providers a configuration has here.
const PROVIDERS: usize = 20;

/// Judges every case through a driver, and compares each verdict with that of the core.
async fn every_case_is_judged_alike(driver: &Driver) {
    let mut complaints = String::new();
    for batch in Cases::batches(PROVIDERS) {
        let configuration = batch.configuration();
        let mut core = Policy::default();
        assert_eq!(core.configure(&configuration), []);
        let configured = driver.configure(&configuration, "classify").await;
        configured.expect("a policy that takes the configuration");
        for case in &batch.cases {
            let (target, seen) = (batch.target(case), &case.input.observation);
            let here = json!(core.classify(&target, seen)).to_string();
            let there = match driver.classify(&target, seen).await {
                Ok(there) => json!(there).to_string(),
                Err(error) => error.to_string(),
            };
            if here != there {
                complaints += &format!("{}:\n  here   {here}\n  there  {there}\n", case.id);
            }
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_node() {
    every_case_is_judged_alike(&node(&["--store", "memory"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_python() {
    every_case_is_judged_alike(&python(&["--store", "memory"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_envoy() {
    let envoy = Setup::with(Filter::drive()).workers(1).start().await;
    every_case_is_judged_alike(&Driver::connect(&envoy.url("/")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_workerd() {
    let workerd = Workerd::start().await;
    every_case_is_judged_alike(&workerd.driver()).await;
    workerd.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_wasi() {
    let program = Path::new(env!("CARGO_BIN_EXE_wasi_driver"));
    every_case_is_judged_alike(&Driver::start(program.as_os_str(), &[]).unwrap()).await;
}
