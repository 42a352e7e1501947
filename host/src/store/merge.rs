//! Group commit for counts: what waits for the same counter leaves as one command.
//!
//! At most one command of a host is under way for a counter. A count that finds its counters idle
//! leaves at once, as it is. One that finds a counter busy joins those that wait for it, and when
//! the command before is answered, all that waits leaves together: the longer the store takes,
//! the more calls share a command, and it sees one a counter and round trip whatever the traffic.
//! So company is never waited for: the first count pays nothing, and the design's pause for
//! successes is the round trip under way.
//!
//! # What is merged
//!
//! - Adds to one bucket in one epoch become one add of their sums, counted since the latest
//!   `since`, with the longest lifetime: as if the one with that `since` had come first and had
//!   removed the buckets before it. Nothing counts for longer than its window.
//! - Reads of one epoch since one moment become one read.
//! - Everything else stays apart, in the order of arrival: a newer epoch takes over from an older
//!   one as it would have, and a call whose own windows name one counter has them in order.
//!
//! # Who fails with whom
//!
//! What waits leaves by counter, so that a key of the wrong kind fails those that name it. A call
//! of several counters, all idle, leaves as one command and fails alone. An add without a
//! lifetime, which is refused whatever the key holds, never joins others. An error of a command
//! is everybody's who is in it.
//!
//! # Lifetimes
//!
//! A command that is answered later is a task of its own: a caller that gives up abandons its
//! answer, and neither the command nor those that wait behind it. When the task ends, however it
//! ends, the counter's next command leaves or the counter is forgotten. What is held here is
//! what callers wait for, and nothing once they have their answers.
//!
//! A command lasts until the store below answers, so that one must have a time limit: a
//! [`WatchedStore`](super::WatchedStore) belongs below this, not above. There it judges the store
//! by how long a command takes, not by how long a count has waited for its turn, and needs one
//! timer a command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{AMOUNT_MAX, Mode, Reply, Store, StoreError, Tally, Window, adds};

/// Any store, with counts merged. See the [module](self).
pub struct MergedStore(Arc<Merge>);

impl MergedStore {
    /// Merges the counts on their way to this store.
    ///
    /// # Panics
    /// Outside of a tokio runtime, on which commands are waited for.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(Arc::new(Merge {
            inner,
            runtime: Handle::current(),
            busy: Mutex::default(),
        }))
    }
}

impl Store for MergedStore {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.0.inner.get(keys)
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        self.0.inner.swap(key, expected, replacement, ttl_ms)
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.0.count(windows)
    }

    fn ping(&self) -> Reply<()> {
        self.0.inner.ping()
    }

    fn now_ms(&self) -> u64 {
        self.0.inner.now_ms()
    }

    fn clock_ahead_us(&self) -> Option<i64> {
        self.0.inner.clock_ahead_us()
    }

    fn mode(&self) -> Mode {
        self.0.inner.mode()
    }
}

type Answer = Result<Vec<Tally>, StoreError>;

struct Merge {
    inner: Arc<dyn Store>,
    runtime: Handle,
    /// The counters that have a command under way, and what waits behind it. Held for a few
    /// instructions at a time.
    busy: Mutex<HashMap<Arc<str>, Option<Batch>>>,
}

impl Merge {
    fn busy(&self) -> MutexGuard<'_, HashMap<Arc<str>, Option<Batch>>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(self: &Arc<Self>, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        if windows.is_empty() || windows.iter().any(|w| w.ttl_ms == 0 && adds(w)) {
            return self.inner.count(windows);
        }
        let mut asked = Asked::default();
        let mut keys: Vec<Arc<str>> = Vec::new();
        let mut leaving = None;
        {
            let mut busy = self.busy();
            for window in windows {
                let batch = match busy.get_mut(window.key.as_str()) {
                    Some(waiting) if keys.iter().all(|mine| **mine != *window.key) => waiting,
                    Some(_) => &mut leaving,
                    None => {
                        let key: Arc<str> = window.key.as_str().into();
                        busy.insert(Arc::clone(&key), None);
                        keys.push(key);
                        &mut leaving
                    }
                };
                asked.place(window, batch.get_or_insert_with(Batch::new));
            }
        }
        if let Some(Batch { windows, told }) = leaving {
            let command = self.command(keys, told);
            match self.inner.count(windows) {
                Reply::Ready(answer) if asked.commands.len() == 1 => return Reply::Ready(answer),
                reply => drop(self.runtime.spawn(async move {
                    command.answered(reply.wait().await);
                })),
            }
        }
        Reply::Later(Box::pin(asked.answer()))
    }

    /// What waits for this counter; where nothing does, it is idle from now on.
    fn next(&self, key: &str) -> Option<Batch> {
        let mut busy = self.busy();
        let next = busy.get_mut(key).and_then(Option::take);
        if next.is_none() {
            busy.remove(key);
        }
        next
    }

    fn command(
        self: &Arc<Self>,
        keys: Vec<Arc<str>>,
        told: watch::Sender<Option<Answer>>,
    ) -> Command {
        let merge = Arc::clone(self);
        Command { merge, keys, told }
    }
}

