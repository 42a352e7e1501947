//! The filter is replaced under traffic: no call is lost, and what the fleet knows is kept.

use std::path::{Path, PathBuf};

use fusewire_tests::envoy::setup::FUSEWIRE;
use fusewire_tests::envoy::steps::{also, trip, trips_on_three};
use fusewire_tests::envoy::{Envoy, Filter, Load, Provider, Setup, Updates};
use fusewire_tests::fleet::until;
use fusewire_tests::gateway::header;
use fusewire_tests::upstream::{Reply, Upstream};
use serde_json::{Value, json};

/// The filter as another file with other bytes: a section of its own is added, which WebAssembly
/// ignores. So Envoy compiles it anew, and starts new instances.
fn another_build(folder: &Path, n: u8) -> PathBuf {
    let mut wasm = std::fs::read(FUSEWIRE).expect("the filter");
    // A custom section (0) of three bytes: its name has one, and so has its content.
    wasm.extend([0, 3, 1, b'n', n]);
    let path = folder.join(format!("fusewire-{n}.wasm"));
    std::fs::write(&path, wasm).expect("it is written");
    path
}

/// Replaces the filter by one that refuses with this status, and waits until it does so.
async fn replace(envoy: &Envoy, setup: &Setup, wasm: &Path, configuration: &Value, status: u16) {
    let configuration = also(configuration.clone(), "reply", json!({"status": status}));
    let filter = Filter::of(wasm, &configuration.to_string());
    envoy.update(&setup.replaced(filter));
    until("the new one refuses", async || {
        let answer = envoy.get("/atlas").await;
        assert_eq!(
            header(&answer, "fusewire-refused"),
            "open",
            "open over every update"
        );
        answer.status() == status
    })
    .await;
}

async fn no_call_is_lost(updates: Updates) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (atlas, meridian, slow) = (
        Upstream::start().await,
        Upstream::start().await,
        Upstream::start().await,
    );
    let configuration = trips_on_three("10m");
    let setup = Setup::fusewire(&configuration)
        .provider(Provider::new("atlas", atlas.address()))
        .provider(Provider::new("meridian", meridian.address()))
        .provider(Provider::new("slow", slow.address()))
        .updates(updates);
    let mut envoy = setup.start().await;
    trip(&envoy, &atlas, "/atlas").await;

    slow.say(Reply::Wait);
    let load = Load::start(&envoy.url("/meridian"), 12);
    let in_flight: Vec<_> = (0..8)
        .map(|_| tokio::spawn(envoy.request("/slow").send()))
        .collect();
    until("calls are in flight", async || slow.received().len() == 8).await;
    // Another configuration, another build, and back to the first.
    let builds = [1, 2].map(|n| another_build(folder.path(), n));
    replace(&envoy, &setup, Path::new(FUSEWIRE), &configuration, 429).await;
    replace(&envoy, &setup, &builds[0], &configuration, 430).await;
    replace(&envoy, &setup, &builds[1], &configuration, 431).await;
    replace(&envoy, &setup, Path::new(FUSEWIRE), &configuration, 432).await;
    let made = load.made();
    until("the load goes on", async || load.made() > made + 100).await;

    slow.say(Reply::ok("at last"));
    slow.let_go(8);
    for call in in_flight {
        let answer = call.await.expect("the task ends").expect("an answer");
        assert_eq!(answer.status(), 200);
    }
    let tally = load.stop().await;
    assert_eq!(
        tally.status(200),
        tally.calls(),
        "every call was answered: {tally:?}"
    );
    assert_eq!(tally.calls(), meridian.received().len() as u64);
    assert_eq!(atlas.received().len(), 3, "open all the time");
    envoy.counted("outcome.success", tally.calls() + 8).await;
    envoy.counted("outcome.failure", 3).await;
    assert_eq!(envoy.count("admitted").await, tally.calls() + 8 + 3);
    for nothing in ["outcome.dropped", "ignored", "store.error", "host_error"] {
        assert_eq!(envoy.count(nothing).await, 0, "{nothing}");
    }
    assert!(envoy.runs());
    both_workers_answer(&envoy).await;
}

