//! The second policy, `policy/throttle`: what an author outside of this repository can bring, in a
//! host that knows nothing of it.

use std::sync::Arc;
use std::time::Duration;

use fusewire::engine::{Answer, Call, ComponentEngine, Engine, Limits, LoadError, ask};
use fusewire::policy::rollout::options::{Canarying, Shadowing};
use fusewire::policy::rollout::{How, Options};
use fusewire::policy::{Artefact, LARGEST, Stage, Terms};
use fusewire::scenario::{Scenario, play, report};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, RedisStore, Reply, Store, StoreError, Tally, Window};
use fusewire_core::{
    Context, Decision, DomainState, Ending, Event, EventKind, Observation, OverrideError,
    OverrideMode, OverrideOrder, Permit, Phase, RefusalReason, Response, Target, Timing,
};
use fusewire_tests::attacked::Attacked;
use fusewire_tests::fleet::{settle_with, until};
use fusewire_tests::redis_server::RedisServer;
use fusewire_tests::scenarios::{scenarios, scenarios_in};

const FILE: &str = env!("FUSEWIRE_THROTTLE_WASM");
const PREFIX: &str = "fusewire";

/// The scenarios of the built-in policy that say nothing of a breaker: another policy keeps them
/// too.
const FITTING: [&str; 1] = ["a-name-that-is-not-valid-is-refused-for-good"];

fn throttle(configuration: &str) -> Result<ComponentEngine, LoadError> {
    ComponentEngine::from_file(FILE.as_ref(), configuration, Limits::default())
}

/// Plays scenarios in memory, on a late store and on a Redis, and answers what did not hold.
async fn complaints(scenarios: &[(String, Scenario)], redis: &Arc<dyn Store>) -> String {
    let policy = throttle("{}").unwrap();
    let mut complaints = String::new();
    for (name, scenario) in scenarios {
        // The prefix keeps the scenarios apart on the one Redis.
        let engine = match policy.with_configuration(&scenario.configuration(name)) {
            Ok(engine) => engine,
            Err(error) => {
                complaints += &format!("{name}: {error}\n");
                continue;
            }
        };
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let late: Arc<dyn Store> = Arc::new(Delayed::new(MemoryStore::new()));
        let stores = [
            ("in memory", memory),
            ("on a late store", late),
            ("on Redis", Arc::clone(redis)),
        ];
        let mut first: Option<(&str, String)> = None;
        for (way, store) in stores {
            let played = play(scenario, &engine, store, name).await;
            if !played.failures.is_empty() {
                complaints += &format!("{name} {way}:\n{}", report::failures(name, &played));
            }
            let (first_way, log) = first.get_or_insert_with(|| (way, played.log.clone()));
            let other = (way, played.log.as_str());
            if let Some(difference) = report::log_difference((*first_way, log), other) {
                complaints += &format!("{name}:\n{difference}");
            }
        }
    }
    complaints
}

