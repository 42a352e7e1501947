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
mod tests {
    use std::sync::atomic::AtomicBool;

    use tokio::sync::mpsc;

    use super::*;
    use crate::store::MemoryStore;

    const LIMIT: Duration = Duration::from_millis(50);

    /// A store that hangs, is out of reach or refuses, as it is told.
    struct Moody {
        memory: MemoryStore,
        hangs: AtomicBool,
        later: bool,
        refuses: AtomicBool,
    }

    impl Moody {
        fn new(later: bool) -> Arc<Self> {
            Arc::new(Self {
                memory: MemoryStore::new(),
                hangs: AtomicBool::new(false),
                later,
                refuses: AtomicBool::new(false),
            })
        }

        fn reply<T: Send + 'static>(&self, reply: Reply<T>) -> Reply<T> {
            if self.refuses.load(Ordering::Relaxed) {
                return Reply::Ready(Err(StoreError::Refused("on purpose".into())));
            }
            match (self.hangs.load(Ordering::Relaxed), self.later) {
                (false, false) => reply,
                (false, true) => Reply::Later(Box::pin(reply.wait())),
                (true, false) => Reply::Ready(Err(StoreError::Unavailable("on purpose".into()))),
                (true, true) => Reply::Later(Box::pin(std::future::pending())),
            }
        }
    }

    impl Store for Moody {
        fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
            self.reply(self.memory.get(keys))
        }

        fn swap(
            &self,
            key: String,
            expected: Option<Vec<u8>>,
            replacement: Option<Vec<u8>>,
            ttl_ms: u64,
        ) -> Reply<bool> {
            self.reply(self.memory.swap(key, expected, replacement, ttl_ms))
        }

        fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
            self.reply(self.memory.count(windows))
        }

        fn ping(&self) -> Reply<()> {
            self.reply(self.memory.ping())
        }

        fn now_ms(&self) -> u64 {
            self.memory.now_ms()
        }
    }

    /// A store of some mood, watched, and the changes of its mode.
    fn watched(inner: &Arc<Moody>) -> (WatchedStore, mpsc::UnboundedReceiver<Mode>) {
        let (told, changes) = mpsc::unbounded_channel();
        let store = WatchedStore::observed(
            Arc::clone(inner) as Arc<dyn Store>,
            LIMIT,
            move |mode, _| {
                let _ = told.send(mode);
            },
        );
        (store, changes)
    }

    async fn read(store: &WatchedStore) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        store.get(vec!["k".into()]).wait().await
    }

    #[tokio::test]
    async fn a_store_that_hangs_costs_one_operation_its_limit_and_the_next_nothing() {
        let moody = Moody::new(true);
        let (store, mut changes) = watched(&moody);
        assert!(read(&store).await.is_ok());

        moody.hangs.store(true, Ordering::Relaxed);
        let began = Instant::now();
        assert!(matches!(
            read(&store).await,
            Err(StoreError::Unavailable(_))
        ));
        assert!(began.elapsed() < 10 * LIMIT);
        assert_eq!(store.mode(), Mode::Down);
        assert!(matches!(
            store.get(vec!["k".into()]),
            Reply::Ready(Err(StoreError::Unavailable(_)))
        ));
        assert_eq!(changes.recv().await, Some(Mode::Down));

        moody.hangs.store(false, Ordering::Relaxed);
        assert_eq!(changes.recv().await, Some(Mode::Shared));
        assert!(read(&store).await.is_ok());
        let seen = store.stats();
        assert_eq!((seen.errors, seen.spared, seen.mode_changes), (1, 1, 2));
    }

    #[tokio::test]
    async fn a_store_that_answers_at_once_is_watched_as_well() {
        let moody = Moody::new(false);
        let (store, mut changes) = watched(&moody);
        moody.hangs.store(true, Ordering::Relaxed);
        assert!(matches!(
            store.get(vec!["k".into()]),
            Reply::Ready(Err(StoreError::Unavailable(_)))
        ));
        assert_eq!(changes.recv().await, Some(Mode::Down));
        moody.hangs.store(false, Ordering::Relaxed);
        assert_eq!(changes.recv().await, Some(Mode::Shared));
    }

    #[tokio::test]
    async fn many_operations_that_fail_at_once_are_one_change_of_mode() {
        let moody = Moody::new(true);
        let (store, mut changes) = watched(&moody);
        moody.hangs.store(true, Ordering::Relaxed);
        let all: Vec<_> = (0..50).map(|_| store.get(vec!["k".into()])).collect();
        for reply in all {
            assert!(reply.wait().await.is_err());
        }
        assert_eq!(changes.recv().await, Some(Mode::Down));
        assert!(changes.try_recv().is_err());
        assert_eq!(store.stats().mode_changes, 1);
    }

    #[tokio::test]
    async fn an_operation_from_before_the_outage_does_not_end_or_renew_it() {
        let moody = Moody::new(true);
        let (store, mut changes) = watched(&moody);
        moody.hangs.store(true, Ordering::Relaxed);
        // Started now, waited for only when the outage is over: it fails late.
        let late = store.get(vec!["k".into()]);
        assert!(read(&store).await.is_err());
        assert_eq!(changes.recv().await, Some(Mode::Down));
        moody.hangs.store(false, Ordering::Relaxed);
        assert_eq!(changes.recv().await, Some(Mode::Shared));
        assert!(late.wait().await.is_err());
        assert_eq!(store.mode(), Mode::Shared);

        // Started before the next outage, answered in its midst: it succeeds late.
        let late = store.get(vec!["k".into()]);
        moody.hangs.store(true, Ordering::Relaxed);
        assert!(read(&store).await.is_err());
        assert!(late.wait().await.is_ok());
        assert_eq!(store.mode(), Mode::Down);
    }

    #[tokio::test]
    async fn what_a_store_refuses_does_not_count_against_it() {
        let moody = Moody::new(true);
        let (store, _changes) = watched(&moody);
        moody.refuses.store(true, Ordering::Relaxed);
        for _ in 0..10 {
            assert!(matches!(read(&store).await, Err(StoreError::Refused(_))));
        }
        assert_eq!(store.mode(), Mode::Shared);
        assert_eq!(store.stats(), WatchStats::default());
    }

    #[tokio::test]
    async fn a_store_that_answers_only_pings_does_not_change_mode_all_the_time() {
        let moody = Moody::new(true);
        let (store, _changes) = watched(&moody);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            // The pings in between succeed.
            moody.hangs.store(true, Ordering::Relaxed);
            drop(store.get(vec!["k".into()]).wait().await);
            moody.hangs.store(false, Ordering::Relaxed);
            sleep(Duration::from_millis(5)).await;
        }
        let changes = store.stats().mode_changes;
        assert!((2..=30).contains(&changes), "{changes} changes of mode");
    }

    #[tokio::test]
    async fn dropping_it_ends_its_task() {
        let moody = Moody::new(true);
        let (store, mut changes) = watched(&moody);
        drop(store);
        assert_eq!(changes.recv().await, None);
        let deadline = Instant::now() + Duration::from_secs(5);
        while Arc::strong_count(&moody) > 1 {
            assert!(Instant::now() < deadline, "the task still holds the store");
            tokio::task::yield_now().await;
        }
    }
}
