//! A time limit, and a breaker of its own, around any store: a store never decides by being slow.
//!
//! Each operation has one short limit. The first that exceeds it, or finds the store out of
//! reach, takes the store out of use: from then on operations are answered
//! [`StoreError::Unavailable`] at once, without asking. In the background the store is pinged, and
//! it is in use again when it has answered a ping within the limit. Nothing else brings it back:
//! an answer that comes late tells that the store was alive, not that it is.
//!
//! What a store refuses is an answer and says nothing against it.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::{Reply, Store, StoreError, Tally, Window};

/// The first ping after the store went out of use. Soon, as most failures are a moment's.
const PING_FIRST: Duration = Duration::from_millis(20);
/// The pause before the second ping, and what it doubles up to: the latter is also how long a
/// store may be back before it is noticed.
const PING_PAUSE: Duration = Duration::from_millis(100);
const PING_PAUSE_MAX: Duration = Duration::from_millis(500);
/// A store that fails again this soon after it came back is pinged as if it had not been: one that
/// answers pings and nothing else would change mode fifty times a second.
const SETTLED: Duration = Duration::from_secs(5);

/// Whether a store is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It answers, and the fleet decides together.
    Shared,
    /// It does not, and each host decides by itself.
    Down,
}

impl Mode {
    /// The mode's name, for logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Down => "down",
        }
    }
}

/// What has happened to a watched store since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchStats {
    /// Operations that exceeded the limit, or found the store out of reach.
    pub errors: u64,
    /// Operations that were answered without asking, while the store was out of use.
    pub spared: u64,
    /// Changes of mode, in either direction.
    pub mode_changes: u64,
}

/// A store within a time limit. See the [module](self).
pub struct WatchedStore {
    watch: Arc<Watch>,
    pinger: AbortHandle,
}

impl WatchedStore {
    /// Watches a store: each operation may take as long as `limit`.
    ///
    /// # Panics
    /// Outside of a tokio runtime, on which it pings.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, limit: Duration) -> Self {
        Self::observed(inner, limit, |_, _| {})
    }

    /// As [`Self::new`], and tells `on_change` of each change of mode: the new mode, and why.
    /// The changes are told one after the other, from a background task, which must not be
    /// blocked.
    ///
    /// # Panics
    /// Outside of a tokio runtime, on which it pings.
    #[must_use]
    pub fn observed(
        inner: Arc<dyn Store>,
        limit: Duration,
        on_change: impl Fn(Mode, &str) + Send + Sync + 'static,
    ) -> Self {
        let watch = Arc::new(Watch {
            inner,
            limit,
            state: Mutex::default(),
            went_down: Notify::new(),
            errors: AtomicU64::new(0),
            spared: AtomicU64::new(0),
        });
        let task = Arc::clone(&watch).bring_back(on_change);
        let pinger = tokio::spawn(task).abort_handle();
        Self { watch, pinger }
    }

    /// What has happened so far.
    #[must_use]
    pub fn stats(&self) -> WatchStats {
        WatchStats {
            errors: self.watch.errors.load(Ordering::Relaxed),
            spared: self.watch.spared.load(Ordering::Relaxed),
            mode_changes: self.watch.state().changes,
        }
    }
}

impl Drop for WatchedStore {
    fn drop(&mut self) {
        self.pinger.abort();
    }
}

impl Store for WatchedStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.watch.perform(|inner| inner.get(keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.watch
            .perform(|inner| inner.swap(key, expected, replacement, ttl_ms))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.watch.perform(|inner| inner.count(windows))
    }

    fn ping(&self) -> Reply<()> {
        self.watch.perform(|inner| inner.ping())
    }

    fn now_ms(&self) -> u64 {
        self.watch.inner.now_ms()
    }

    fn clock_ahead_us(&self) -> Option<i64> {
        self.watch.inner.clock_ahead_us()
    }

    fn mode(&self) -> Mode {
        self.watch.state().mode()
    }
}

#[derive(Default)]
struct State {
    /// Why the store is out of use; none while it is in use.
    down: Option<String>,
    changes: u64,
}

impl State {
    fn mode(&self) -> Mode {
        match self.down {
            None => Mode::Shared,
            Some(_) => Mode::Down,
        }
    }
}

struct Watch {
    inner: Arc<dyn Store>,
    limit: Duration,
    /// Held for a few instructions at a time.
    state: Mutex<State>,
    went_down: Notify,
    errors: AtomicU64,
    spared: AtomicU64,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs an operation within the limit, where the store is in use.
    fn perform<T: Send + 'static>(
        self: &Arc<Self>,
        operation: impl FnOnce(&dyn Store) -> Reply<T>,
    ) -> Reply<T> {
        let changes = {
            let state = self.state();
            if let Some(why) = &state.down {
                self.spared.fetch_add(1, Ordering::Relaxed);
                let why = format!("out of use until it answers a ping ({why})");
                return Reply::Ready(Err(StoreError::Unavailable(why)));
            }
            state.changes
        };
        match operation(&*self.inner) {
            Reply::Ready(answer) => {
                self.judge(&answer, changes);
                Reply::Ready(answer)
            }
            Reply::Later(later) => {
                let watch = Arc::clone(self);
                Reply::Later(Box::pin(async move {
                    let answer = watch.limited(later).await;
                    watch.judge(&answer, changes);
                    answer
                }))
            }
        }
    }

    async fn limited<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        timeout(self.limit, answer).await.unwrap_or_else(|_| {
            let why = format!("no answer within {:?}", self.limit);
            Err(StoreError::Unavailable(why))
        })
    }

    /// Takes the store out of use where this answer says so. An operation that began before the
    /// last change of mode (`changes` is how many there had been) belongs to an outage that is
    /// over, or is known already.
    fn judge<T>(&self, answer: &Result<T, StoreError>, changes: u64) {
        let Err(StoreError::Unavailable(why)) = answer else {
            return;
        };
        self.errors.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        if state.down.is_none() && state.changes == changes {
            state.down = Some(why.clone());
            state.changes += 1;
            drop(state);
            self.went_down.notify_one();
        }
    }

    /// Tells of each time the store goes out of use, pings it until it answers, and takes it into
    /// use again. Never ends by itself.
    async fn bring_back(self: Arc<Self>, on_change: impl Fn(Mode, &str) + Send + Sync) {
        let mut pause = PING_FIRST;
        let mut back = None::<Instant>;
        loop {
            self.went_down.notified().await;
            let why = self.state().down.clone().unwrap_or_default();
            tracing::warn!(mode = Mode::Down.name(), "the store is out of use: {why}");
            on_change(Mode::Down, &why);

            if back.is_none_or(|back| back.elapsed() >= SETTLED) {
                pause = PING_FIRST;
            }
            let down = Instant::now();
            loop {
                sleep(pause).await;
                pause = (pause * 2).clamp(PING_PAUSE, PING_PAUSE_MAX);
                let ping = self.inner.ping().wait();
                match self.limited(ping).await {
                    Ok(()) => break,
                    Err(error) => tracing::debug!("a ping of the store failed: {error}"),
                }
            }
            {
                let mut state = self.state();
                state.down = None;
                state.changes += 1;
            }
            back = Some(Instant::now());
            let why = format!("it answered a ping after {:.1?}", down.elapsed());
            tracing::info!(
                mode = Mode::Shared.name(),
                "the store is in use again: {why}"
            );
            on_change(Mode::Shared, &why);
        }
    }
}

#[cfg(test)]
mod tests;
