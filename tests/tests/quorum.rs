//! It takes a quorum to open a breaker for the whole fleet; below it an instance opens for itself.

use std::sync::{Arc, Mutex};

use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire_core::{EventKind, Observation, Phase, RefusalReason, Response, Target};
use fusewire_tests::fleet;
use fusewire_tests::redis_server::RedisServer;

/// One instance, and what changed its phase: the fleet's breaker, or its own.
struct Instance {
    guard: Guard,
    changes: Arc<Mutex<Vec<&'static str>>>,
}

impl Instance {
    async fn start(server: &RedisServer, name: &str, policy: &str) -> Self {
        let changes = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&changes);
        let observer = move |notice: &Notice<'_>| {
            if let Notice::Event(event) = notice {
                let whose = match event.kind {
                    EventKind::Transition(_) => "the fleet's",
                    EventKind::Alone(_) => "its own",
                    _ => return,
                };
                heard.lock().unwrap().push(whose);
            }
        };
        let store = fleet::redis(&server.url()).await;
        let guard = Guard::builder(fleet::engine(policy), store)
            .instance(name)
            .observer(Arc::new(observer))
            .build();
        Self { guard, changes }
    }

    /// Lets calls with these requests fail, as long as they are let through.
    async fn fail(&self, target: &Target, fingerprints: impl IntoIterator<Item = u64>) {
        for fingerprint in fingerprints {
            let facts = CallFacts {
                fingerprint: Some(fingerprint),
                ..CallFacts::default()
            };
            let admitted = self.guard.admit(target, &facts).await.expect("admitted");
            let seen = Observation::response(Response::status(500), self.guard.now_ms());
            let verdict = admitted.classify(target, &seen);
            admitted.settle(verdict);
            self.guard.settled().await;
        }
    }

    async fn refusal(&self, target: &Target) -> Option<(RefusalReason, String)> {
        let answer = self.guard.admit(target, &CallFacts::default()).await;
        let refusal = answer.err()?;
        Some((refusal.reason, refusal.detail))
    }

    fn changes(&self) -> Vec<&'static str> {
        self.changes.lock().unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_instance_alone_opens_for_itself_and_two_open_for_all() {
    const TWO: &str = r#"{"breaker": {
        "failures": {"count": 3}, "failure-ratio": false, "quorum": {"instances": 2}
    }}"#;
    let server = RedisServer::start();
    let one = Instance::start(&server, "one", TWO).await;
    let two = Instance::start(&server, "two", TWO).await;
    let three = Instance::start(&server, "three", TWO).await;
    let target = Target::provider("geocoder");

    one.fail(&target, [1, 2, 3]).await;
    let (reason, detail) = one.refusal(&target).await.expect("open for itself");
    assert_eq!(reason, RefusalReason::Open);
    assert!(detail.contains("for this instance alone"), "{detail}");
    assert_eq!(one.changes(), ["its own"]);
    for other in [&two, &three] {
        assert_eq!(other.refusal(&target).await, None, "its network is its own");
        let state = fleet::state(&other.guard, &target).await;
        assert_eq!((state.phase, state.failures), (Phase::Closed, 3));
    }

    two.fail(&target, [4]).await;
    assert_eq!(two.changes(), ["the fleet's"]);
    // The first one has both, and names the one that is open for longer.
    let (reason, _) = one.refusal(&target).await.expect("open for all");
    assert_eq!(reason, RefusalReason::Open);
    for instance in [&two, &three] {
        let (reason, detail) = instance.refusal(&target).await.expect("open for all");
        assert_eq!(reason, RefusalReason::Open);
        assert!(!detail.contains("this instance"), "{detail}");
    }
    let facts = three.guard.explain("geocoder").await.expect("facts");
    assert_eq!((&*facts[0].subject, &*facts[0].value), ("phase", "open"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_poisonous_request_is_not_taken_for_many_failures() {
    const DISTINCT: &str = r#"{"breaker": {
        "failures": {"count": 3}, "failure-ratio": false, "quorum": {"fingerprints": 2}
    }}"#;
    let server = RedisServer::start();
    let one = Instance::start(&server, "one", DISTINCT).await;
    let two = Instance::start(&server, "two", DISTINCT).await;
    let target = Target::provider("geocoder");
    one.fail(&target, [7, 7, 7]).await;
    assert_eq!(one.changes(), ["its own"]);
    assert_eq!(two.refusal(&target).await, None);
    two.fail(&target, [8]).await;
    assert_eq!(two.changes(), ["the fleet's"], "the fingerprint is told");
}
