//! A process that guards calls to domains without end (tenants, layers, accounts as they come) does
//! not grow without end, and forgets none that is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fusewire::engine::{Engine, NativeEngine};
use fusewire::guard::{CallFacts, Guard, Observer};
use fusewire::live::LIVE_DOMAINS;
use fusewire::metrics::Metrics;
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{
    Observation, OverrideMode, OverrideOrder, Phase, RefusalReason, Response, Target,
};
use fusewire_fuzz::memory::{Counting, measured};
use fusewire_tests::fleet;
use fusewire_tests::memory::resident_kib;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DOMAINS: usize = 100_000;
const START_MS: u64 = 1_800_000_000_000;
/// How long a call takes on the store's clock: short, so that it is the limit that lets domains go,
/// and not their time.
const CALL_MS: u64 = 1;

/// Opens on the first failure, for an hour.
const TOUCHY: &str = r#"{
    "breaker": {"failures": {"count": 1}, "cool-down": {"first": "1h", "max": "1h", "jitter": 0}}
}"#;

/// The most that is held at any moment of two moves to other domains, beyond what was held before
/// them. Tables may double once more, before they clear up after names that came and went; but the
/// names alone of 200,000 domains, if they were kept, would take 8 MB.
const MARGIN_BYTES: usize = 3 << 20;
/// As the system sees it: the allocator keeps some of what it was given back.
const MARGIN_KIB: u64 = 8 << 10;

/// A process that guards calls, with metrics, on a store in memory.
struct Process {
    guard: Guard,
    store: Arc<MemoryStore>,
    metrics: Arc<Metrics>,
    hand: Arc<AtomicU64>,
    runtime: Runtime,
}

impl Process {
    fn new(engine: Arc<dyn Engine>, live_domains: usize) -> Self {
        let hand = Arc::new(AtomicU64::new(START_MS));
        let clock = Arc::clone(&hand);
        let store = MemoryStore::with_clock(Arc::new(move || clock.load(Ordering::Relaxed)));
        let store = Arc::new(store.live_domains(live_domains));
        let metrics = Metrics::new(&[], Arc::clone(&store) as Arc<dyn Store>, None);
        let metrics = Arc::new(metrics.live_domains(live_domains));
        let guard = Guard::builder(engine, Arc::clone(&store) as Arc<dyn Store>)
            .observer(Arc::clone(&metrics) as Arc<dyn Observer>)
            .build();
        let runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            guard,
            store,
            metrics,
            hand,
            runtime: { runtime }.build().expect("a runtime"),
        }
    }

    /// A call that is answered with this status.
    async fn call(&self, target: &Target, status: u16) {
        let facts = CallFacts::default();
        let admitted = self.guard.admit(target, &facts).await.expect("admitted");
        let seen = Observation::response(Response::status(status), self.guard.now_ms());
        let verdict = admitted.classify(target, &seen);
        admitted.settle(verdict);
    }

    /// A call each to so many domains, of which no round has any of another's.
    fn move_on(&self, round: usize, domains: usize) {
        self.runtime.block_on(async {
            for n in 0..domains {
                self.hand.fetch_add(CALL_MS, Ordering::Relaxed);
                self.call(&target(round, n), 200).await;
            }
        });
    }

    fn phase(&self, domain: &str, phase: Phase) -> bool {
        let phase = phase.name();
        let series = format!("fusewire_domain_phase{{domain=\"{domain}\",phase=\"{phase}\"}} 1\n");
        self.metrics.text().contains(&series)
    }

    fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.text();
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        let value = value.unwrap_or_else(|| panic!("{name} is not there"));
        value.trim().parse().expect("a number")
    }
}

/// A provider by itself, or one of many layers of one provider.
fn target(round: usize, n: usize) -> Target {
    match n % 2 {
        0 => Target::provider(format!("tenant-{round}-{n}")),
        _ => Target {
            operation: Some(format!("layer-{round}-{n}")),
            ..Target::provider("maps")
        },
    }
}

fn native() -> Arc<dyn Engine> {
    Arc::new(NativeEngine::new(TOUCHY).expect("a good configuration"))
}

#[test]
fn memory_is_flat_when_traffic_moves_on_to_other_domains_and_open_ones_stay_open() {
    let process = Process::new(native(), LIVE_DOMAINS);
    let open: Vec<Target> = (0..20)
        .map(|n| Target::provider(format!("ill-{n}")))
        .collect();
    process.runtime.block_on(async {
        for target in &open {
            process.call(target, 500).await;
        }
    });

    let ((), first) = measured(|| process.move_on(1, DOMAINS));
    println!(
        "{DOMAINS} domains, of which {LIVE_DOMAINS} are live: {} bytes for each of these",
        first.held / LIVE_DOMAINS
    );
    let resident = resident_kib();
    let ((), moved) = measured(|| {
        for round in 2..=3 {
            process.move_on(round, DOMAINS);
            assert_eq!(process.store.domains(), LIVE_DOMAINS);
        }
    });
    let grown = resident_kib().saturating_sub(resident);
    println!(
        "{DOMAINS} others, and again: {} bytes more at the most, {grown} KiB more resident",
        moved.held
    );
    assert!(moved.held <= MARGIN_BYTES, "{} bytes more", moved.held);
    assert!(grown <= MARGIN_KIB, "{grown} KiB more");

    for target in &open {
        let facts = CallFacts::default();
        let refused = process
            .runtime
            .block_on(process.guard.admit(target, &facts));
        let refusal = refused.err().expect("it is open still");
        assert_eq!(refusal.reason, RefusalReason::Open);
        assert!(process.phase(&target.provider, Phase::Open));
    }
}

