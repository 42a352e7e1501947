//! Two versions of the policy, with different record schemas, on one store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fusewire::engine::{ComponentEngine, Engine, Limits};
use fusewire::guard::{Admitted, CallFacts, Guard};
use fusewire::store::{MemoryStore, Store};
use fusewire_core::{DomainState, Refusal, Target};
use serde_json::Value;

use crate::fleet::{self, until};
use crate::redis_server::RedisServer;

/// The policy with record schema 2.
pub const AHEAD: &[u8] = include_bytes!(env!("FUSEWIRE_AHEAD_POLICY_WASM"));

/// What both are configured with: times that a test with a real clock can wait for.
pub const CONFIGURATION: &str = r#"{
    "breaker": {
        "failures": {"count": 3, "window": "60s"},
        "cool-down": {"first": "700ms", "jitter": 0},
        "probes": {"needed": 1, "lease": "1s"},
        "ramp": false
    }
}"#;

/// The record schemas, the present one first.
pub const SCHEMAS: [u32; 2] = [1, 2];

/// A clock that the test moves.
#[derive(Clone)]
pub struct HandClock(Arc<AtomicU64>);

impl Default for HandClock {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1_700_000_000_000)))
    }
}

impl HandClock {
    /// Lets the time come.
    pub fn comes(&self, at_ms: u64) {
        self.0.fetch_max(at_ms, Ordering::Relaxed);
    }

    /// An empty store on this clock.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        let clock = Arc::clone(&self.0);
        let now = move || clock.load(Ordering::Relaxed);
        Arc::new(MemoryStore::with_clock(Arc::new(now)))
    }
}

/// Two hosts on one store, one with each version.
pub struct Versions {
    old: Guard,
    new: Guard,
    /// `None`: the clock is real.
    clock: Option<HandClock>,
    /// What they call.
    pub target: Target,
    _server: Option<RedisServer>,
}

impl Versions {
    /// In memory, with a clock that the test moves.
    #[must_use]
    pub fn in_memory() -> Self {
        let clock = HandClock::default();
        let store = clock.store();
        Self::on([Arc::clone(&store), store], Some(clock), None)
    }

    /// On a real Redis, each with a connection of its own.
    pub async fn on_redis() -> Self {
        let server = RedisServer::start();
        let url = server.url();
        let stores = [fleet::redis(&url).await, fleet::redis(&url).await];
        Self::on(stores, None, Some(server))
    }

    fn on(
        stores: [Arc<dyn Store>; 2],
        clock: Option<HandClock>,
        server: Option<RedisServer>,
    ) -> Self {
        let [old, new] = stores;
        let guard = |engine: ComponentEngine, store, name: &str| {
            Guard::builder(Arc::new(engine), store)
                .instance(name)
                .patience(std::time::Duration::from_secs(1))
                .build()
        };
        let ahead = ComponentEngine::from_bytes(AHEAD, CONFIGURATION, Limits::default());
        let ahead = ahead.expect("the newer policy loads");
        let present = ComponentEngine::built_in(CONFIGURATION).expect("the policy loads");
        let schemas = [&present, &ahead].map(|engine| engine.describe().record_schema);
        assert_eq!(schemas, SCHEMAS);
        Self {
            old: guard(present, old, "old"),
            new: guard(ahead, new, "new"),
            clock,
            target: Target::provider("geocoder"),
            _server: server,
        }
    }

    /// The host whose policy writes this schema.
    #[must_use]
    pub fn of(&self, schema: u32) -> &Guard {
        match schema {
            1 => &self.old,
            _ => &self.new,
        }
    }

    /// Whether the test moves the clock.
    #[must_use]
    pub fn is_by_hand(&self) -> bool {
        self.clock.is_some()
    }

    /// Lets the time come, on the store's clock.
    pub async fn comes(&self, at_ms: u64) {
        match &self.clock {
            Some(clock) => clock.comes(at_ms),
            None => {
                until("the time comes", async || {
                    self.old.now_ms().min(self.new.now_ms()) >= at_ms
                })
                .await;
            }
        }
    }

    /// Asks whether a call may be made.
    ///
    /// # Errors
    /// It may not.
    pub async fn admit(&self, schema: u32) -> Result<Admitted, Refusal> {
        let guard = self.of(schema);
        guard.admit(&self.target, &CallFacts::default()).await
    }

    /// When a call that is refused now may be asked for again, in ms on the fleet's clock.
    ///
    /// # Panics
    /// It is let through.
    pub async fn refused_until(&self, schema: u32) -> u64 {
        let now = self.of(schema).now_ms();
        let refusal = self.admit(schema).await.err().expect("refused");
        now + refusal.retry_after_ms
    }

    /// The breaker as this version sees it.
    pub async fn state(&self, schema: u32) -> DomainState {
        fleet::state(self.of(schema), &self.target).await
    }

    /// A field of the record as it is stored; null where there is none.
    ///
    /// # Panics
    /// There is no record.
    pub async fn stored(&self, field: &str) -> Value {
        let stored = self.state(1).await.stored.expect("a record");
        let record: Value = serde_json::from_str(&stored).expect("a JSON text");
        record[field].clone()
    }
}
