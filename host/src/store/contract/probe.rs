//! What the promises are tested with: a store, fresh keys, and short ways to ask.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::store::{Lane, Store, StoreError, Tally, Window};

/// A lifetime that does not end during a test, in ms; and after it, nothing is left behind.
pub(super) const LONG_MS: u64 = 60_000;
/// A lifetime that a test waits for, in ms.
pub(super) const SHORT_MS: u64 = 150;
/// How long after its end a lifetime must be seen to be over. It is at once; but a test's own
/// thread may be kept waiting on a busy machine.
const GRACE: Duration = Duration::from_secs(3);
/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Ends the test with a text, unless the condition holds.
macro_rules! require {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

/// Ends the test unless both are equal: what was seen, what was promised, and after what.
macro_rules! require_eq {
    ($seen:expr, $promised:expr, $($after:tt)+) => {{
        let (seen, promised) = (&$seen, &$promised);
        if seen != promised {
            let after = format!($($after)+);
            return Err(format!("{after}: {seen:?} instead of {promised:?}"));
        }
    }};
}

pub(super) use {require, require_eq};

/// A store, seen by one test.
#[derive(Clone)]
pub(super) struct Probe {
    store: Arc<dyn Store>,
    prefix: String,
}

impl Probe {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        // Random enough to be alone: the standard library seeds its hash maps with it.
        let fresh = RandomState::new().hash_one(0);
        // One hash tag, so that a test's keys share a slot where that matters.
        let prefix = format!("fusewire:contract:{{{fresh:016x}}}");
        Self { store, prefix }
    }

    /// A key of this test's own.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The values under these keys of this test.
    pub(super) async fn gets(&self, names: &[&str]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let keys = names.iter().map(|name| self.key(name)).collect();
        let answer = self.store.get(keys).wait().await;
        answer.map_err(|error| format!("get {names:?}: {error}"))
    }

    /// The value under this key, as the store answers.
    pub(super) async fn try_get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let answer = self.store.get(vec![self.key(name)]).wait().await?;
        match <[_; 1]>::try_from(answer) {
            Ok([value]) => Ok(value),
            Err(values) => {
                let why = format!("{} values were answered for one key", values.len());
                Err(StoreError::Refused(why))
            }
        }
    }

    pub(super) async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let answer = self.try_get(name).await;
        answer.map_err(|error| format!("get {name:?}: {error}"))
    }

    pub(super) async fn try_swap(
        &self,
        name: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, StoreError> {
        let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        self.store
            .swap(self.key(name), own(expected), own(replacement), ttl_ms)
            .wait()
            .await
    }

    pub(super) async fn swap(
        &self,
        name: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, String> {
        let answer = self.try_swap(name, expected, replacement, ttl_ms).await;
        answer.map_err(|error| format!("swap {name:?}: {error}"))
    }

    /// Puts a value under a key that is absent.
    pub(super) async fn put(&self, name: &str, value: &[u8], ttl_ms: u64) -> Result<(), String> {
        let put = self.swap(name, None, Some(value), ttl_ms).await?;
        require!(put, "a value was not put under the absent key {name:?}");
        Ok(())
    }

    pub(super) async fn counts(&self, windows: Vec<Window>) -> Result<Vec<Tally>, StoreError> {
        let asked = windows.len();
        let mut tallies = self.store.count(windows).wait().await?;
        if tallies.len() != asked {
            let why = format!("{} tallies for {asked} windows", tallies.len());
            return Err(StoreError::Refused(why));
        }
        // Lanes that are zero may be left out, so they always are here.
        for tally in &mut tallies {
            tally.lanes.retain(|lane| lane.amount > 0);
        }
        Ok(tallies)
    }

    pub(super) async fn try_count(&self, window: Window) -> Result<Tally, StoreError> {
        self.counts(vec![window])
            .await
            .map(|mut tallies| tallies.pop().unwrap_or_default())
    }

    pub(super) async fn count(&self, window: Window) -> Result<Tally, String> {
        let what = format!("count {window:?}");
        let answer = self.try_count(window).await;
        answer.map_err(|error| format!("{what}: {error}"))
    }

    /// A window of epoch 1 on this key that only reads all buckets.
    pub(super) fn window(&self, name: &str) -> Window {
        Window {
            key: self.key(name),
            epoch: 1,
            bucket: 0,
            add: Vec::new(),
            since: 0,
            ttl_ms: LONG_MS,
        }
    }

    /// A window of epoch 1 on this key that adds to this bucket, and counts all.
    pub(super) fn adding(&self, name: &str, bucket: u64, add: &[(&str, u64)]) -> Window {
        Window {
            bucket,
            add: lanes(add),
            ..self.window(name)
        }
    }
}

/// Lanes with these names and amounts.
pub(super) fn lanes(lanes: &[(&str, u64)]) -> Vec<Lane> {
    lanes
        .iter()
        .map(|&(name, amount)| Lane {
            name: name.to_owned(),
            amount,
        })
        .collect()
}

/// A tally of this epoch with these lanes.
pub(super) fn tally(epoch: u64, with: &[(&str, u64)]) -> Tally {
    let lanes = lanes(with);
    Tally { epoch, lanes }
}

/// A lifetime that began no earlier than `began`.
pub(super) struct Lifetime {
    began: Instant,
    span: Duration,
}

impl Lifetime {
    /// A lifetime of so many ms that begins with an operation that is still to come.
    pub(super) fn of(ms: u64) -> Self {
        Self {
            began: Instant::now(),
            span: Duration::from_millis(ms),
        }
    }

    /// Whether to look again, a moment from now: where what lives is seen to be `alive`. Neither
    /// may it end too early nor never.
    pub(super) async fn lasts(&self, alive: bool) -> Result<bool, String> {
        // A store may count in whole ms, on a clock whose rate is a little off.
        let least = self.span.saturating_sub(Duration::from_millis(5));
        let (span, after) = (self.span, self.began.elapsed());
        if alive {
            require!(
                after < span + GRACE,
                "{span:?} were not over after {after:?}"
            );
            sleep(LOOK_EVERY).await;
        } else {
            require!(after >= least, "{span:?} were over after {after:?}");
        }
        Ok(alive)
    }

    /// Waits until well past its end.
    pub(super) async fn past(&self) {
        tokio::time::sleep_until(self.began + 2 * self.span).await;
    }
}