/// A command under way. As long as this exists, its counters are busy.
struct Command {
    merge: Arc<Merge>,
    keys: Vec<Arc<str>>,
    told: watch::Sender<Option<Answer>>,
}

impl Command {
    fn answered(self, answer: Answer) {
        self.told.send_replace(Some(answer));
    }
}

impl Drop for Command {
    /// Has the counters' next commands leave.
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            if let Some(Batch { windows, told }) = self.merge.next(&key) {
                let command = self.merge.command(vec![key], told);
                self.merge.runtime.spawn(async move {
                    let reply = command.merge.inner.count(windows);
                    command.answered(reply.wait().await);
                });
            }
        }
    }
}

/// What leaves as one command.
struct Batch {
    windows: Vec<Window>,
    told: watch::Sender<Option<Answer>>,
}

impl Batch {
    fn new() -> Self {
        Self {
            windows: Vec::new(),
            told: watch::Sender::new(None),
        }
    }

    /// Adds a window, merged with one at or after `from` where that can be, and answers the place
    /// of its tally.
    fn join(&mut self, window: Window, from: usize) -> usize {
        let held = self.windows.iter_mut().enumerate().skip(from);
        for (place, held) in held {
            if can_merge(held, &window) {
                merge(held, window);
                return place;
            }
        }
        self.windows.push(window);
        self.windows.len() - 1
    }
}

/// Whether one operation can stand for both. An add to a bucket that its own `since` leaves out is
/// in nobody's tally, and must not take one along that is in its own.
fn can_merge(one: &Window, other: &Window) -> bool {
    let is_left_out = |window: &Window| window.bucket < window.since;
    one.epoch == other.epoch
        && match (adds(one), adds(other)) {
            (true, true) => one.bucket == other.bucket && is_left_out(one) == is_left_out(other),
            (false, false) => one.since == other.since,
            _ => false,
        }
}

fn merge(held: &mut Window, other: Window) {
    for lane in other.add {
        match held.add.iter_mut().find(|held| held.name == lane.name) {
            Some(held) => held.amount = held.amount.saturating_add(lane.amount).min(AMOUNT_MAX),
            None => held.add.push(lane),
        }
    }
    held.since = held.since.max(other.since);
    held.ttl_ms = held.ttl_ms.max(other.ttl_ms);
}

/// What one call waits for.
#[derive(Default)]
struct Asked {
    commands: Vec<watch::Receiver<Option<Answer>>>,
    /// The command that each window is in, and the place of its tally there.
    places: Vec<(usize, usize)>,
}

impl Asked {
    fn place(&mut self, window: Window, batch: &mut Batch) {
        let told = batch.told.subscribe();
        let same = self
            .commands
            .iter()
            .position(|held| held.same_channel(&told));
        let command = same.unwrap_or_else(|| {
            self.commands.push(told);
            self.commands.len() - 1
        });
        // Behind this call's window before it, so that they stay in order.
        let before = self.places.iter().rfind(|(held, _)| *held == command);
        let from = before.map_or(0, |(_, place)| place + 1);
        self.places.push((command, batch.join(window, from)));
    }

    /// One tally a window, in order.
    async fn answer(mut self) -> Answer {
        for command in &mut self.commands {
            let told = command.wait_for(Option::is_some).await;
            told.map_err(|_| unanswered())?;
        }
        let tally = |&(command, place): &(usize, usize)| {
            let told = self.commands.get(command).ok_or_else(unanswered)?.borrow();
            match &*told {
                Some(Ok(tallies)) => tallies.get(place).cloned().ok_or_else(unanswered),
                Some(Err(error)) => Err(error.clone()),
                None => Err(unanswered()),
            }
        };
        self.places.iter().map(tally).collect()
    }
}

/// The command's task has ended before its time, as at the end of the process.
fn unanswered() -> StoreError {
    StoreError::Unavailable("the command ended without an answer".into())
}

#[cfg(test)]
mod tests;
