//! How long the service is waited for.

use crate::bindings::fusewire::policy::classifier::TransportFailure;
use crate::bindings::wasi::clocks::monotonic_clock::{now, subscribe_duration};
use crate::bindings::wasi::io::poll::{Pollable, poll};
use crate::failure::Failure;

/// How often one who waits looks around: that a caller has gone away is no event of `wasi:http`, and
/// is seen when something is about to be written.
const LOOK_AROUND_NS: u64 = 500_000_000;

/// What is left of a call's time. Only time spent waiting for the service runs: a caller who reads a
/// long answer slowly does not make the service late.
pub(crate) struct Patience {
    left_ns: u64,
}

impl Patience {
    pub(crate) fn of_ms(ms: u64) -> Self {
        Self {
            left_ns: ms.saturating_mul(1_000_000),
        }
    }

    /// Waits until any of these is ready, or it is time to look around.
    ///
    /// # Errors
    /// The time was over before.
    pub(crate) fn wait(&mut self, events: &[&Pollable]) -> Result<(), Failure> {
        let began = now();
        let over = subscribe_duration(self.left_ns.min(LOOK_AROUND_NS));
        let mut all = vec![&over];
        all.extend(events);
        let ready = poll(&all);
        self.left_ns = self.left_ns.saturating_sub(now().saturating_sub(began));
        if self.left_ns == 0 && ready.iter().all(|index| *index == 0) {
            let kind = TransportFailure::TotalTimeout;
            return Err(Failure::new(kind, "the call's time was over"));
        }
        Ok(())
    }
}
