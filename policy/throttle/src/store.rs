//! The imported store, as one call sees it.
//!
//! Every operation goes through here, so that what the contract asks of a policy is done in one
//! place: where the store says `pending`, the call returns `suspended` at once, with the number of
//! operations that were answered before; everything else that goes wrong becomes a sentence.

use crate::bindings::exports::fusewire::policy::breaker::Suspended;
use crate::bindings::fusewire::policy::keyvalue::{self, Error, Lane, Tally, Window};
use crate::config::Settings;
use crate::throttle::{self, Counts};

/// The lanes of a provider's counter; one call is in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    Accepted,
    Failed,
    Refused,
}

impl Became {
    fn lane(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

/// Whose the counts are. A breaker that closes begins a new epoch, so that failures from before
/// count no more. Here nothing closes, and old failures leave with the window: one epoch for ever.
const EPOCH: u64 = 0;

/// Why an operation has no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Not yet: the call must return this now.
    Suspended(Suspended),
    /// Not at all: the call has to do without. A sentence for the operator.
    Failed(String),
}

/// The store, during one call.
#[derive(Debug, Default)]
pub(crate) struct Store {
    answered: u32,
}

impl Store {
    /// Reads one value.
    pub(crate) fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, Stop> {
        let values = self.note(keyvalue::get(&[key]))?;
        Ok(values.into_iter().next().flatten())
    }

    /// Replaces a value where it still is what was seen. Answers whether it was.
    pub(crate) fn swap(
        &mut self,
        key: &str,
        seen: Option<&[u8]>,
        replacement: Option<&[u8]>,
        ttl_ms: u64,
    ) -> Result<bool, Stop> {
        self.note(keyvalue::swap(key, seen, replacement, ttl_ms))
    }

    /// Counts a call (or, with `None`, only reads), and answers what the window holds.
    pub(crate) fn count(
        &mut self,
        key: String,
        call: Option<Became>,
        settings: &Settings,
        now_ms: u64,
    ) -> Result<Counts, Stop> {
        let add = call.map(|became| Lane {
            name: became.lane().into(),
            amount: 1,
        });
        let window = Window {
            key,
            epoch: EPOCH,
            bucket: throttle::bucket(settings.window_ms, now_ms),
            add: add.into_iter().collect(),
            since: now_ms.saturating_sub(settings.window_ms),
            ttl_ms: settings.window_ms,
        };
        let tallies = self.note(keyvalue::count(&[window]))?;
        match tallies.first() {
            Some(tally) if tally.epoch == EPOCH => Ok(counts(tally)),
            // Nothing of this policy's doing, so nothing that it can put right.
            _ => Err(Stop::Failed("the counter belongs to somebody else".into())),
        }
    }

    fn note<T>(&mut self, answer: Result<T, Error>) -> Result<T, Stop> {
        match answer {
            Ok(value) => {
                self.answered = self.answered.saturating_add(1);
                Ok(value)
            }
            Err(Error::Pending) => Err(Stop::Suspended(Suspended {
                answered: self.answered,
            })),
            Err(Error::Unavailable) => Err(Stop::Failed("the store is out of reach".into())),
            Err(Error::Refused(why)) => Err(Stop::Failed(format!("the store refused: {why}"))),
        }
    }
}

fn counts(tally: &Tally) -> Counts {
    let amount = |became: Became| {
        let lane = tally.lanes.iter().find(|lane| lane.name == became.lane());
        lane.map_or(0, |lane| lane.amount)
    };
    Counts {
        accepted: amount(Became::Accepted),
        failed: amount(Became::Failed),
        refused: amount(Became::Refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspended_call_says_how_many_operations_were_answered_before() {
        let mut store = Store::default();
        assert!(store.note(Ok(())).is_ok() && store.note(Ok(())).is_ok());
        let Err(Stop::Suspended(suspended)) = store.note::<()>(Err(Error::Pending)) else {
            panic!("not suspended");
        };
        assert_eq!(suspended.answered, 2);
    }

    #[test]
    fn lanes_that_are_left_out_are_zero_and_strange_ones_are_nothing() {
        let lane = |name: &str, amount| Lane {
            name: name.into(),
            amount,
        };
        let tally = Tally {
            epoch: 0,
            lanes: vec![lane("failed", 3), lane("success", 9)],
        };
        let failed = Counts {
            failed: 3,
            ..Counts::default()
        };
        assert_eq!(counts(&tally), failed);
    }
}
