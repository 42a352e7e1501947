//! The permit as a guard object.

use fusewire_core::{Ending, Observation, Permit, Target, Verdict};

use super::{CallFacts, Guard, Notice};
use crate::engine::{Answer, Call, Fault};

/// The right to make one call. Settle it with the verdict; dropping it tells the policy that the
/// call was dropped, which judges nothing and frees a probe's lease.
#[must_use = "a permit that is dropped at once reports a dropped call"]
pub struct Admitted {
    /// Pinned to the policy that the call was admitted by.
    guard: Guard,
    /// `None`: the policy failed, or the call is settled.
    permit: Option<Permit>,
}

impl Admitted {
    pub(super) fn new(guard: Guard, permit: Option<Permit>) -> Self {
        Self { guard, permit }
    }

    /// Whether this call is the fleet's probe: it gets a shorter time limit and no retries.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(|p| p.probe)
    }

    /// Which policy decides this call, to its end: the number of its generation.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.guard.decided_by()
    }

    /// Judges the attempt, by the policy that it was admitted by. As [`Guard::classify`] otherwise.
    #[must_use]
    pub fn classify(&self, target: &Target, observation: &Observation) -> Verdict {
        self.guard.classify(target, observation)
    }

    /// Tells how the call ended. Does not wait for the store, and can be called on any thread:
    /// what waits goes on in the runtime that the call was admitted in. Where there was none, only
    /// a store that answers at once hears of it.
    pub fn settle(mut self, verdict: Verdict) {
        self.tell(Ending::Judged(verdict));
    }

    fn tell(&mut self, ending: Ending) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        if let Ending::Judged(verdict) = &ending {
            self.guard.notice(&Notice::Judged {
                target: &permit.target,
                verdict,
            });
        }
        let guard = self.guard.clone();
        let call = Call::Settle(permit, ending, guard.context(&CallFacts::default()));
        let settling = &self.guard.inner.settling;
        let Some(runtime) = settling.runtime() else {
            if let Some(answer) = guard.ask_at_once(&call) {
                told(&guard, answer);
            }
            return;
        };
        settling.tell(&runtime, async move {
            told(&guard, guard.ask(&call).await);
        });
    }
}

fn told(guard: &Guard, answer: Result<Answer, Fault>) {
    match answer {
        Ok(Answer::Settled(events)) => guard.events(&events),
        Ok(_) => {}
        Err(fault) => guard.fault("settle", &fault),
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.tell(Ending::Dropped);
    }
}
