//! Keys of both kinds, beside a shared store that comes and goes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::store::{Lane, StoreError};

/// A shared store that may be out of reach, answers at once or later, and counts what it is asked.
#[derive(Default)]
struct Shared {
    memory: MemoryStore,
    later: bool,
    down: AtomicBool,
    asked: AtomicUsize,
}

impl Shared {
    fn reply<T: Send + 'static>(&self, answer: impl FnOnce() -> Reply<T>) -> Reply<T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let reply = match self.down.load(Ordering::Relaxed) {
            true => Reply::Ready(Err(StoreError::Unavailable("on purpose".into()))),
            false => answer(),
        };
        match self.later {
            true => Reply::Later(Box::pin(reply.wait())),
            false => reply,
        }
    }
}

impl Store for Shared {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.reply(|| self.memory.get(keys))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.reply(|| self.memory.swap(key, expected, replacement, ttl_ms))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.reply(|| self.memory.count(windows))
    }

    fn ping(&self) -> Reply<()> {
        self.reply(|| self.memory.ping())
    }

    fn now_ms(&self) -> u64 {
        1_000
    }
}

const OURS: &str = "fusewire:s:{p}";
const MINE: &str = "fusewire:local:s:{p}!0a";

/// Both kinds of stores beneath, one that answers at once and one that answers later.
fn stores() -> [(Arc<Shared>, LocalStore); 2] {
    [false, true].map(|later| {
        let shared = Arc::new(Shared {
            later,
            ..Shared::default()
        });
        let store = LocalStore::new(Arc::clone(&shared) as _, "fusewire");
        (shared, store)
    })
}

fn at_once<T>(reply: Reply<T>) -> Result<T, StoreError> {
    match reply {
        Reply::Ready(answer) => answer,
        Reply::Later(_) => panic!("it is not answered at once"),
    }
}

async fn put(store: &LocalStore, key: &str, value: &str) {
    let swapped = store.swap(key.into(), None, Some(value.into()), 60_000);
    assert_eq!(swapped.wait().await, Ok(true), "{key}");
}

fn window(key: &str, amount: u64) -> Window {
    Window {
        key: key.into(),
        epoch: 0,
        bucket: 0,
        add: vec![Lane {
            name: "failure".into(),
            amount,
        }],
        since: 0,
        ttl_ms: 60_000,
    }
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[tokio::test]
async fn what_is_an_instances_own_is_answered_at_once_and_nobody_else_is_asked() {
    for (shared, store) in stores() {
        shared.down.store(true, Ordering::Relaxed);
        put(&store, MINE, "mine").await;
        let got = at_once(store.get(keys(&[MINE, "fusewire:local:w:{p}!0a"])));
        assert_eq!(got, Ok(vec![Some(b"mine".to_vec()), None]));
        let window = window("fusewire:local:w:{p}!0a", 2);
        let tallies = at_once(store.count(vec![window])).expect("a tally");
        assert_eq!(tallies[0].amount("failure"), 2);
        assert_eq!(shared.asked.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn nothing_of_one_kind_is_kept_with_the_other() {
    for (shared, store) in stores() {
        put(&store, MINE, "mine").await;
        put(&store, OURS, "ours").await;
        // Another prefix's, and one that only looks like it.
        for key in ["other:local:s:{p}", "fusewire:locals:{p}"] {
            put(&store, key, "ours").await;
        }
        let below = shared.memory.get(keys(&[
            OURS,
            MINE,
            "other:local:s:{p}",
            "fusewire:locals:{p}",
        ]));
        let below = below.wait().await.expect("an answer");
        let is_there: Vec<bool> = below.iter().map(Option::is_some).collect();
        assert_eq!(is_there, [true, false, true, true]);
    }
}

#[tokio::test]
async fn an_operation_on_both_kinds_is_answered_in_order() {
    for (shared, store) in stores() {
        put(&store, MINE, "mine").await;
        put(&store, OURS, "ours").await;
        let before = shared.asked.load(Ordering::Relaxed);
        let got = store.get(keys(&["fusewire:s:{q}", MINE, OURS, MINE]));
        let (mine, ours) = (Some(b"mine".to_vec()), Some(b"ours".to_vec()));
        assert_eq!(
            got.wait().await,
            Ok(vec![None, mine.clone(), ours, mine]),
            "one round trip for all"
        );
        assert_eq!(shared.asked.load(Ordering::Relaxed), before + 1);

        let own = "fusewire:local:w:{p}!0a";
        let windows = vec![window(own, 1), window("fusewire:w:{p}", 10), window(own, 2)];
        let tallies = store.count(windows).wait().await.expect("tallies");
        let sums: Vec<u64> = tallies.iter().map(|t| t.amount("failure")).collect();
        assert_eq!(sums, [1, 10, 3]);
    }
}

#[tokio::test]
async fn where_the_shared_part_fails_nothing_is_done_here_either() {
    for (shared, store) in stores() {
        let own = "fusewire:local:w:{p}!0a";
        shared.down.store(true, Ordering::Relaxed);
        let both = vec![window(own, 1), window("fusewire:w:{p}", 1)];
        let counted = store.count(both).wait().await;
        assert!(matches!(counted, Err(StoreError::Unavailable(_))));
        let got = store.get(keys(&[MINE, OURS])).wait().await;
        assert!(matches!(got, Err(StoreError::Unavailable(_))));
        let alone = at_once(store.count(vec![window(own, 1)])).expect("a tally");
        assert_eq!(alone[0].amount("failure"), 1, "nothing counts twice");
    }
}

#[tokio::test]
async fn what_is_kept_here_ends_by_the_fleets_clock_and_is_bounded() {
    let (shared, store) = stores().into_iter().next().expect("two");
    assert_eq!(store.now_ms(), shared.now_ms());
    for n in 0..2 * crate::live::LIVE_DOMAINS {
        let key = format!("fusewire:local:w:{{p{n}}}!0a");
        at_once(store.count(vec![window(&key, 1)])).expect("a tally");
    }
    assert!(store.own.domains() <= crate::live::LIVE_DOMAINS);
}
