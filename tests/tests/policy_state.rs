//! State survives a change of the policy: an open breaker stays open, an existing lease is
//! honoured, and an order holds, across versions with different record schemas, both ways.

use std::sync::Arc;

use fusewire::engine::ComponentEngine;
use fusewire::guard::{CallFacts, Guard};
use fusewire::policy::rollout::{How, Options, Rollout, Serving};
use fusewire::policy::{Artefact, Terms, vet};
use fusewire_core::{OverrideMode, OverrideOrder, Phase, RefusalReason, Target};
use fusewire_tests::fleet::{self, fail, settle_with, until};
use fusewire_tests::versions::{AHEAD, CONFIGURATION, HandClock, SCHEMAS, Versions};
use serde_json::json;

/// How far apart two looks at a real clock may be, in ms.
const APART_MS: u64 = 250;

/// Every way: from which schema to which, in memory and on Redis.
async fn each_way(check: impl AsyncFn(&Versions, u32, u32)) {
    let [present, newer] = SCHEMAS;
    for (before, after) in [(present, newer), (newer, present)] {
        check(&Versions::in_memory(), before, after).await;
        check(&Versions::on_redis().await, before, after).await;
    }
}

/// Trips the breaker under this schema; answers until when it is open.
async fn trip(versions: &Versions, schema: u32) -> u64 {
    fleet::trip(versions.of(schema), &versions.target).await;
    assert_eq!(versions.stored("schema").await, schema);
    versions.state(schema).await.until_ms
}

