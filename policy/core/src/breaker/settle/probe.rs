//! A probe's outcome.

use super::{Call, Place, Told};
use crate::breaker::rules::Share;
use crate::breaker::{EventKind, IgnoredReason, Phase, ProbeOutcome};
use crate::store::{Session, Stop};

impl Call<'_> {
    pub(super) fn settle_probe(
        &mut self,
        session: &mut Session<'_>,
        place: Place<'_>,
        token: &str,
        share: Option<Share>,
    ) -> Result<(), Stop> {
        let verdict = match self.told {
            Told::Judged(verdict, timing) => Some((verdict, timing)),
            Told::Dropped => None,
            // A probe has a time limit of its own, and is judged when it has ended.
            Told::Overdue => return Ok(()),
        };
        // Where slow answers open the breaker, one is no reason to close it.
        let is_slow = self.settings.breaker.slow_ratio.is_some()
            && (share.is_some_and(|share| share.slow)
                || verdict.is_some_and(|(_, timing)| timing.overdue));
        let failed = share.map(|share| {
            if share.has_failed() {
                Some("probe-failed")
            } else if is_slow {
                Some("probe-slow")
            } else {
                None
            }
        });
        let key = self.record_key(place);
        for _ in 0..crate::breaker::ROUNDS {
            let seen = self.look(session, &key)?;
            let holder = seen.record().filter(|record| {
                record.phase == Phase::HalfOpen
                    && record.lease.as_ref().is_some_and(|l| l.token == token)
            });
            let Some(before) = holder else {
                self.ignored(
                    place.domain,
                    IgnoredReason::LeaseLost,
                    "another call holds the probe lease by now",
                );
                return Ok(());
            };
            let (after, outcome) = match failed {
                None => (before.freed(), ProbeOutcome::Neutral),
                Some(Some(rule)) => (self.opened(before, rule), ProbeOutcome::Failed),
                Some(None) => (
                    before.probe_passed(self.settings, self.context.now_ms),
                    ProbeOutcome::Passed,
                ),
            };
            if self.put(session, &key, &seen, after.clone())? {
                let detail = match verdict {
                    Some((verdict, _)) => format!("the probe: {}", verdict.reason),
                    None => "the probe was dropped".into(),
                };
                self.event(place.domain, EventKind::Probe(outcome), detail);
                match after.phase {
                    Phase::Open => {
                        let (rule, detail) = match failed {
                            Some(Some(rule @ "probe-slow")) => {
                                (rule, "a probe was slow, so it is open again")
                            }
                            _ => ("probe-failed", "a probe failed, so it is open again"),
                        };
                        self.transition(place, before.phase, &after, rule, detail);
                    }
                    Phase::Closed => {
                        let detail = "enough probes passed in a row";
                        self.transition(place, before.phase, &after, "probes-passed", detail);
                    }
                    Phase::HalfOpen => {}
                }
                return Ok(());
            }
        }
        self.gave_up(place.domain);
        Ok(())
    }
}
