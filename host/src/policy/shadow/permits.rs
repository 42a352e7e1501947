//! The permits that the other policy would have given.
//!
//! A permit means something to the policy that gave it alone. So a call that both policies let
//! through is settled with each by its own permit.

use std::collections::HashMap;

use fusewire_core::{Decision, Permit};

use crate::engine::{Answer, Call};

/// The most permits that are remembered: more than there are calls under way on one host.
const PERMITS: usize = 4096;

/// The other policy's permits, by the tokens of those that were really given.
#[derive(Default)]
pub(super) struct Permits(HashMap<String, Permit>);

impl Permits {
    /// Remembers what both have answered to the same caller.
    pub(super) fn learn(&mut self, serving: &Answer, other: &Answer) {
        let (Answer::Admission(serving), Answer::Admission(other)) = (serving, other) else {
            return;
        };
        let (Decision::Allowed(given), Decision::Allowed(other)) =
            (&serving.decision, &other.decision)
        else {
            return;
        };
        if self.0.len() >= PERMITS {
            self.0.clear();
        }
        self.0.insert(given.token.clone(), other.clone());
    }

    /// The call as it is to be asked of the other policy. `None`: it is about a permit that the other
    /// policy never gave.
    pub(super) fn translate(&self, call: &Call, is_of_one_kind: bool) -> Option<Call> {
        let (Call::Settle(permit, ..) | Call::Overdue(permit, ..)) = call else {
            return Some(call.clone());
        };
        let Some(own) = self.0.get(&permit.token) else {
            // Two versions of one policy understand each other's.
            return is_of_one_kind.then(|| call.clone());
        };
        // One token may stand for many calls, of different accounts and operations.
        let own = Permit {
            target: permit.target.clone(),
            ..own.clone()
        };
        Some(match call.clone() {
            Call::Settle(_, ending, timing, context) => Call::Settle(own, ending, timing, context),
            Call::Overdue(_, context) => Call::Overdue(own, context),
            other => other,
        })
    }
}