fn is_near(versions: &Versions, one: u64, other: u64) {
    let apart = if versions.is_by_hand() { 0 } else { APART_MS };
    assert!(one.abs_diff(other) <= apart, "{one} and {other}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_that_one_version_has_counted_count_for_the_other() {
    each_way(async |versions, before, after| {
        fail(versions.of(before), &versions.target).await;
        fail(versions.of(before), &versions.target).await;
        assert_eq!(versions.state(after).await.failures, 2);
        fail(versions.of(after), &versions.target).await;
        for schema in SCHEMAS {
            assert_eq!(versions.state(schema).await.phase, Phase::Open);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_breaker_stays_open_for_as_long() {
    each_way(async |versions, before, after| {
        let until = trip(versions, before).await;
        let record = versions.state(before).await.stored;
        is_near(versions, versions.refused_until(after).await, until);
        let seen = versions.state(after).await;
        assert_eq!((seen.phase, seen.until_ms), (Phase::Open, until));
        assert_eq!(seen.stored, record, "reading it changes nothing");

        versions.comes(until).await;
        if after > before {
            let probe = versions.admit(after).await.expect("the cool-down is over");
            assert!(probe.is_probe());
        } else {
            // Whether this is the probe is for those to say who know the record.
            assert!(versions.admit(after).await.is_err());
            assert!(versions.admit(before).await.expect("the probe").is_probe());
        }
        versions.of(after).settled().await;
        versions.of(before).settled().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_one_version_has_given_is_honoured_by_the_other() {
    each_way(async |versions, before, after| {
        let until = trip(versions, before).await;
        versions.comes(until).await;
        let given = versions.of(before).now_ms();
        let probe = versions.admit(before).await.expect("the probe");
        assert!(probe.is_probe());
        is_near(versions, versions.refused_until(after).await, given + 1_000);
        assert_eq!(versions.stored("schema").await, before);

        // The probe passes, under the version that it began with.
        let status = fusewire_core::Response::status(200);
        let seen = fusewire_core::Observation::response(status, given);
        let verdict = versions.of(before).classify(&versions.target, &seen);
        probe.settle(verdict);
        versions.of(before).settled().await;
        for schema in SCHEMAS {
            assert_eq!(versions.state(schema).await.phase, Phase::Closed);
            let admitted = versions.admit(schema).await.expect("it is closed");
            assert!(!admitted.is_probe());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_whose_holder_is_gone_is_taken_over_once_and_not_before_its_end() {
    each_way(async |versions, before, after| {
        let until = trip(versions, before).await;
        versions.comes(until).await;
        let probe = versions.admit(before).await.expect("the probe");
        // Its process is killed: it tells nobody.
        std::mem::forget(probe);
        let ends = versions.refused_until(before).await;
        assert!(versions.admit(after).await.is_err(), "not before its end");
        versions.comes(ends).await;
        if after > before {
            assert!(versions.admit(after).await.expect("free").is_probe());
        } else if versions.is_by_hand() {
            // A newer policy may go on with it for a minute; then it is what a rollback left.
            versions.comes(ends + 59_000).await;
            assert!(versions.admit(after).await.is_err());
            versions.comes(ends + 60_000).await;
            let taken = versions.admit(after).await.expect("left behind");
            assert!(taken.is_probe());
            assert_eq!(versions.stored("schema").await, after);
            assert!(versions.admit(before).await.is_err(), "one probe alone");
        } else {
            assert!(versions.admit(after).await.is_err());
            assert!(versions.admit(before).await.expect("free").is_probe());
        }
        versions.of(after).settled().await;
        versions.of(before).settled().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operators_order_holds_for_both_versions() {
    each_way(async |versions, before, after| {
        let order = |mode, guard: &Guard| OverrideOrder {
            mode,
            enforce_percent: 0,
            who: "on-call".into(),
            why: "a drill".into(),
            until_ms: guard.now_ms() + 3_600_000,
        };
        let domain = versions.target.provider.clone();
        let guard = versions.of(before);
        let give = async |mode| {
            let order = order(mode, guard);
            guard
                .order(&domain, Some(order))
                .await
                .expect("it is given");
        };
        give(OverrideMode::Open).await;
        assert_eq!(versions.stored("schema").await, before);
        let refusal = versions.admit(after).await.err().expect("forced open");
        assert_eq!(refusal.reason, RefusalReason::Override);
        assert_eq!(refusal.detail, "forced open by on-call: a drill");
        let seen = versions.state(after).await.order.expect("the order");
        assert_eq!(seen.mode, OverrideMode::Open);

        guard.order(&domain, None).await.expect("it is cleared");
        trip(versions, before).await;
        assert!(versions.admit(after).await.is_err());
        give(OverrideMode::Closed).await;
        assert!(versions.admit(after).await.is_ok(), "forced closed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_upgraded_when_it_is_next_written_and_keeps_what_it_says() {
    for versions in [Versions::in_memory(), Versions::on_redis().await] {
        let until = trip(&versions, 1).await;
        versions.comes(until).await;
        settle_with(versions.of(2), &versions.target, 500).await;
        let state = versions.state(2).await;
        assert_eq!((state.phase, state.openings), (Phase::Open, 2));
        assert_eq!(versions.stored("schema").await, 2);
        let trips = json!({"in-a-row": 2, "rule": "probe-failed"});
        assert_eq!(versions.stored("trips").await, trips);
        assert_eq!(versions.stored("wrote").await, "a policy with schema 2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_versions_see_side_by_side_opens_a_breaker_that_the_newer_one_closed() {
    for versions in [Versions::in_memory(), Versions::on_redis().await] {
        let until = trip(&versions, 2).await;
        versions.comes(until).await;
        settle_with(versions.of(2), &versions.target, 200).await;
        assert_eq!(versions.state(1).await.phase, Phase::Closed);
        let epoch = versions.state(2).await.epoch;
        assert_eq!(versions.state(1).await.epoch, epoch);
        for _ in 0..3 {
            fail(versions.of(1), &versions.target).await;
        }
        assert_eq!(versions.stored("schema").await, 2, "it is left alone");
        assert_eq!(versions.state(2).await.failures, 3);
        fail(versions.of(2), &versions.target).await;
        assert_eq!(versions.state(1).await.phase, Phase::Open);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_host_knows_outlasts_a_replacement_of_its_policy_and_the_way_back() {
    let clock = HandClock::default();
    let terms = Terms {
        configuration: CONFIGURATION.into(),
        ..Terms::default()
    };
    let vetted = vet(Artefact::built_in(), &terms, |_| {}).await;
    let serving = Serving::from(vetted.expect("the built-in policy may run"));
    let engine: Arc<ComponentEngine> = Arc::clone(&serving.engine);
    let guard = Guard::builder(engine, clock.store()).build();
    let options = Options {
        terms,
        ..Options::default()
    };
    let rollout = Rollout::begin(&guard, serving, options);
    let ahead = Artefact::new(AHEAD, None, "the test");
    let target = Target::provider("geocoder");
    let admit = async || guard.admit(&target, &CallFacts::default()).await;

    fleet::trip(&guard, &target).await;
    let until_ms = fleet::state(&guard, &target).await.until_ms;
    rollout.offer(ahead.clone(), How::AtOnce);
    until("the newer policy serves", async || {
        rollout.status().serving.digest == ahead.digest()
    })
    .await;
    assert_eq!(rollout.status().serving.record_schema, 2);
    let refusal = admit().await.err().expect("it stays open");
    assert_eq!(refusal.retry_after_ms, until_ms - guard.now_ms());

    clock.comes(until_ms);
    let probe = admit().await.expect("the probe");
    assert!(probe.is_probe());
    assert!(rollout.rollback("a test").await.is_ok());
    assert_eq!(rollout.status().serving.record_schema, 1);
    let refusal = admit().await.err().expect("its lease is honoured");
    assert_eq!(refusal.retry_after_ms, 1_000);

    // The probe ends under the policy that it began with, and what it has shown holds.
    let seen =
        fusewire_core::Observation::response(fusewire_core::Response::status(200), guard.now_ms());
    probe.settle(guard.classify(&target, &seen));
    guard.settled().await;
    assert_eq!(fleet::state(&guard, &target).await.phase, Phase::Closed);
    assert!(!admit().await.expect("closed").is_probe());
}