/// Makes new connections until both workers have had some.
async fn both_workers_answer(envoy: &Envoy) {
    let connections = async |worker: u8| {
        let name = format!("listener.127.0.0.1_0.worker_{worker}.downstream_cx_total");
        envoy.stat(&name).await.expect("a worker that counts")
    };
    let before = [connections(0).await, connections(1).await];
    let load = Load::start(&envoy.url("/meridian"), 24);
    until("both workers have new connections", async || {
        connections(0).await > before[0] && connections(1).await > before[1]
    })
    .await;
    let tally = load.stop().await;
    assert_eq!(tally.status(200), tally.calls(), "{tally:?}");
}

#[tokio::test]
async fn no_call_is_lost_over_an_update_of_the_listener() {
    no_call_is_lost(Updates::Listener).await;
}

#[tokio::test]
async fn no_call_is_lost_over_an_update_of_the_filter() {
    no_call_is_lost(Updates::Filter).await;
}

#[tokio::test]
async fn failures_before_an_update_count_after_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for updates in [Updates::Listener, Updates::Filter] {
        let (atlas, meridian) = (Upstream::start().await, Upstream::start().await);
        let setup = Setup::fusewire(&trips_on_three("10m"))
            .provider(Provider::new("atlas", atlas.address()))
            .provider(Provider::new("meridian", meridian.address()))
            .updates(updates);
        let envoy = setup.start().await;
        trip(&envoy, &atlas, "/atlas").await;
        meridian.say(Reply::status(500));
        for _ in 0..2 {
            assert_eq!(envoy.get("/meridian").await.status(), 500);
        }
        envoy.counted("outcome.failure", 5).await;
        let build = another_build(folder.path(), 3);
        replace(&envoy, &setup, &build, &trips_on_three("10m"), 429).await;
        assert_eq!(
            envoy.get("/meridian").await.status(),
            500,
            "the third failure"
        );
        envoy.counted("transition.to_open", 2).await;
        assert_eq!(
            header(&envoy.get("/meridian").await, "fusewire-refused"),
            "open"
        );
    }
}

#[tokio::test]
async fn a_probe_that_is_under_way_over_an_update_is_still_the_only_one_and_closes_the_breaker() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for updates in [Updates::Listener, Updates::Filter] {
        let (atlas, meridian) = (Upstream::start().await, Upstream::start().await);
        let policy =
            json!({"providers": {"meridian": {"breaker": {"cool-down": {"first": "100ms"}}}}});
        let mut configuration = trips_on_three("10m");
        configuration["policy"]["providers"] = policy["providers"].clone();
        // The update may take its time, and so may the probe.
        configuration["policy"]["breaker"]["probes"]["time-share"] = json!(1);
        configuration["call-limit"] = json!("15s");
        let setup = Setup::fusewire(&configuration)
            .provider(Provider::new("atlas", atlas.address()))
            .provider(Provider::new("meridian", meridian.address()))
            .updates(updates);
        let envoy = setup.start().await;
        trip(&envoy, &atlas, "/atlas").await;
        trip(&envoy, &meridian, "/meridian").await;
        meridian.say(Reply::Wait);
        let load = Load::start(&envoy.url("/meridian"), 4);
        until("the probe is under way", async || {
            meridian.received().len() == 4
        })
        .await;
        let build = another_build(folder.path(), 4);
        replace(&envoy, &setup, &build, &configuration, 429).await;
        assert_eq!(
            envoy.count("probe.passed").await,
            0,
            "the probe is under way still"
        );
        assert_eq!(
            header(&envoy.get("/meridian").await, "fusewire-refused"),
            "probe-in-flight"
        );
        meridian.say(Reply::ok("here again"));
        meridian.let_go(1);
        envoy.counted("probe.passed", 1).await;
        load.stop().await;
        assert_eq!(envoy.count("transition.to_closed").await, 1);
        assert_eq!(envoy.count("probe.failed").await, 0);
        assert_eq!(envoy.get("/meridian").await.status(), 200);
    }
}
