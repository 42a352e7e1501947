//! While the store is out of reach each instance has a breaker of its own, and what it finds by
//! itself it keeps to itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fusewire::guard::{CallFacts, Guard, Notice};
use fusewire::store::{MergedStore, Mode, RedisStore, Store, WatchedStore};
use fusewire_core::{
    Event, EventKind, Observation, OverrideMode, OverrideOrder, Phase, RefusalReason, Response,
    Target,
};
use fusewire_tests::fleet::{self, until};
use fusewire_tests::gateway::{get, header, metric, start};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::upstream::Upstream;
use serde_json::Value;

/// Opens after five failures, and is back in no time. Three providers, each with a word of its own on
/// what is done without the store.
const POLICY: &str = r#"{
    "breaker": {
        "failures": {"count": 5, "window": "60s"},
        "failure-ratio": false,
        "cool-down": {"first": "300ms", "jitter": 0},
        "probes": {"needed": 1, "lease": "1s"},
        "ramp": false
    },
    "providers": {
        "trusting": {"breaker": {"store-failure": "allow"}},
        "careful": {"breaker": {"store-failure": "deny"}}
    }
}"#;

/// One instance of a fleet, and what happened to it.
struct Instance {
    guard: Guard,
    events: Arc<Mutex<Vec<Event>>>,
    modes: Arc<Mutex<Vec<Mode>>>,
}

impl Instance {
    async fn start(server: &RedisServer, name: &str) -> Self {
        let redis = RedisStore::connect(&server.url()).await;
        let redis = Arc::new(redis.expect("a good URL"));
        let modes = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&modes);
        let on_change = move |mode, _: &str| told.lock().unwrap().push(mode);
        // As long as a busy machine may take for a round trip: this is not a test of the limit.
        let limit = Duration::from_millis(500);
        let watched = Arc::new(WatchedStore::observed(redis, limit, on_change));
        let store: Arc<dyn Store> = Arc::new(MergedStore::new(watched));
        until("the store is in use", async || {
            store.ping().wait().await.is_ok() && store.mode() == Mode::Shared
        })
        .await;
        modes.lock().unwrap().clear();
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&events);
        let guard = Guard::builder(fleet::engine(POLICY), store)
            .instance(name)
            .patience(Duration::from_secs(1))
            .observer(Arc::new(move |notice: &Notice<'_>| {
                if let Notice::Event(event) = notice {
                    heard.lock().unwrap().push((*event).clone());
                }
            }))
            .build();
        Self {
            guard,
            events,
            modes,
        }
    }

    /// Makes a call that is answered with this status; whether it was let through, and as what.
    async fn call(&self, target: &Target, status: u16) -> Result<bool, RefusalReason> {
        let admitted = self.guard.admit(target, &CallFacts::default()).await;
        let admitted = admitted.map_err(|refusal| refusal.reason)?;
        let is_probe = admitted.is_probe();
        let seen = Observation::response(Response::status(status), self.guard.now_ms());
        let verdict = admitted.classify(target, &seen);
        admitted.settle(verdict);
        self.guard.settled().await;
        Ok(is_probe)
    }

    /// Transitions of this instance's own breaker so far, and what became of probes.
    fn alone(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let word = |event: &Event| match &event.kind {
            EventKind::Alone(t) => Some(format!("{} -> {}: {}", t.before, t.after, t.rule)),
            EventKind::Probe(outcome) => Some(format!("probe {outcome}")),
            EventKind::Transition(t) => panic!("the fleet's breaker changed: {t:?}"),
            _ => None,
        };
        events.iter().filter_map(word).collect()
    }

    fn modes(&self) -> Vec<Mode> {
        self.modes.lock().unwrap().clone()
    }

    async fn is_shared(&self) {
        until("the store is in use again", async || {
            self.guard.store().mode() == Mode::Shared
        })
        .await;
    }
}

