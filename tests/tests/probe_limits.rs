//! A probe gets less time than other calls, and its lease lasts as long as any call may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fusewire::guard::{Admitted, CallFacts, Guard};
use fusewire::store::MemoryStore;
use fusewire_core::{Observation, Response, Target};
use fusewire_tests::fleet::{self, until};
use fusewire_tests::gateway::{breaker, chain, get, header, start};
use fusewire_tests::upstream::{Reply, Upstream};

const POLICY: &str = r#"{"breaker": {
    "failures": {"count": 1}, "failure-ratio": false,
    "cool-down": {"first": "50ms", "max": "50ms", "jitter": 0},
    "probes": {"needed": 1, "lease": "1s", "time-share": 0.25},
    "ramp": false
}}"#;

fn facts() -> CallFacts {
    CallFacts {
        limit: Some(Duration::from_secs(8)),
        ..CallFacts::default()
    }
}

async fn probe(guard: &Guard, target: &Target) -> Admitted {
    let started = Instant::now();
    loop {
        if let Ok(admitted) = guard.admit(target, &facts()).await {
            assert!(admitted.is_probe(), "it is not closed");
            return admitted;
        }
        assert!(started.elapsed() < fleet::DEADLINE, "no probe");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn settle(guard: &Guard, target: &Target, admitted: Admitted, status: u16) {
    let seen = Observation::response(Response::status(status), guard.now_ms());
    let verdict = guard.classify(target, &seen);
    admitted.settle(verdict);
}

#[tokio::test]
async fn a_probe_gets_its_share_of_the_calls_time_and_a_lease_for_all_of_it() {
    let store = Arc::new(MemoryStore::new());
    let guard = Guard::builder(fleet::engine(POLICY), store).build();
    let target = Target::provider("geocoder");
    let admitted = guard.admit(&target, &facts()).await.expect("closed");
    assert_eq!(admitted.limits().total_ms, None, "it has all of its time");
    settle(&guard, &target, admitted, 500);

    let asked = guard.now_ms();
    let admitted = probe(&guard, &target).await;
    assert_eq!(admitted.limits().total_ms, Some(2_000));
    assert_eq!(
        admitted.limit(Duration::from_millis(700)),
        Duration::from_millis(700),
        "a limit of one's own that is shorter stays"
    );
    let lease = fleet::state(&guard, &target).await.lease.expect("a lease");
    assert!(
        lease.expires_ms >= asked + 8_000,
        "as long as the call may last"
    );
    settle(&guard, &target, admitted, 500);

    // A provider that is healthy and slow comes through in the end.
    let second = probe(&guard, &target).await;
    assert_eq!(second.limits().total_ms, Some(2_000));
    settle(&guard, &target, second, 500);
    let third = probe(&guard, &target).await;
    assert_eq!(third.limits().total_ms, None);
    settle(&guard, &target, third, 200);
    let admitted = guard.admit(&target, &facts()).await.expect("closed");
    assert!(!admitted.is_probe());
}

#[tokio::test]
async fn a_gateway_gives_a_probe_up_at_the_policys_limit_and_does_not_try_again() {
    let upstream = Upstream::start().await;
    let policy = "[policy]
retry.attempts = 3
breaker.failures.count = 1
retry.base = \"10ms\"
breaker.cool-down = { first = \"1s\", max = \"1s\", jitter = 0 }
breaker.probes = { needed = 1, lease = \"1s\", time-share = 0.1 }
";
    let limits = "total = \"20s\"\nread = \"20s\"\n";
    let providers = chain(&[("p", upstream.url("/"))], limits);
    let gateway = start(&format!("{policy}{providers}")).await;
    upstream.say(Reply::status(500));
    assert_eq!(get(&gateway, "/").await.status(), 503);
    let asked_before = upstream.received().len();
    let openings = breaker(&gateway, "p").await.openings;

    upstream.say(Reply::Hang);
    let started = Instant::now();
    let mut answer = None;
    let lease = {
        let probing = async {
            loop {
                let began = Instant::now();
                let got = get(&gateway, "/").await;
                if header(&got, "fusewire-attempts") != "0" {
                    return (got, began.elapsed());
                }
                assert!(started.elapsed() < fleet::DEADLINE, "no probe");
            }
        };
        let mut probing = std::pin::pin!(probing);
        let mut lease = None;
        while answer.is_none() {
            tokio::select! {
                got = &mut probing => answer = Some(got),
                state = breaker_now(&gateway) => lease = lease.or(state),
            }
        }
        lease.expect("it held a lease")
    };
    let (answer, took) = answer.expect("an answer");
    assert_eq!(answer.status(), 503);
    assert_eq!(
        header(&answer, "fusewire-attempts"),
        "1",
        "no second attempt"
    );
    assert_eq!(upstream.received().len(), asked_before + 1);
    assert!(took >= Duration::from_secs(2), "a tenth of 20 s: {took:?}");
    assert!(
        took < Duration::from_secs(15),
        "not all of its time: {took:?}"
    );
    assert!(
        lease >= 20_000 - 1_000,
        "as long as a call may last: {lease} ms"
    );
    let state = breaker(&gateway, "p").await;
    assert_eq!(state.openings, openings + 1, "and it was judged");
}

/// How long the lease still lasts, in ms, where there is one.
async fn breaker_now(gateway: &fusewire::gateway::Gateway) -> Option<u64> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    let guard = gateway.guard();
    let states = guard.inspect(&Target::provider("p")).await;
    let lease = states.into_iter().next()?.lease?;
    Some(lease.expires_ms.saturating_sub(guard.now_ms()))
}

#[tokio::test]
async fn a_gateways_own_limit_for_probes_stays_in_force() {
    let upstream = Upstream::start().await;
    let policy = "[policy]
breaker.failures.count = 1
breaker.cool-down = { first = \"50ms\", max = \"50ms\", jitter = 0 }
breaker.probes = { needed = 1, lease = \"1s\", time-share = 1 }
";
    let limits = "total = \"20s\"\nread = \"20s\"\nprobe = \"300ms\"\n";
    let providers = chain(&[("p", upstream.url("/"))], limits);
    let gateway = start(&format!("{policy}{providers}")).await;
    upstream.say(Reply::status(500));
    get(&gateway, "/").await;
    upstream.say(Reply::Hang);
    until("the probe is given up", async || {
        breaker(&gateway, "p").await.openings == 2
            || header(&get(&gateway, "/").await, "fusewire-attempts") == "1"
    })
    .await;
}
