//! The store as one call sees it.
//!
//! A tape keeps every answer the call was given. When the call is made again the answers are
//! played from the beginning, and none of the operations is performed twice; the first operation
//! past the end is started. Where it answers later, the tape holds its future, and the policy is
//! told `pending`.

use std::sync::Arc;
use std::time::Instant;

use fusewire_core::store::{self as policy_store, KeyValue, Tally, Window};

use super::Fault;
use crate::store::{Later, Reply, Store, StoreError, confine};

/// The most store operations of one call. The deepest path of the policy here has a dozen; more
/// is a policy that goes in circles.
pub const OPERATIONS_MAX: usize = 64;

#[derive(Clone)]
enum Recorded {
    Got(Result<Vec<Option<Vec<u8>>>, StoreError>),
    Swapped(Result<bool, StoreError>),
    Counted(Result<Vec<Tally>, StoreError>),
}

enum Awaited {
    Get(Later<Vec<Option<Vec<u8>>>>),
    Swap(Later<bool>),
    Count(Later<Vec<Tally>>),
}

/// The store as one call sees it.
pub struct Tape {
    /// `None`: a call that may not touch the store.
    store: Option<Arc<dyn Store>>,
    prefix: Arc<str>,
    answers: Vec<Recorded>,
    /// The next answer to be played.
    at: usize,
    awaited: Option<Awaited>,
    fault: Option<Fault>,
}

impl Tape {
    /// A tape for one call, which may touch keys that begin with `prefix` and a colon.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: Arc<str>) -> Self {
        Self {
            store: Some(store),
            prefix,
            answers: Vec::new(),
            at: 0,
            awaited: None,
            fault: None,
        }
    }

    /// A tape for a call that may not touch the store.
    pub(super) fn blank() -> Self {
        Self {
            store: None,
            prefix: "".into(),
            answers: Vec::new(),
            at: 0,
            awaited: None,
            fault: None,
        }
    }

    /// Whether an operation is awaited.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// What the policy did wrong with its store during the last run, where it did.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Waits for the operation that is awaited, at the longest until `deadline`, and rewinds the
    /// tape. An operation that does not answer in time is out of reach. Cancel-safe: the call
    /// can only be dropped as a whole.
    pub(super) async fn wait(&mut self, deadline: Instant) {
        async fn limited<T>(later: Later<T>, deadline: Instant) -> Result<T, StoreError> {
            tokio::time::timeout_at(deadline.into(), later)
                .await
                .unwrap_or_else(|_| {
                    Err(StoreError::Unavailable("it did not answer in time".into()))
                })
        }
        let answer = match self.awaited.take() {
            Some(Awaited::Get(later)) => Recorded::Got(limited(later, deadline).await),
            Some(Awaited::Swap(later)) => Recorded::Swapped(limited(later, deadline).await),
            Some(Awaited::Count(later)) => Recorded::Counted(limited(later, deadline).await),
            None => return,
        };
        self.answers.push(answer);
        self.at = 0;
    }

    /// The next recorded answer, or what to do: `Err(None)` start the operation, `Err(Some)` that
    /// error.
    fn play<T: Clone>(
        &mut self,
        pick: impl FnOnce(&Recorded) -> Option<&Result<T, StoreError>>,
    ) -> Option<Result<T, policy_store::StoreError>> {
        if self.awaited.is_some() {
            // After `pending` a policy returns; one that goes on is told the same again.
            return Some(Err(policy_store::StoreError::Pending));
        }
        if let Some(recorded) = self.answers.get(self.at) {
            self.at += 1;
            let Some(answer) = pick(recorded) else {
                let why = "called again with the same arguments, it asked the store something else";
                self.fault = Some(Fault::Contract(why.into()));
                return Some(Err(policy_store::StoreError::Unavailable));
            };
            return Some(to_policy(answer.clone()));
        }
        if self.answers.len() >= OPERATIONS_MAX {
            let why = format!("one call made more than {OPERATIONS_MAX} store operations");
            self.fault = Some(Fault::Contract(why));
            return Some(Err(policy_store::StoreError::Unavailable));
        }
        None
    }
}

fn to_policy<T>(answer: Result<T, StoreError>) -> Result<T, policy_store::StoreError> {
    answer.map_err(|error| match error {
        StoreError::Unavailable(_) => policy_store::StoreError::Unavailable,
        StoreError::Refused(why) => policy_store::StoreError::Refused(why),
    })
}

/// Plays, starts or refuses one operation: the same for each kind.
macro_rules! operate {
    ($self:ident, $recorded:ident, $awaited:ident, $checked:expr, |$store:ident| $start:expr) => {{
        if let Some(played) = $self.play(|r| {
            if let Recorded::$recorded(answer) = r {
                Some(answer)
            } else {
                None
            }
        }) {
            return played;
        }
        let reply = match ($checked, &$self.store) {
            (Ok(()), Some($store)) => $start,
            (Ok(()), None) => {
                return Err(policy_store::StoreError::Refused(
                    "this export may not touch the store".into(),
                ));
            }
            (Err(error), _) => Reply::Ready(Err(error)),
        };
        match reply {
            Reply::Ready(answer) => {
                $self.answers.push(Recorded::$recorded(answer.clone()));
                $self.at = $self.answers.len();
                to_policy(answer)
            }
            Reply::Later(later) => {
                $self.awaited = Some(Awaited::$awaited(later));
                Err(policy_store::StoreError::Pending)
            }
        }
    }};
}

impl KeyValue for Tape {
    fn get(&mut self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, policy_store::StoreError> {
        let checked = keys
            .iter()
            .try_for_each(|key| confine::key(&self.prefix, key));
        operate!(self, Got, Get, checked, |store| store.get(keys.to_vec()))
    }

    fn swap(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, policy_store::StoreError> {
        let checked = confine::key(&self.prefix, key).and_then(|()| confine::value(replacement));
        let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        operate!(self, Swapped, Swap, checked, |store| {
            store.swap(key.to_owned(), own(expected), own(replacement), ttl_ms)
        })
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, policy_store::StoreError> {
        let checked = windows
            .iter()
            .try_for_each(|window| confine::window(&self.prefix, window));
        operate!(self, Counted, Count, checked, |store| store.count(windows))
    }
}
