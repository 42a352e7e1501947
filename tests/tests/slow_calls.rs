//! A provider that hangs is found out while it hangs: calls count as slow when they pass the limit,
//! not when they end.

use std::sync::Arc;
use std::time::Duration;

use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire::store::MemoryStore;
use fusewire_core::{Event, EventKind, Observation, Phase, RefusalReason, Response, Target};
use fusewire_tests::fleet::{self, until};
use fusewire_tests::gateway::{breaker, chain, client, get, start};
use fusewire_tests::upstream::{Reply, Upstream};
use tokio::sync::mpsc;

/// Slow after 100 ms, and half of at least five calls that are open it.
const POLICY: &str = r#"{
    "slow": "100ms",
    "breaker": {
        "failure-ratio": false,
        "slow-ratio": {"share": 0.5, "minimum": 5, "window": "60s"}
    }
}"#;

fn guard() -> (Guard, mpsc::UnboundedReceiver<Event>) {
    let (told, events) = mpsc::unbounded_channel();
    let observer = move |notice: &Notice<'_>| {
        if let Notice::Event(event) = notice {
            let _ = told.send((*event).clone());
        }
    };
    let guard = Guard::builder(fleet::engine(POLICY), Arc::new(MemoryStore::new()))
        .observer(Arc::new(observer))
        .build();
    (guard, events)
}

#[tokio::test]
async fn calls_that_hang_open_the_breaker_while_they_are_under_way() {
    let (guard, mut events) = guard();
    let target = Target::provider("geocoder");
    let mut under_way = Vec::new();
    for _ in 0..5 {
        let admitted = guard.admit(&target, &CallFacts::default()).await;
        under_way.push(admitted.expect("closed"));
    }
    let event = tokio::time::timeout(fleet::DEADLINE, events.recv()).await;
    let event = event.expect("it opens in time").expect("an event");
    let EventKind::Transition(opened) = event.kind else {
        panic!("{event:?}");
    };
    assert_eq!((opened.after, &*opened.rule), (Phase::Open, "slow-ratio"));
    assert_eq!(under_way.len(), 5, "none of them has ended");
    let refusal = guard.admit(&target, &CallFacts::default()).await;
    assert_eq!(refusal.err().expect("open").reason, RefusalReason::Open);

    // They end well, and late: that changes nothing any more, and counts as slow no second time.
    for admitted in under_way {
        let seen = Observation::response(Response::status(200), guard.now_ms());
        let verdict = admitted.classify(&target, &seen);
        admitted.settle(verdict);
    }
    guard.settled().await;
    let state = fleet::state(&guard, &target).await;
    assert_eq!(
        (state.phase, state.openings, state.slow),
        (Phase::Open, 1, 5)
    );
}

#[tokio::test]
async fn a_call_that_was_dropped_or_ended_in_time_is_not_counted_as_slow() {
    let (guard, _events) = guard();
    let target = Target::provider("geocoder");
    let admit = async || {
        let admitted = guard.admit(&target, &CallFacts::default()).await;
        admitted.expect("closed")
    };
    for _ in 0..5 {
        drop(admit().await);
        let seen = Observation::response(Response::status(200), guard.now_ms());
        let admitted = admit().await;
        let verdict = admitted.classify(&target, &seen);
        admitted.settle_timed(verdict, Duration::from_millis(1));
    }
    // One that comes later and does last passes its moment after theirs would have been.
    let lasting = admit().await;
    until("its moment has come", async || {
        fleet::state(&guard, &target).await.slow > 0
    })
    .await;
    guard.settled().await;
    assert_eq!(fleet::state(&guard, &target).await.slow, 1, "it alone");
    drop(lasting);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_learns_what_is_usual_and_opens_when_a_provider_hangs() {
    let upstream = Upstream::start().await;
    let policy = "[policy]
retry.attempts = 1
slow = { limit = \"1h\", learnt = { times = 3, floor = \"300ms\", minimum = 10, window = \"10m\" } }
breaker.failure-ratio = false
breaker.slow-ratio = { share = 0.5, minimum = 20, window = \"60s\" }
";
    let limits = "total = \"60s\"\nread = \"60s\"\n";
    let providers = chain(&[("p", upstream.url("/"))], limits);
    let gateway = start(&format!("{policy}{providers}")).await;
    until("it knows what is usual", async || {
        assert_eq!(get(&gateway, "/").await.status(), 200);
        let stored = breaker(&gateway, "p").await.stored;
        stored.is_some_and(|record| record.contains("pace"))
    })
    .await;
    let fast = breaker(&gateway, "p").await.successes;

    let hanging = usize::try_from(fast).expect("a few") + 25;
    upstream.say(Reply::Wait);
    let url = format!("http://{}/", gateway.address());
    let callers: Vec<_> = (0..hanging)
        .map(|_| tokio::spawn(client().get(&url).send()))
        .collect();
    until("it opens", async || {
        let states = gateway.guard().inspect(&Target::provider("p")).await;
        states
            .first()
            .is_some_and(|state| state.phase == Phase::Open)
    })
    .await;
    assert!(
        callers.iter().all(|caller| !caller.is_finished()),
        "they all wait"
    );
    let record = breaker(&gateway, "p").await.stored.expect("a record");
    assert!(record.contains("slow-ratio"), "{record}");
    assert_eq!(get(&gateway, "/").await.status(), 503, "nobody else hangs");

    upstream.say(Reply::ok("late"));
    upstream.let_go(hanging);
    for caller in callers {
        let answer = caller.await.expect("a caller").expect("an answer");
        assert_eq!(answer.status(), 200, "those who waited have their answers");
    }
    let state = breaker(&gateway, "p").await;
    assert_eq!((state.phase, state.openings), (Phase::Open, 1));
}