#[test]
fn a_domain_has_all_of_its_series_or_none_and_what_went_is_counted() {
    let process = Process::new(native(), 100);
    process.move_on(1, 1_000);
    // All of these and `maps`.
    assert_eq!(process.metric("fusewire_domains_live"), 100);
    assert_eq!(process.metric("fusewire_domains_limit"), 100);
    assert_eq!(process.metric("fusewire_domains_evicted_total"), 901);
    assert_eq!(process.metric("fusewire_domains_left_out_total"), 0);
    let text = process.metrics.text();
    let of = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    assert_eq!(of("fusewire_domain_phase{"), 300);
    // What was called last is there in full, and what was called long ago not at all.
    assert_eq!(of("\"tenant-1-998\""), 4, "three phases, and one count");
    assert_eq!(
        of("\"maps/layer-1-999\""),
        3,
        "a layer's attempts are its provider's"
    );
    assert_eq!(of("\"tenant-1-0\""), 0);
    assert_eq!(of("\"maps\""), 4, "what is in use stays");
    assert!(text.contains(
        "fusewire_attempts_total{provider=\"maps\",outcome=\"success\",effect=\"success\"} 500\n"
    ));
}

#[test]
fn a_counter_begins_again_where_a_domain_comes_back_that_was_gone() {
    let process = Process::new(native(), 100);
    let target = Target::provider("p");
    let attempts = "fusewire_attempts_total{provider=\"p\",outcome=\"success\",effect=\"success\"}";
    process.runtime.block_on(process.call(&target, 200));
    process.runtime.block_on(process.call(&target, 200));
    assert_eq!(process.metric(attempts), 2);
    process.move_on(1, 300);
    assert!(!process.metrics.text().contains("\"p\""));
    process.runtime.block_on(process.call(&target, 200));
    assert_eq!(process.metric(attempts), 1);
}

#[test]
fn where_every_domain_is_open_the_next_one_is_guarded_all_the_same_and_has_no_series() {
    let process = Process::new(native(), 100);
    process.runtime.block_on(async {
        for n in 0..150 {
            process
                .call(&Target::provider(format!("ill-{n}")), 500)
                .await;
        }
    });
    assert_eq!(process.metric("fusewire_domains_live"), 100);
    // Each is told of twice: what came of the attempt, and that it has opened.
    assert_eq!(process.metric("fusewire_domains_left_out_total"), 100);
    let states = process.runtime.block_on(async {
        let mut states = Vec::new();
        for n in 0..150 {
            let target = Target::provider(format!("ill-{n}"));
            states.push(fleet::state(&process.guard, &target).await.phase);
        }
        states
    });
    assert!(
        states.iter().all(|phase| *phase == Phase::Open),
        "{states:?}"
    );
    assert!(process.phase("ill-99", Phase::Open));
    assert!(!process.metrics.text().contains("\"ill-100\""));
}

#[test]
fn an_order_keeps_a_domain_until_it_is_cleared_or_over() {
    let process = Process::new(native(), 100);
    let order = |until_ms| OverrideOrder {
        mode: OverrideMode::Closed,
        who: "on-call".into(),
        why: "the provider says that it is well".into(),
        until_ms,
        enforce_percent: 0,
    };
    process.runtime.block_on(async {
        for (domain, until_ms) in [("ordered", 0), ("for-a-while", START_MS + 6_000)] {
            let order = Some(order(until_ms));
            process.guard.order(domain, order).await.expect("ordered");
        }
        process.metrics.look(&process.guard, &[]).await;
    });
    process.move_on(1, 1_000);
    assert!(process.phase("ordered", Phase::Closed));
    assert!(process.phase("for-a-while", Phase::Closed));
    // A second each: the second order is over.
    for round in 2..=7 {
        process.move_on(round, 1_000);
    }
    let order_of = |domain: &str| {
        let target = Target::provider(domain);
        let state = process
            .runtime
            .block_on(fleet::state(&process.guard, &target));
        state.order
    };
    assert_eq!(order_of("ordered"), Some(order(0)));
    assert!(process.phase("ordered", Phase::Closed));
    process.runtime.block_on(async {
        process.guard.order("ordered", None).await.expect("cleared");
        process.metrics.look(&process.guard, &[]).await;
    });
    process.move_on(8, 1_000);
    let text = process.metrics.text();
    assert!(!text.contains("\"ordered\""), "it was cleared");
    assert!(!text.contains("\"for-a-while\""), "it is over");
}

#[test]
fn an_opening_whose_time_is_over_is_seen_at_a_look_and_keeps_nothing_any_more() {
    let process = Process::new(native(), 100);
    process.runtime.block_on(async {
        process.call(&Target::provider("ill"), 500).await;
    });
    assert!(process.phase("ill", Phase::Open));
    let look = || {
        process
            .runtime
            .block_on(process.metrics.look(&process.guard, &[]))
    };
    // The cool-down, and then the time after which nothing stays open for want of traffic.
    process.hand.fetch_add(3_600_000, Ordering::Relaxed);
    look();
    assert!(process.phase("ill", Phase::HalfOpen));
    process.hand.fetch_add(30 * 86_400_000, Ordering::Relaxed);
    look();
    assert!(process.phase("ill", Phase::Closed));
    process.move_on(1, 1_000);
    assert!(!process.metrics.text().contains("\"ill\""));
}

#[test]
fn what_the_component_keeps_of_targets_has_a_limit_too() {
    let process = Process::new(fleet::engine(TOUCHY), 1_000);
    process.move_on(1, 5_000);
    let ((), moved) = measured(|| process.move_on(2, 5_000));
    println!(
        "the component, 5000 others: {} bytes more at the most",
        moved.held
    );
    assert!(moved.held <= MARGIN_BYTES / 3, "{} bytes more", moved.held);
}
