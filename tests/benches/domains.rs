//! What a domain costs a process that guards calls to many: bytes of memory, and time of a call.
//!
//! Each line is a process of its own kind with so many domains, each called once, with the limit
//! raised so that none goes; the last one has ten times as many domains called as may stay.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use fusewire::engine::NativeEngine;
use fusewire::guard::{CallFacts, Guard, Observer};
use fusewire::metrics::Metrics;
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{Observation, Response, Target};
use fusewire_fuzz::memory::{Counting, measured};
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const START_MS: u64 = 1_800_000_000_000;

/// What a process keeps of its domains.
#[derive(Clone, Copy)]
enum Kept {
    /// Records and counters: the fleet's store is elsewhere, and this the metrics' share.
    Series,
    /// No metrics: the store in memory.
    Counts,
    /// The store in memory, with a record of each domain as well.
    Records,
    /// All of it.
    Both,
}

struct Process {
    guard: Guard,
    metrics: Arc<Metrics>,
    runtime: Runtime,
    status: u16,
}

impl Process {
    fn new(kept: Kept, limit: usize) -> Self {
        let engine = NativeEngine::new(r#"{"breaker": {"failures": {"count": 1}}}"#);
        let engine = Arc::new(engine.expect("a good configuration"));
        let store_limit = match kept {
            // As good as none.
            Kept::Series => 10,
            _ => limit,
        };
        let store = MemoryStore::with_clock(Arc::new(|| START_MS));
        let store: Arc<dyn Store> = Arc::new(store.live_domains(store_limit));
        let metrics = Arc::new(Metrics::new(&[], Arc::clone(&store), None).live_domains(limit));
        let mut guard = Guard::builder(engine, store);
        if matches!(kept, Kept::Series | Kept::Both) {
            guard = guard.observer(Arc::clone(&metrics) as Arc<dyn Observer>);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self {
            guard: guard.build(),
            metrics,
            runtime: runtime.expect("a runtime"),
            status: if matches!(kept, Kept::Records) {
                500
            } else {
                200
            },
        }
    }

    fn call(&self, domains: Range<usize>) {
        self.runtime.block_on(async {
            for n in domains {
                let target = Target::provider(format!("tenant-{n:06}"));
                let facts = CallFacts::default();
                let admitted = self.guard.admit(&target, &facts).await.expect("admitted");
                let response = Response::status(self.status);
                let seen = Observation::response(response, START_MS);
                let verdict = admitted.classify(&target, &seen);
                admitted.settle(verdict);
            }
        });
    }
}

fn main() {
    println!(
        "{:<44}{:>9}{:>15}{:>12}{:>14}",
        "kept of each domain", "domains", "bytes/domain", "in all", "us/call"
    );
    for (what, kept) in [
        ("series of its own", Kept::Series),
        ("a counter in the store", Kept::Counts),
        ("a counter and a record, open", Kept::Records),
        ("series and a counter", Kept::Both),
    ] {
        for domains in [1_000, 10_000, 100_000] {
            line(what, kept, domains, domains);
        }
    }
    line(
        "series and a counter, of 10000 at a time",
        Kept::Both,
        10_000,
        100_000,
    );
    scrape();
}

fn line(what: &str, kept: Kept, limit: usize, domains: usize) {
    let process = Process::new(kept, limit);
    // What the first call brings by itself is no domain's.
    process.call(domains..domains + 1);
    let began = Instant::now();
    let ((), allocated) = measured(|| process.call(0..domains));
    let us = began.elapsed().as_secs_f64() * 1e6 / domains as f64;
    println!(
        "{what:<44}{domains:>9}{:>15}{:>9.1} MB{us:>14.2}",
        allocated.held / limit.min(domains),
        allocated.held as f64 / 1e6
    );
}

/// How long the text at `/metrics` takes, which holds up no call.
fn scrape() {
    let process = Process::new(Kept::Both, 10_000);
    process.call(0..10_000);
    let began = Instant::now();
    let (text, allocated) = measured(|| process.metrics.text());
    println!(
        "\n/metrics of 10000 domains: {:.1} MB of text in {:.1} ms, {:.1} MB held meanwhile",
        text.len() as f64 / 1e6,
        began.elapsed().as_secs_f64() * 1e3,
        allocated.held as f64 / 1e6
    );
}
