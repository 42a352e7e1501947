//! The permit as a guard object.

use fusewire_core::{Ending, Permit, Verdict};

use super::{CallFacts, Guard, Notice};
use crate::engine::{Answer, Call};

/// The right to make one call. Settle it with the verdict; dropping it tells the policy that the
/// call was dropped, which judges nothing and frees a probe's lease.
#[must_use = "a permit that is dropped at once reports a dropped call"]
pub struct Admitted {
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

    /// The policy's permit, to be settled elsewhere. This object then reports nothing. `None`
    /// where the policy failed to give one.
    #[must_use]
    pub fn into_permit(mut self) -> Option<Permit> {
        self.permit.take()
    }

    /// Tells how the call ended. Does not wait for the store.
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
        self.guard.0.settling.tell(async move {
            match guard.ask(&call).await {
                Ok(Answer::Settled(events)) => guard.events(&events),
                Ok(_) => {}
                Err(fault) => guard.fault("settle", &fault),
            }
        });
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.tell(Ending::Dropped);
    }
}
