//! A merged store over one that hands each count to the test.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::store::merge::{Answer, MergedStore};
use crate::store::{Lane, Later, Reply, Store, StoreError, Tally, Window};

/// A command that has left, to be answered.
pub(super) struct Left {
    pub(super) windows: Vec<Window>,
    answer: oneshot::Sender<Answer>,
}

impl Left {
    /// Answers one tally a window: this amount in the lane `a`, one more in each next window.
    pub(super) fn answer(self, first: u64) {
        let tallies = (first..).zip(&self.windows).map(|(amount, window)| Tally {
            epoch: window.epoch,
            lanes: vec![lane("a", amount)],
        });
        let tallies = tallies.collect();
        self.answer
            .send(Ok(tallies))
            .expect("the command is waited for");
    }

    pub(super) fn fail(self, error: StoreError) {
        self.answer
            .send(Err(error))
            .expect("the command is waited for");
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        self.windows.iter().map(|window| &*window.key).collect()
    }
}

/// Hands each count to the test.
struct ByHand(mpsc::UnboundedSender<Left>);

impl Store for ByHand {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        Reply::Ready(Ok(vec![None; keys.len()]))
    }

    fn swap(&self, _: String, _: Option<Vec<u8>>, _: Option<Vec<u8>>, _: u64) -> Reply<bool> {
        Reply::Ready(Ok(true))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Left { windows, answer });
        let later: Later<Vec<Tally>> =
            Box::pin(async { answered.await.expect("the test answers") });
        Reply::Later(later)
    }

    fn ping(&self) -> Reply<()> {
        Reply::Ready(Ok(()))
    }

    fn now_ms(&self) -> u64 {
        0
    }
}

pub(super) struct Setup {
    pub(super) store: MergedStore,
    left: mpsc::UnboundedReceiver<Left>,
}

impl Setup {
    pub(super) fn new() -> Self {
        let (sender, left) = mpsc::unbounded_channel();
        let store = MergedStore::new(Arc::new(ByHand(sender)));
        Self { store, left }
    }

    /// Begins a count, which is waited for by a task.
    pub(super) fn begin(&self, windows: impl Into<Vec<Window>>) -> JoinHandle<Answer> {
        tokio::spawn(self.store.count(windows.into()).wait())
    }

    /// The next command that leaves.
    pub(super) async fn next(&mut self) -> Left {
        let next = timeout(Duration::from_secs(10), self.left.recv()).await;
        next.expect("a command leaves in time").expect("a store")
    }

    /// Nothing leaves, however long the tasks run.
    pub(super) async fn nothing_leaves(&mut self) {
        for _ in 0..20 {
            yield_now().await;
        }
        let left = self.left.try_recv().map(|left| left.windows);
        assert!(left.is_err(), "{left:?} left");
    }

    /// No counter is busy, and nothing is held for one.
    pub(super) async fn is_empty(&self) {
        for _ in 0..20 {
            yield_now().await;
        }
        let busy: Vec<_> = self.store.0.busy().keys().cloned().collect();
        assert!(busy.is_empty(), "{busy:?} are busy");
    }
}

pub(super) fn lane(name: &str, amount: u64) -> Lane {
    let name = name.to_owned();
    Lane { name, amount }
}

/// A read of epoch 1 since 0.
pub(super) fn read(key: &str) -> Window {
    Window {
        key: key.to_owned(),
        epoch: 1,
        bucket: 10,
        add: Vec::new(),
        since: 0,
        ttl_ms: 1_000,
    }
}

/// An add of one to the lane `a` of bucket 10 in epoch 1.
pub(super) fn add(key: &str) -> Window {
    let add = vec![lane("a", 1)];
    Window { add, ..read(key) }
}

pub(super) async fn amounts(call: JoinHandle<Answer>) -> Vec<u64> {
    let tallies = call.await.expect("no panic").expect("tallies");
    tallies.iter().map(|tally| tally.amount("a")).collect()
}
