//! The store as one call sees it.
//!
//! A tape keeps every answer the call was given. When the call is made again the answers are
//! played from the beginning, and none of the operations is performed twice; the first operation
//! past the end is started. Where it answers later, the tape holds its future, and the policy is
//! told `pending`.

use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// An operation that a policy asked for.
#[derive(Debug, Clone)]
pub enum Operation {
    /// `keyvalue.get` of these keys.
    Get(Vec<String>),
    /// `keyvalue.swap` of this key: what was expected, and what was to be there.
    Swap(String, Option<Vec<u8>>, Option<Vec<u8>>),
    /// `keyvalue.count` of these windows.
    Count(Vec<Window>),
}

/// What an operation was answered.
#[derive(Debug, Clone)]
pub enum Answered {
    /// The values.
    Got(Vec<Option<Vec<u8>>>),
    /// Whether it was replaced.
    Swapped(bool),
    /// The tallies.
    Counted(Vec<Tally>),
    /// Nothing: out of reach.
    Unavailable,
    /// Nothing: refused, for this reason.
    Refused(String),
}

/// All operations of one call in order, each with its answer.
pub type Recording = Vec<(Operation, Answered)>;

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
    /// The operations, where they are to be told afterwards.
    operations: Option<Vec<Operation>>,
    /// How many operations were refused.
    refused: u32,
    /// How long the policy has run for this call.
    spent: Duration,
}

impl Tape {
    /// A tape for one call, which may touch keys that begin with `prefix` and a colon.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: Arc<str>) -> Self {
        Self {
            store: Some(store),
            prefix,
            ..Self::blank()
        }
    }

    /// As [`Self::new`], and [`Self::into_recording`] tells everything afterwards.
    #[must_use]
    pub fn recorded(store: Arc<dyn Store>, prefix: Arc<str>) -> Self {
        Self {
            operations: Some(Vec::new()),
            ..Self::new(store, prefix)
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
            operations: None,
            refused: 0,
            spent: Duration::ZERO,
        }
    }

    /// How many operations were refused so far, by the host or by the store.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.refused
    }

    /// How long the policy has run for this call, all its runs together.
    pub(super) fn spent(&self) -> Duration {
        self.spent
    }

    /// Notes a run of the policy.
    pub(super) fn spend(&mut self, time: Duration) {
        self.spent = self.spent.saturating_add(time);
    }

    /// Everything that was asked for and answered; empty where that was not kept.
    #[must_use]
    pub fn into_recording(self) -> Recording {
        let operations = self.operations.unwrap_or_default();
        let answers = self.answers.into_iter().map(Recorded::told);
        operations.into_iter().zip(answers).collect()
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
        self.keep(answer);
        self.at = 0;
    }

    fn keep(&mut self, answer: Recorded) {
        self.refused += u32::from(answer.is_refused());
        self.answers.push(answer);
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

impl Recorded {
    fn is_refused(&self) -> bool {
        let refused = |error: &StoreError| matches!(error, StoreError::Refused(_));
        match self {
            Self::Got(answer) => answer.as_ref().is_err_and(refused),
            Self::Swapped(answer) => answer.as_ref().is_err_and(refused),
            Self::Counted(answer) => answer.as_ref().is_err_and(refused),
        }
    }

    fn told(self) -> Answered {
        let answer = match self {
            Self::Got(answer) => answer.map(Answered::Got),
            Self::Swapped(answer) => answer.map(Answered::Swapped),
            Self::Counted(answer) => answer.map(Answered::Counted),
        };
        answer.unwrap_or_else(|error| match error {
            StoreError::Unavailable(_) => Answered::Unavailable,
            StoreError::Refused(why) => Answered::Refused(why),
        })
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
    ($self:ident, $recorded:ident, $awaited:ident, $checked:expr, $operation:expr, |$store:ident| $start:expr) => {{
        if let Some(played) = $self.play(|r| {
            if let Recorded::$recorded(answer) = r {
                Some(answer)
            } else {
                None
            }
        }) {
            return played;
        }
        if let Some(operations) = &mut $self.operations {
            operations.push($operation);
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
                $self.keep(Recorded::$recorded(answer.clone()));
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
        let checked = confine::keys(&self.prefix, keys);
        operate!(
            self,
            Got,
            Get,
            checked,
            Operation::Get(keys.to_vec()),
            |store| store.get(keys.to_vec())
        )
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
        let operation = || Operation::Swap(key.to_owned(), own(expected), own(replacement));
        operate!(self, Swapped, Swap, checked, operation(), |store| {
            store.swap(key.to_owned(), own(expected), own(replacement), ttl_ms)
        })
    }

    fn count(&mut self, windows: Vec<Window>) -> Result<Vec<Tally>, policy_store::StoreError> {
        let checked = confine::windows(&self.prefix, &windows);
        operate!(
            self,
            Counted,
            Count,
            checked,
            Operation::Count(windows.clone()),
            |store| store.count(windows)
        )
    }
}