async fn redis(server: &RedisServer) -> Arc<dyn Store> {
    Arc::new(RedisStore::connect(&server.url()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn its_scenarios_hold_with_the_same_log_in_memory_on_a_late_store_and_on_redis() {
    let server = RedisServer::start();
    let own = scenarios_in("policy/throttle/scenarios");
    assert!(own.len() >= 8, "{} scenarios", own.len());
    let complaints = complaints(&own, &redis(&server).await).await;
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_every_policy_promises_it_keeps_as_well() {
    let server = RedisServer::start();
    let fitting: Vec<(String, Scenario)> = scenarios()
        .into_iter()
        .filter(|(name, _)| FITTING.contains(&name.as_str()))
        .collect();
    assert_eq!(fitting.len(), FITTING.len());
    let complaints = complaints(&fitting, &redis(&server).await).await;
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn it_says_who_it_is_and_what_it_does_not_accept() {
    let description = throttle("{}").unwrap().describe().clone();
    assert_eq!(
        (description.name.as_str(), description.record_schema),
        ("throttle", 1)
    );
    let refused = throttle(r#"{"k": 0, "providers": {"p": {"breaker": {}}}}"#);
    let Err(LoadError::Configuration(problems)) = refused else {
        panic!("a wrong configuration was accepted");
    };
    let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, ["/k", "/providers/p/breaker"]);
}

/// A policy on a store, at moments and with random bits that the test chooses.
struct Fleet {
    engine: ComponentEngine,
    store: Arc<dyn Store>,
    target: Target,
}

impl Fleet {
    fn new(engine: ComponentEngine, store: &Arc<dyn Store>) -> Self {
        Self {
            engine,
            store: Arc::clone(store),
            target: Target::provider("geocoder"),
        }
    }

    async fn ask(&self, call: Call) -> Answer {
        let patience = Duration::from_secs(10);
        ask(&self.engine, &self.store, &PREFIX.into(), patience, &call)
            .await
            .unwrap()
    }

    async fn admit(&self, now_ms: u64, entropy: u64) -> (Decision, Vec<Event>) {
        let call = Call::Admit(self.target.clone(), Context::at(now_ms, entropy));
        match self.ask(call).await {
            Answer::Admission(admission) => (admission.decision, admission.events),
            other => panic!("{other:?}"),
        }
    }

    async fn settle(&self, permit: Permit, status: u16, now_ms: u64) -> Vec<Event> {
        let seen = Observation::response(Response::status(status), now_ms);
        let verdict = self.engine.classify(&self.target, &seen).unwrap();
        let context = Context::at(now_ms, 0);
        match self
            .ask(Call::Settle(
                permit,
                Ending::Judged(verdict),
                Timing::default(),
                context,
            ))
            .await
        {
            Answer::Settled(events) => events,
            other => panic!("{other:?}"),
        }
    }

    /// Makes calls that are all answered with this status, where they are let through.
    async fn call(&self, times: u64, status: u16, now_ms: u64) {
        for entropy in 0..times {
            if let (Decision::Allowed(permit), _) = self.admit(now_ms, entropy).await {
                self.settle(permit, status, now_ms).await;
            }
        }
    }

    async fn order(&self, mode: OverrideMode, now_ms: u64) {
        let order = OverrideOrder {
            mode,
            enforce_percent: 0,
            who: "kim".into(),
            why: "a test".into(),
            until_ms: 0,
        };
        let domain = self.target.provider.clone();
        let call = Call::Order(domain, Some(order), Context::at(now_ms, 0));
        assert!(matches!(self.ask(call).await, Answer::Ordered(Ok(_))));
    }

    async fn state(&self, now_ms: u64) -> DomainState {
        let call = Call::Inspect(self.target.clone(), Context::at(now_ms, 0));
        match self.ask(call).await {
            Answer::States(states) => states[0].clone(),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn about_k_times_as_many_calls_are_made_as_an_overloaded_provider_accepts() {
    // Twenty calls a second are wanted, and five a second are what the provider can do. What it
    // cannot do it turns away.
    const CALLS: u64 = 2_000;
    const EVERY_MS: u64 = 50;
    const ACCEPT_EVERY_MS: u64 = 200;
    const K: f64 = 2.0;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let configuration = format!(r#"{{"k": {K}, "window": "20s"}}"#);
    let fleet = Fleet::new(throttle(&configuration).unwrap(), &store);
    // By then the window has been filled twice over.
    let settled_from = CALLS / 2;
    let (mut free_from_ms, mut made, mut accepted) = (0, 0.0, 0.0);
    for number in 0..CALLS {
        let now_ms = 1_767_225_600_000 + number * EVERY_MS;
        let (Decision::Allowed(permit), _) = fleet.admit(now_ms, number).await else {
            continue;
        };
        let status = if now_ms >= free_from_ms {
            free_from_ms = now_ms + ACCEPT_EVERY_MS;
            200
        } else {
            503
        };
        fleet.settle(permit, status, now_ms).await;
        if number >= settled_from {
            made += 1.0;
            accepted += if status == 200 { 1.0 } else { 0.0 };
        }
    }
    // The chance of each call is (1 + K * accepts) / (requests + 1), so of n calls K * accepts are
    // made, give or take what chance does to n draws: four standard deviations of it.
    let n = (CALLS - settled_from) as f64;
    let share = K * accepted / n;
    let bound = 4.0 * (n * share * (1.0 - share)).sqrt();
    let expected = K * accepted;
    assert!(
        (made - expected).abs() <= bound,
        "{made} calls were made and {accepted} accepted: not within {bound:.0} of {expected}"
    );
    // And nothing of that is trivial: the provider was busy, and calls were refused.
    assert!(accepted > 100.0 && made < 0.75 * n, "{made}, {accepted}");
}

#[tokio::test]
async fn it_takes_the_place_of_the_built_in_policy_and_gives_it_back_with_neither_forgetting() {
    let now_ms = 1_767_225_600_000;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let built_in = Fleet::new(ComponentEngine::built_in("{}").unwrap(), &store);
    let second = Fleet::new(throttle("{}").unwrap(), &store);

    built_in.call(5, 503, now_ms).await;
    built_in.order(OverrideMode::Observe, now_ms).await;
    let opened = built_in.state(now_ms + 1).await;
    assert_eq!((opened.phase, opened.failures), (Phase::Open, 5));

    // The second begins with what it knows itself, which is nothing.
    let fresh = second.state(now_ms + 1).await;
    assert_eq!(
        (fresh.phase, fresh.failures, fresh.order),
        (Phase::Closed, 0, None)
    );
    second.call(12, 503, now_ms + 1).await;
    let throttled = second.state(now_ms + 2).await;
    assert_eq!(throttled.phase, Phase::HalfOpen);

    // Back: the first finds its record, its order and its counts as they were.
    assert_eq!(built_in.state(now_ms + 1).await, opened);
    built_in.order(OverrideMode::Open, now_ms + 2).await;
    assert_eq!(second.state(now_ms + 2).await, throttled);

    // A permit of the one is nothing to the other.
    let permit = |token: &str| Permit {
        target: Target::provider("geocoder"),
        probe: false,
        token: token.into(),
    };
    for (fleet, foreign) in [(&built_in, "counted"), (&second, "c:0")] {
        let events = fleet.settle(permit(foreign), 503, now_ms + 2).await;
        assert!(
            matches!(
                events[..],
                [Event {
                    kind: EventKind::Ignored(_),
                    ..
                }]
            ),
            "{events:?}"
        );
    }
    assert_eq!(second.state(now_ms + 2).await, throttled);
}

#[tokio::test]
async fn an_order_that_a_newer_version_gave_is_obeyed_and_left_alone() {
    let now_ms = 1_767_225_600_000;
    let memory = MemoryStore::new();
    let newer = br#"{"schema":2,"mode":"open","who":"kim","why":"maintenance","share":0.5}"#;
    let key = "fusewire:o:{geocoder}".to_owned();
    let put = memory.swap(key.clone(), None, Some(newer.to_vec()), 0);
    assert_eq!(put.wait().await, Ok(true));
    let store: Arc<dyn Store> = Arc::new(memory);
    let fleet = Fleet::new(throttle("{}").unwrap(), &store);

    let (decision, _) = fleet.admit(now_ms, 0).await;
    assert!(
        matches!(&decision, Decision::Refused(refusal) if refusal.reason == RefusalReason::Override),
        "{decision:?}"
    );
    let call = Call::Order("geocoder".into(), None, Context::at(now_ms, 0));
    let Answer::Ordered(Err(OverrideError::Invalid(why))) = fleet.ask(call).await else {
        panic!("the order was replaced");
    };
    assert!(why.contains("newer"), "{why}");
    let kept = store.get(vec![key]).wait().await.unwrap();
    assert_eq!(kept, [Some(newer.to_vec())]);
}

/// A store that reads, and refuses whatever is to be added.
struct ReadsOnly(MemoryStore);

impl Store for ReadsOnly {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.0.get(keys)
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.0.swap(key, expected, replacement, ttl_ms)
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        if windows.iter().all(|window| window.add.is_empty()) {
            self.0.count(windows)
        } else {
            Reply::Ready(Err(StoreError::Refused("not today".into())))
        }
    }

    fn ping(&self) -> Reply<()> {
        self.0.ping()
    }

    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
}

#[tokio::test]
async fn a_refusal_that_cannot_be_counted_is_still_one_and_says_so() {
    let now_ms = 1_767_225_600_000;
    let inner = MemoryStore::new();
    let failures = Window {
        key: "fusewire:t:{geocoder}".into(),
        epoch: 0,
        bucket: now_ms,
        add: vec![fusewire::store::Lane {
            name: "failed".into(),
            amount: 1_000,
        }],
        since: 0,
        ttl_ms: 60_000,
    };
    inner.count(vec![failures]).wait().await.unwrap();
    let store: Arc<dyn Store> = Arc::new(ReadsOnly(inner));
    let fleet = Fleet::new(throttle("{}").unwrap(), &store);
    let (decision, events) = fleet.admit(now_ms, 10).await;
    let Decision::Refused(refusal) = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(refusal.reason, RefusalReason::Ramp);
    assert_eq!(
        refusal.detail,
        "throttled: of 1000 calls in 120 s 0 were accepted, so 95 of 100 are refused for now"
    );
    let [event] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(event.domain, "geocoder");
    assert!(matches!(&event.kind, EventKind::Store(why) if why.contains("not today")));
}

/// A policy of another kind gives permits that the serving one does not know, and the other way round:
/// that alone is no difference.
#[tokio::test]
async fn it_takes_the_place_of_the_built_in_policy_through_every_stage_under_traffic_and_goes_again()
 {
    let configuration = "{}";
    let options = Options {
        terms: Terms {
            configuration: configuration.into(),
            ..Terms::default()
        },
        shadow: Shadowing {
            share: 1.0,
            span: Duration::from_millis(100),
            differences: 0.0,
            ..Shadowing::default()
        },
        canary: Canarying {
            share: 0.5,
            span: Duration::from_millis(100),
        },
        ..Options::default()
    };
    let Attacked { guard, rollout } = Attacked::start(options, Arc::new(MemoryStore::new())).await;
    let throttle = Artefact::read(FILE.as_ref(), LARGEST).expect("the policy");
    for next in [throttle, Artefact::built_in()] {
        let digest = next.digest();
        rollout.offer(next, How::Staged);
        let mut n = 0;
        until("it serves", async || {
            n += 1;
            settle_with(&guard, &Target::provider(format!("p{}", n % 20)), 200).await;
            let status = rollout.status();
            assert_eq!(status.refused, None);
            status.serving.digest == digest
        })
        .await;
        let stages = rollout.status().serving.evidence.len();
        assert_eq!(stages, Stage::ALL.len());
    }
}
