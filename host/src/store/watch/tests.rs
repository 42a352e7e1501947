//! A store of changing moods, watched.

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
