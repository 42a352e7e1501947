//! The time limits of an attempt.

use std::future::Future;
use std::time::{Duration, Instant};

use fusewire_core::TransportFailure;

use super::Failure;

/// The time limits of one attempt at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection: name resolution and the TLS handshake included.
    pub connect: Duration,
    /// From one byte of the answer to the next, and from the connection to the first.
    pub read: Duration,
    /// For the whole attempt, to the last byte of the answer.
    pub total: Duration,
    /// The total of a probe, where that is shorter than what the policy gives it: it is a caller's
    /// request that tests the provider.
    pub probe: Duration,
}

impl Default for Limits {
    /// What the design sets: 2 s, 4 s and 8 s. A probe's is left to the policy.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            read: Duration::from_secs(4),
            total: Duration::from_secs(8),
            probe: Duration::from_secs(8),
        }
    }
}

/// What is left of an attempt's time.
///
/// Only time spent waiting for the provider runs: a caller who reads a long answer slowly does
/// not make the provider late.
#[derive(Debug, Clone, Copy)]
pub struct Timer {
    left: Duration,
    overrun: TransportFailure,
    waited: Duration,
}

impl Timer {
    /// A timer with this total, cut to what a caller's own deadline leaves.
    #[must_use]
    pub fn new(total: Duration, deadline: Option<Duration>) -> Self {
        match deadline {
            Some(left) if left < total => Self {
                left,
                overrun: TransportFailure::CallerDeadline,
                waited: Duration::ZERO,
            },
            _ => Self {
                left: total,
                overrun: TransportFailure::TotalTimeout,
                waited: Duration::ZERO,
            },
        }
    }

    /// How long the provider has been waited for.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.left
    }

    /// The failure that it is when nothing is left.
    #[must_use]
    pub fn overrun(&self) -> Failure {
        let cause = match self.overrun {
            TransportFailure::CallerDeadline => "the caller's deadline ran out",
            _ => "the total limit ran out",
        };
        Failure::new(self.overrun, cause)
    }

    /// Notes time spent waiting.
    pub(super) fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
        self.waited = self.waited.saturating_add(time);
    }

    /// Waits for something from the provider, at the longest `read`, and as long as is left.
    ///
    /// # Errors
    /// The limit that fired.
    pub async fn within<T>(
        &mut self,
        read: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let done = tokio::time::timeout(read.min(self.left), work).await;
        let by_read = read < self.left;
        self.spend(begun.elapsed());
        done.map_err(|_| {
            if by_read {
                read_timeout(read)
            } else {
                self.overrun()
            }
        })
    }
}

/// The failure that it is when nothing came within the read limit.
pub(super) fn read_timeout(read: Duration) -> Failure {
    Failure::new(
        TransportFailure::ReadTimeout,
        format!("nothing came for {read:?}"),
    )
}