fn target() -> Target {
    Target::provider("geocoder")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_store_an_instances_own_breaker_opens_probes_and_closes() {
    let mut server = RedisServer::start();
    let instance = Instance::start(&server, "one").await;
    assert_eq!(instance.call(&target(), 200).await, Ok(false));
    server.kill();
    for n in 0..5 {
        assert_eq!(
            instance.call(&target(), 503).await,
            Ok(false),
            "failure {n}"
        );
    }
    let refusal = instance.guard.admit(&target(), &CallFacts::default()).await;
    let refusal = refusal.err().expect("it is open");
    assert_eq!(refusal.reason, RefusalReason::Open);
    assert!(
        refusal.detail.contains("for this instance alone"),
        "{refusal:?}"
    );

    // Its cool-down ends, a probe fails, another one passes.
    let probe = async |status| {
        until("the cool-down is over", async || {
            instance.call(&target(), status).await == Ok(true)
        })
        .await;
    };
    probe(503).await;
    assert_eq!(
        instance.call(&target(), 200).await,
        Err(RefusalReason::Open),
        "a probe failed"
    );
    probe(200).await;
    assert_eq!(
        instance.call(&target(), 200).await,
        Ok(false),
        "it is closed"
    );
    assert_eq!(
        instance.alone(),
        [
            "closed -> open: failures",
            "open -> half-open: cool-down-over",
            "probe failed",
            "half-open -> open: probe-failed",
            "open -> half-open: cool-down-over",
            "probe passed",
            "half-open -> closed: probes-passed",
        ]
    );
    assert_eq!(instance.modes(), [Mode::Down], "one event for all of that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_found_by_itself_is_not_written_over_the_fleets_record() {
    let server = RedisServer::start();
    let instance = Instance::start(&server, "one").await;
    for _ in 0..2 {
        assert_eq!(instance.call(&target(), 503).await, Ok(false));
    }
    // Somebody has given an order, so that there is a record.
    let order = OverrideOrder {
        mode: OverrideMode::Observe,
        enforce_percent: 100,
        who: "on-call".into(),
        why: "a drill".into(),
        until_ms: 0,
    };
    let ordered = instance.guard.order("geocoder", Some(order)).await;
    assert_eq!(ordered, Ok(()));
    let before = fleet::state(&instance.guard, &target()).await;
    assert_eq!(before.failures, 2);
    assert!(before.stored.is_some());

    server.pause();
    for _ in 0..5 {
        assert_eq!(instance.call(&target(), 503).await, Ok(false));
    }
    assert_eq!(
        instance.call(&target(), 200).await,
        Err(RefusalReason::Open),
        "open, for itself"
    );
    server.resume();
    instance.is_shared().await;
    // The fleet has the word again, and has not heard of anything.
    assert_eq!(instance.call(&target(), 200).await, Ok(false));
    let after = fleet::state(&instance.guard, &target()).await;
    assert_eq!(after.stored, before.stored);
    assert_eq!((after.phase, after.failures), (Phase::Closed, 2));
    assert_eq!(instance.alone(), ["closed -> open: failures"]);
    assert_eq!(
        instance.modes(),
        [Mode::Down, Mode::Shared],
        "one event each"
    );
    let other = Instance::start(&server, "other").await;
    assert_eq!(other.call(&target(), 200).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_remembers_its_own_finding_when_the_store_goes_again() {
    let server = RedisServer::start();
    let instance = Instance::start(&server, "one").await;
    server.pause();
    for _ in 0..3 {
        assert_eq!(instance.call(&target(), 503).await, Ok(false));
    }
    server.resume();
    instance.is_shared().await;
    server.pause();
    for _ in 0..2 {
        assert_eq!(instance.call(&target(), 503).await, Ok(false));
    }
    assert_eq!(
        instance.call(&target(), 200).await,
        Err(RefusalReason::Open),
        "five failures of its own within a minute"
    );
    server.resume();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_provider_has_its_own_word_on_what_is_done_without_the_store() {
    let mut server = RedisServer::start();
    let instance = Instance::start(&server, "one").await;
    let (trusting, careful) = (Target::provider("trusting"), Target::provider("careful"));
    for target in [&trusting, &careful] {
        assert_eq!(instance.call(target, 200).await, Ok(false));
    }
    server.kill();
    for _ in 0..20 {
        assert_eq!(instance.call(&trusting, 503).await, Ok(false), "allow");
        let refused = instance.call(&careful, 200).await;
        assert_eq!(refused, Err(RefusalReason::Store), "deny");
    }
    assert_eq!(
        instance.alone(),
        [""; 0],
        "neither has a breaker of its own"
    );
    assert_eq!(instance.modes(), [Mode::Down]);
    server.restart();
    instance.is_shared().await;
    assert_eq!(instance.call(&careful, 200).await, Ok(false));
    assert_eq!(instance.modes(), [Mode::Down, Mode::Shared]);
    let state = fleet::state(&instance.guard, &trusting).await;
    assert_eq!((state.phase, state.failures), (Phase::Closed, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_to_deny_without_its_store_answers_503_and_names_that_reason() {
    let mut server = RedisServer::start();
    let upstream = Upstream::start().await;
    let gateway = start(&format!(
        "[store]
url = \"{}\"
[policy]
breaker.store-failure = \"deny\"
[providers.p]
url = \"{}\"
[[routes]]
path = \"/\"
chain = [\"p\"]
",
        server.url(),
        upstream.url("/")
    ))
    .await;
    until("the store is in use", async || {
        get(&gateway, "/").await.status() == 200
    })
    .await;
    let asked = upstream.received().len();
    server.kill();
    until("the store's loss is noticed", async || {
        metric(&gateway, "fusewire_store_mode{mode=\"down\"}").await == Some(1)
            || get(&gateway, "/").await.status() == 503
    })
    .await;
    let answer = get(&gateway, "/").await;
    assert_eq!(answer.status(), 503);
    assert_eq!(header(&answer, "retry-after"), "1");
    assert_eq!(
        header(&answer, "fusewire-skipped"),
        "p;reason=store;retry-after=1"
    );
    let problem: Value = answer.json().await.expect("problem details");
    assert_eq!(problem["providers"][0]["reason"], "store");
    let asked_since = upstream.received().len() - asked;
    assert_eq!(asked_since, 0, "nobody was asked without the store");
    server.restart();
    until("the store is in use again", async || {
        get(&gateway, "/").await.status() == 200
    })
    .await;
}
