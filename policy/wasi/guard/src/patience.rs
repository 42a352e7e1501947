//! How long the service is waited for.

use crate::bindings::fusewire::policy::classifier::TransportFailure;
use crate::bindings::wasi::clocks::monotonic_clock::{now, subscribe_duration};
use crate::bindings::wasi::io::poll::{Pollable, poll};
use crate::failure::Failure;

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

    /// Waits until any of these is ready.
    ///
    /// # Errors
    /// The time was over before.
    pub(crate) fn wait(&mut self, events: &[&Pollable]) -> Result<(), Failure> {
        let began = now();
        let over = subscribe_duration(self.left_ns);
        let mut all = vec![&over];
        all.extend(events);
        let ready = poll(&all);
        self.left_ns = self.left_ns.saturating_sub(now().saturating_sub(began));
        if ready.iter().all(|index| *index == 0) {
            let kind = TransportFailure::TotalTimeout;
            return Err(Failure::new(kind, "the call's time was over"));
        }
        Ok(())
    }
}
