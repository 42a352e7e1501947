//! The permit as a guard object.

use std::time::Duration;

use fusewire_core::{Ending, Limits, Observation, Permit, Target, Timing, Verdict};
use tokio::time::Instant;

use super::overdue::Alarm;
use super::{CallFacts, Guard, Notice, millis};
use crate::engine::{Answer, Call, Fault};

/// The right to make one call. Settle it with the verdict; dropping it tells the policy that the
/// call was dropped, which judges nothing and frees a probe's lease.
#[must_use = "a permit that is dropped at once reports a dropped call"]
pub struct Admitted {
    /// Pinned to the policy that the call was admitted by.
    guard: Guard,
    /// `None`: the policy failed, or the call is settled.
    permit: Option<Permit>,
    /// As at its admission: it is settled in the same context.
    facts: CallFacts,
    limits: Limits,
    since: Instant,
    /// `None`: nobody wants to know when it is overdue.
    alarm: Option<Alarm>,
}

impl Admitted {
    /// A call that is admitted now, under these limits.
    pub(super) fn new(guard: Guard, permit: Permit, facts: CallFacts, limits: Limits) -> Self {
        let since = Instant::now();
        let alarm = limits.overdue_ms.and_then(|ms| {
            let at = since.checked_add(Duration::from_millis(ms))?;
            // Without a runtime there is nobody to wake up.
            let runtime = guard.inner.settling.runtime()?;
            let overdue = &guard.inner.overdue;
            Some(overdue.at(at, &runtime, guard.clone(), permit.clone(), facts.clone()))
        });
        Self {
            guard,
            permit: Some(permit),
            facts,
            limits,
            since,
            alarm,
        }
    }

    /// A call that no policy has decided about.
    pub(super) fn unguarded(guard: Guard) -> Self {
        Self {
            guard,
            permit: None,
            facts: CallFacts::default(),
            limits: Limits::default(),
            since: Instant::now(),
            alarm: None,
        }
    }

    /// Whether this call is the fleet's probe: it gets no retries, and a shorter time limit as far
    /// as [`Self::limits`] has one.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(|p| p.probe)
    }

    /// What the policy wants of this call's time. Your own limit stays in force: the shorter of it
    /// and `total_ms` counts. Of `overdue_ms` the guard takes care itself.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The longest that this call may last, where your own limit is this: that, or less.
    #[must_use]
    pub fn limit(&self, own: Duration) -> Duration {
        let total = self.limits.total_ms.map(Duration::from_millis);
        total.map_or(own, |total| total.min(own))
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

    /// The call is from now on as slow as whoever reads its answer, so that it is no longer told of
    /// as overdue. How long the provider took is told with [`Self::settle_timed`].
    pub(super) fn left_to_its_caller(mut self) -> Self {
        self.alarm = self.alarm.take().and_then(Alarm::unless_waiting);
        self
    }

    /// Tells how the call ended, now: it took as long as it is since it was admitted. Does not wait
    /// for the store, and can be called on any thread: what waits goes on in the runtime that the
    /// call was admitted in. Where there was none, only a store that answers at once hears of it.
    pub fn settle(self, verdict: Verdict) {
        let latency = self.since.elapsed();
        self.settle_timed(verdict, latency);
    }

    /// As [`Self::settle`], of a call that took this long: from sending the request to the end of
    /// the answer, or to the failure.
    pub fn settle_timed(mut self, verdict: Verdict, latency: Duration) {
        self.tell(Ending::Judged(verdict), Some(millis(latency)));
    }

    /// As [`Self::settle_timed`], of an attempt that was observed. Where that has no latency it took
    /// as long as it is since it was admitted.
    pub(super) fn settle_seen(self, verdict: Verdict, observation: &Observation) {
        match observation.latency_ms {
            0 => self.settle(verdict),
            ms => self.settle_timed(verdict, Duration::from_millis(ms)),
        }
    }

    fn tell(&mut self, ending: Ending, latency_ms: Option<u64>) {
        let timing = Timing {
            latency_ms,
            overdue: self.alarm.take().is_some_and(Alarm::was_told),
        };
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
        let call = Call::Settle(permit, ending, timing, guard.context(&self.facts));
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
        self.tell(Ending::Dropped, None);
    }
}
