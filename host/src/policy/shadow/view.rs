//! The store as one call found it, for a policy that did not make the call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::tape::{Answered, Operation, Recording};
use crate::store::{Lane, MemoryStore, Reply, Store, StoreError, Tally, Window};

/// The most bytes that a policy may put aside. A policy that keeps one record and one counter a
/// provider needs some KiB.
const ASIDE_MAX_BYTES: usize = 16 << 20;

/// What a policy keeps under keys of its own during a comparison.
pub(super) struct Aside {
    real: Arc<dyn Store>,
    memory: MemoryStore,
    written: AtomicUsize,
}

impl Aside {
    pub(super) fn new(real: Arc<dyn Store>) -> Self {
        let clock = Arc::clone(&real);
        Self {
            real,
            memory: MemoryStore::with_clock(Arc::new(move || clock.now_ms())),
            written: AtomicUsize::new(0),
        }
    }

    fn make_room(&self, bytes: usize) -> Result<(), StoreError> {
        let written = self.written.fetch_add(bytes, Ordering::Relaxed);
        if written.saturating_add(bytes) > ASIDE_MAX_BYTES {
            let why = format!("a policy may put {ASIDE_MAX_BYTES} bytes aside in a comparison");
            return Err(StoreError::Refused(why));
        }
        Ok(())
    }
}

/// The values that the call found under one key, in order: more than one where it lost a race and
/// looked again.
#[derive(Default)]
struct Values {
    found: Vec<Option<Vec<u8>>>,
    /// The present one.
    at: usize,
    /// What the call's own swaps of the key were answered and are yet to be.
    swapped: std::collections::VecDeque<bool>,
}

/// What the call counted under one key, and read there.
struct Counted {
    window: Window,
    tally: Tally,
}

/// The store as one call found it.
pub(super) struct View {
    values: Mutex<BTreeMap<String, Values>>,
    counted: BTreeMap<String, Vec<Counted>>,
    /// Whether the store was out of reach for the call.
    is_down: bool,
    aside: Arc<Aside>,
}

