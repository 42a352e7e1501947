//! Calls that are still under way when they should be over.
//!
//! A policy may want to be told of an attempt that has become slow before it has ended
//! (`wit/attempts.wit`). Such attempts wait here for their moment, in the order of it: one task
//! sleeps until the first, whatever their number, and ends where none waits any more. An attempt that
//! is settled or dropped takes itself out; who takes it out, the task or the attempt, settles whether
//! it was told of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fusewire_core::Permit;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::{CallFacts, Guard};
use crate::engine::{Answer, Call};

/// The attempts of one guard that wait for their moment.
#[derive(Default)]
pub(super) struct Overdue {
    /// Held for a few instructions at a time.
    waiting: Mutex<Waiting>,
    /// One comes before all others.
    sooner: Notify,
}

#[derive(Default)]
struct Waiting {
    attempts: BTreeMap<Place, UnderWay>,
    /// How many there have been.
    taken_in: u64,
    /// Whether the task is there.
    is_watched: bool,
}

/// When it is overdue, and which of those it is.
type Place = (Instant, u64);

/// An attempt under way.
struct UnderWay {
    /// Pinned to the policy that it was admitted by.
    guard: Guard,
    permit: Permit,
    facts: CallFacts,
}

/// One attempt's place among those that wait.
pub(super) struct Alarm {
    of: Arc<Overdue>,
    place: Place,
}

impl Overdue {
    /// Has this attempt told of at that time, unless it ends before. Goes on in this runtime.
    pub(super) fn at(
        self: &Arc<Self>,
        time: Instant,
        runtime: &Handle,
        guard: Guard,
        permit: Permit,
        facts: CallFacts,
    ) -> Alarm {
        let mut waiting = self.waiting();
        waiting.taken_in = waiting.taken_in.wrapping_add(1);
        let place = (time, waiting.taken_in);
        let attempt = UnderWay {
            guard,
            permit,
            facts,
        };
        waiting.attempts.insert(place, attempt);
        let is_first = waiting.attempts.keys().next() == Some(&place);
        if !waiting.is_watched {
            waiting.is_watched = true;
            let watching = Watching {
                of: Arc::downgrade(self),
                is_over: false,
            };
            runtime.spawn(watch(watching, runtime.clone()));
        } else if is_first {
            self.sooner.notify_one();
        }
        drop(waiting);
        Alarm {
            of: Arc::clone(self),
            place,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one whose moment has come, or when that will be; `None`: there is none, and nobody
    /// watches from now on.
    fn next(&self) -> Option<Result<UnderWay, Instant>> {
        let mut waiting = self.waiting();
        let Some(first) = waiting.attempts.first_entry() else {
            waiting.is_watched = false;
            return None;
        };
        let (time, _) = *first.key();
        Some(match time <= Instant::now() {
            true => Ok(first.remove()),
            false => Err(time),
        })
    }

    /// How many wait, and whether anybody watches them.
    #[cfg(test)]
    pub(super) fn state(&self) -> (usize, bool) {
        let waiting = self.waiting();
        (waiting.attempts.len(), waiting.is_watched)
    }
}

impl Alarm {
    /// Takes the attempt out where it still waits; otherwise it was told of, and this goes on to say
    /// so.
    pub(super) fn unless_waiting(self) -> Option<Self> {
        let waited = self.of.waiting().attempts.remove(&self.place).is_some();
        (!waited).then_some(self)
    }

    /// Whether the attempt was told of; from now on it is not.
    pub(super) fn was_told(self) -> bool {
        self.of.waiting().attempts.remove(&self.place).is_none()
    }
}

/// The task, as long as it is there. A runtime that ends takes it along, and the next attempt has
/// another one in its own.
struct Watching {
    of: Weak<Overdue>,
    /// It has been noted that it is gone: the next one may be there already.
    is_over: bool,
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(overdue) = self.of.upgrade().filter(|_| !self.is_over) {
            overdue.waiting().is_watched = false;
        }
    }
}

async fn watch(mut watching: Watching, runtime: Handle) {
    while let Some(overdue) = watching.of.upgrade() {
        match overdue.next() {
            Some(Ok(attempt)) => tell(attempt, &runtime),
            Some(Err(time)) => tokio::select! {
                () = sleep_until(time) => {}
                () = overdue.sooner.notified() => {}
            },
            None => {
                watching.is_over = true;
                return;
            }
        }
    }
}

fn tell(attempt: UnderWay, runtime: &Handle) {
    let UnderWay {
        guard,
        permit,
        facts,
    } = attempt;
    let call = Call::Overdue(permit, guard.context(&facts));
    let settling = Arc::clone(&guard.inner.settling);
    settling.tell(runtime, async move {
        match guard.ask(&call).await {
            Ok(Answer::Settled(events)) => guard.events(&events),
            Ok(_) => {}
            Err(fault) => guard.fault("overdue", &fault),
        }
    });
}

#[cfg(test)]
mod tests;