impl View {
    pub(super) fn new(recording: Recording, aside: Arc<Aside>) -> Self {
        let mut values = BTreeMap::<String, Values>::new();
        let mut counted = BTreeMap::<String, Vec<Counted>>::new();
        let mut is_down = false;
        for (operation, answered) in recording {
            match (operation, answered) {
                (Operation::Get(keys), Answered::Got(found)) => {
                    for (key, value) in keys.into_iter().zip(found) {
                        values.entry(key).or_default().found.push(value);
                    }
                }
                (Operation::Swap(key, expected, _), Answered::Swapped(done)) => {
                    let of_key = values.entry(key).or_default();
                    if of_key.found.is_empty() && done {
                        of_key.found.push(expected);
                    }
                    of_key.swapped.push_back(done);
                }
                (Operation::Count(windows), Answered::Counted(tallies)) => {
                    for (window, tally) in windows.into_iter().zip(tallies) {
                        let of_key = counted.entry(window.key.clone()).or_default();
                        of_key.push(Counted { window, tally });
                    }
                }
                (_, Answered::Unavailable) => is_down = true,
                // What was refused to the one tells nothing of the other.
                _ => {}
            }
        }
        Self {
            values: Mutex::new(values),
            counted,
            is_down,
            aside,
        }
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<String, Values>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn down<T>() -> Reply<T> {
        Reply::Ready(Err(StoreError::Unavailable(
            "it was out of reach for the call that is compared".into(),
        )))
    }

    /// What a window was answered, as it would have been for another amount to add. `None`: the
    /// call did not look at this window.
    fn counted_before(&self, window: &Window) -> Option<Tally> {
        let seen = self.counted.get(&window.key)?.iter().find(|seen| {
            let at = |w: &Window| (w.epoch, w.since, w.bucket);
            at(&seen.window) == at(window)
        })?;
        let mut lanes: BTreeMap<&str, u64> = BTreeMap::new();
        for lane in &seen.tally.lanes {
            lanes.insert(&lane.name, lane.amount);
        }
        if seen.tally.epoch == window.epoch {
            for lane in &seen.window.add {
                let amount = lanes.entry(&lane.name).or_default();
                *amount = amount.saturating_sub(lane.amount);
            }
            for lane in &window.add {
                let amount = lanes.entry(&lane.name).or_default();
                *amount = amount.saturating_add(lane.amount);
            }
        }
        let lanes = lanes.into_iter().filter(|(_, amount)| *amount > 0);
        Some(Tally {
            epoch: seen.tally.epoch,
            lanes: lanes
                .map(|(name, amount)| Lane {
                    name: name.to_owned(),
                    amount,
                })
                .collect(),
        })
    }
}

impl Store for View {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        let mut found: Vec<Option<Option<Vec<u8>>>> = Vec::with_capacity(keys.len());
        {
            let values = self.values();
            for key in &keys {
                let value = values.get(key);
                found.push(value.and_then(|values| values.found.get(values.at).cloned()));
            }
        }
        let missing: Vec<String> = keys
            .into_iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(key, _)| key)
            .collect();
        if missing.is_empty() {
            return Reply::Ready(Ok(found.into_iter().map(Option::flatten).collect()));
        }
        if self.is_down {
            return Self::down();
        }
        let aside = Arc::clone(&self.aside);
        Reply::Later(Box::pin(async move {
            let kept = aside.memory.get(missing.clone()).wait().await?;
            let real = aside.real.get(missing).wait().await?;
            let mut others = kept.into_iter().zip(real).map(|(kept, real)| kept.or(real));
            Ok(found
                .into_iter()
                .map(|found| found.unwrap_or_else(|| others.next().flatten()))
                .collect())
        }))
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        if let Some(values) = self.values().get_mut(&key) {
            // A race that the call lost is lost to the other policy too.
            if values.swapped.pop_front() == Some(false) {
                values.at = (values.at + 1).min(values.found.len().saturating_sub(1));
                return Reply::Ready(Ok(false));
            }
            let is_as_expected = values
                .found
                .get(values.at)
                .is_none_or(|now| *now == expected);
            if is_as_expected {
                values.found = vec![replacement];
                values.at = 0;
            }
            return Reply::Ready(Ok(is_as_expected));
        }
        if self.is_down {
            return Self::down();
        }
        let size = key.len() + replacement.as_ref().map_or(0, Vec::len);
        if let Err(error) = self.aside.make_room(size) {
            return Reply::Ready(Err(error));
        }
        let aside = Arc::clone(&self.aside);
        Reply::Later(Box::pin(async move {
            let kept = aside.memory.get(vec![key.clone()]).wait().await?;
            if kept.into_iter().flatten().next().is_some() {
                let swapped = aside.memory.swap(key, expected, replacement, ttl_ms);
                return swapped.wait().await;
            }
            let real = aside.real.get(vec![key.clone()]).wait().await?;
            if real.into_iter().next().flatten() != expected {
                return Ok(false);
            }
            aside
                .memory
                .swap(key, None, replacement, ttl_ms)
                .wait()
                .await
        }))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        if self.is_down {
            return Self::down();
        }
        let mut tallies = Vec::with_capacity(windows.len());
        for window in windows {
            // A counter that the call did use, and another window of it: read what is there.
            let is_shared = self.counted.contains_key(&window.key);
            tallies.push(match self.counted_before(&window) {
                Some(tally) => Reply::Ready(Ok(vec![tally])),
                None if is_shared => self.aside.real.count(vec![Window {
                    add: Vec::new(),
                    ..window
                }]),
                None => match self.aside.make_room(window.key.len() + 32) {
                    Ok(()) => self.aside.memory.count(vec![window]),
                    Err(error) => Reply::Ready(Err(error)),
                },
            });
        }
        Reply::Later(Box::pin(async move {
            let mut all = Vec::with_capacity(tallies.len());
            for tally in tallies {
                all.extend(tally.wait().await?);
            }
            Ok(all)
        }))
    }

    fn ping(&self) -> Reply<()> {
        Reply::Ready(Ok(()))
    }

    fn now_ms(&self) -> u64 {
        self.aside.real.now_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "fusewire:s:{p}";

    fn window(key: &str, epoch: u64, failures: u64) -> Window {
        Window {
            key: key.into(),
            epoch,
            bucket: 10,
            add: vec![Lane {
                name: "failure".into(),
                amount: failures,
            }],
            since: 5,
            ttl_ms: 1_000,
        }
    }

    fn tally(epoch: u64, failures: u64) -> Tally {
        Tally {
            epoch,
            lanes: vec![Lane {
                name: "failure".into(),
                amount: failures,
            }],
        }
    }

    fn view(recording: Recording) -> (View, Arc<MemoryStore>) {
        let real = Arc::new(MemoryStore::new());
        let aside = Aside::new(Arc::clone(&real) as Arc<dyn Store>);
        (View::new(recording, Arc::new(aside)), real)
    }

    async fn value(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
        let found = store.get(vec![key.into()]).wait().await;
        found.expect("an answer").remove(0)
    }

    async fn swap(store: &dyn Store, key: &str, expected: Option<&str>, now: &str) -> bool {
        let expected = expected.map(|text| text.as_bytes().to_vec());
        let replaced = store.swap(key.into(), expected, Some(now.into()), 10_000);
        replaced.wait().await.expect("an answer")
    }

    #[tokio::test]
    async fn what_the_call_read_is_read_again_and_nothing_is_written() {
        let got = Answered::Got(vec![Some(b"one".to_vec())]);
        let (view, real) = view(vec![(Operation::Get(vec![KEY.into()]), got)]);
        assert_eq!(value(&view, KEY).await, Some(b"one".to_vec()));
        assert!(!swap(&view, KEY, Some("other"), "two").await);
        assert!(swap(&view, KEY, Some("one"), "two").await);
        assert_eq!(value(&view, KEY).await, Some(b"two".to_vec()));
        assert_eq!(value(&*real, KEY).await, None);
    }

    #[tokio::test]
    async fn a_race_that_the_call_lost_is_lost_and_then_the_winners_record_is_seen() {
        let get = || Operation::Get(vec![KEY.into()]);
        let (view, _) = view(vec![
            (get(), Answered::Got(vec![None])),
            (
                Operation::Swap(KEY.into(), None, Some(b"mine".to_vec())),
                Answered::Swapped(false),
            ),
            (get(), Answered::Got(vec![Some(b"theirs".to_vec())])),
        ]);
        assert_eq!(value(&view, KEY).await, None);
        assert!(!swap(&view, KEY, None, "ours").await);
        assert_eq!(value(&view, KEY).await, Some(b"theirs".to_vec()));
    }

    #[tokio::test]
    async fn counts_are_what_they_would_have_been_for_the_other_amount() {
        let windows = vec![window("w", 7, 1)];
        let counted = Answered::Counted(vec![tally(7, 5)]);
        let (view, real) = view(vec![(Operation::Count(windows), counted)]);
        let ask = async |window| view.count(vec![window]).wait().await.expect("an answer");
        assert_eq!(ask(window("w", 7, 1)).await, [tally(7, 5)]);
        assert_eq!(ask(window("w", 7, 0)).await, [tally(7, 4)]);
        let mut reading = window("w", 7, 0);
        reading.add.clear();
        let real = real.count(vec![reading]).wait().await.expect("an answer");
        assert!(real[0].lanes.is_empty(), "nothing is counted: {real:?}");
    }

    #[tokio::test]
    async fn what_only_the_other_policy_keeps_is_put_aside_and_lasts() {
        let (first, real) = view(Vec::new());
        assert!(swap(&*real, "real", None, "there").await);
        assert_eq!(value(&first, "real").await, Some(b"there".to_vec()));
        assert!(swap(&first, "real", Some("there"), "changed").await);
        assert!(swap(&first, "own", None, "mine").await);
        for _ in 0..2 {
            let counted = first.count(vec![window("own-count", 0, 2)]).wait().await;
            counted.expect("an answer");
        }
        let second = View::new(Vec::new(), Arc::clone(&first.aside));
        assert_eq!(value(&second, "real").await, Some(b"changed".to_vec()));
        assert_eq!(value(&second, "own").await, Some(b"mine".to_vec()));
        let counted = second.count(vec![window("own-count", 0, 1)]).wait().await;
        assert_eq!(counted.expect("an answer"), [tally(0, 5)]);
        assert_eq!(value(&*real, "real").await, Some(b"there".to_vec()));
        assert_eq!(value(&*real, "own").await, None);
    }

    #[tokio::test]
    async fn what_is_put_aside_is_bounded() {
        let (view, _) = view(Vec::new());
        let big = "x".repeat(60_000);
        let mut refused = false;
        for n in 0..400 {
            let key = format!("key-{n}");
            let swapped = view.swap(key, None, Some(big.clone().into_bytes()), 0);
            refused |= matches!(swapped.wait().await, Err(StoreError::Refused(_)));
        }
        assert!(refused);
    }

    #[tokio::test]
    async fn a_store_that_was_out_of_reach_is_so_for_the_other_policy() {
        let (view, _) = view(vec![(
            Operation::Get(vec![KEY.into()]),
            Answered::Unavailable,
        )]);
        let answer = view.get(vec![KEY.into()]).wait().await;
        assert!(matches!(answer, Err(StoreError::Unavailable(_))));
        let answer = view.count(vec![window("w", 0, 1)]).wait().await;
        assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    }
}
