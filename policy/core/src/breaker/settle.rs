//! What an outcome does.
//!
//! Under a closed breaker it is counted; where the counts then trip a rule, the record is
//! replaced. A probe's outcome is judged by itself, never by the old window: that has aged out
//! during the cool-down.

use super::permit::{self, Stamp};
use super::rules::{self, Said, Share};
use super::types::{
    Context, Ending, Event, EventKind, IgnoredReason, Permit, Phase, ProbeOutcome, Transition,
};
use crate::config::{Config, Settings};
use crate::observation::{Blame, Effect, Verdict};
use crate::record::{self, Reading, Record, Seen};
use crate::store::{KeyValue, Session, Stop, Suspended, Tally, Window};
use crate::target::{Domain, Scope};

/// Tells how a call ended that was admitted under this permit. See `wit/breaker.wit`.
///
/// # Errors
/// [`Suspended`] where the store has not answered yet.
pub fn settle(
    config: &Config,
    store: &mut dyn KeyValue,
    permit: &Permit,
    ending: &Ending,
    context: &Context,
) -> Result<Vec<Event>, Suspended> {
    let mut call = Call {
        config,
        settings: config.settings(&permit.target.provider),
        verdict: match ending {
            Ending::Judged(verdict) => Some(verdict),
            Ending::Dropped => None,
        },
        context,
        events: Vec::new(),
    };
    let stamped = match permit::read(permit, context.now_ms) {
        Ok(stamped) => stamped,
        Err(why) => {
            call.event("", EventKind::Ignored(IgnoredReason::InvalidPermit), why);
            return Ok(call.events);
        }
    };
    match call.tell(&mut Session::new(store), &stamped) {
        Ok(()) => {}
        Err(Stop::Suspended(suspended)) => return Err(suspended),
        Err(Stop::Store(why)) => {
            let domain = stamped.first().map(|(d, _)| d.name()).unwrap_or_default();
            call.event(
                &domain,
                EventKind::Store(why),
                "the outcome was not counted".into(),
            );
        }
    }
    Ok(call.events)
}

struct Call<'a> {
    config: &'a Config,
    settings: &'a Settings,
    /// `None`: the call was dropped.
    verdict: Option<&'a Verdict>,
    context: &'a Context,
    events: Vec<Event>,
}

impl Call<'_> {
    fn tell(
        &mut self,
        session: &mut Session<'_>,
        stamped: &[(Domain<'_>, Stamp)],
    ) -> Result<(), Stop> {
        // Probes first: whatever goes wrong with the counters, a lease is not left to its expiry.
        for (domain, stamp) in stamped {
            match stamp {
                Stamp::Lease(token) => {
                    self.settle_probe(session, domain, token, self.share(domain, stamped))?
                }
                Stamp::Unshared if self.share(domain, stamped).is_some() => {
                    self.ignored(
                        domain,
                        IgnoredReason::Unshared,
                        "admitted while the store was out of reach",
                    );
                }
                Stamp::Unshared | Stamp::Uncounted | Stamp::Epoch(_) => {}
            }
        }
        let mut counted = Vec::new();
        let mut windows = Vec::new();
        for (domain, stamp) in stamped {
            let Stamp::Epoch(epoch) = stamp else { continue };
            let Some(share) = self.share(domain, stamped) else {
                continue;
            };
            counted.push((domain, *epoch, share));
            windows.push(self.window(domain, *epoch, share));
        }
        if !windows.is_empty() {
            let tallies = session.count(windows)?;
            for ((domain, epoch, share), tally) in counted.into_iter().zip(&tallies) {
                self.judge(session, domain, epoch, share, tally)?;
            }
        }
        Ok(())
    }

    /// What the outcome is to this domain; `None`: nothing.
    ///
    /// A failure is laid to the domain that the verdict blames, or to the provider where the
    /// target does not tell that part apart. The others did their part where a narrower domain
    /// is to blame, and have shown nothing where the provider is.
    fn share(&self, domain: &Domain<'_>, stamped: &[(Domain<'_>, Stamp)]) -> Option<Share> {
        let verdict = self.verdict?;
        let slow = verdict.slow;
        match verdict.effect {
            Effect::Neutral => None,
            Effect::Success | Effect::SlowSuccess => Some(Share {
                failed: false,
                slow,
            }),
            Effect::Failure => {
                let blamed = match verdict.blame {
                    Blame::Account => Scope::Account,
                    Blame::Operation => Scope::Operation,
                    Blame::Provider | Blame::Caller | Blame::Nobody => Scope::Provider,
                };
                let told_apart = stamped.iter().any(|(d, _)| d.scope == blamed);
                let culprit = if told_apart { blamed } else { Scope::Provider };
                if domain.scope == culprit {
                    Some(Share { failed: true, slow })
                } else if culprit == Scope::Provider {
                    None
                } else {
                    Some(Share {
                        failed: false,
                        slow,
                    })
                }
            }
        }
    }

    fn window(&self, domain: &Domain<'_>, epoch: u64, share: Share) -> Window {
        let key = domain.window_key(&self.config.prefix);
        rules::longest(
            &self.settings.breaker,
            &key,
            epoch,
            self.context.now_ms,
            Some(share),
        )
    }

    /// The rule that trips in this epoch, if any does.
    fn tripped(
        &self,
        session: &mut Session<'_>,
        domain: &Domain<'_>,
        epoch: u64,
        longest: &Tally,
    ) -> Result<Option<&'static str>, Stop> {
        let breaker = &self.settings.breaker;
        match rules::judge(breaker, longest) {
            Said::Tripped(rule) => Ok(Some(rule)),
            Said::Nothing => Ok(None),
            Said::LookCloser => {
                let key = domain.window_key(&self.config.prefix);
                let window = rules::shortest(breaker, &key, epoch, self.context.now_ms);
                let tallies = session.count(vec![window])?;
                let shortest = tallies.first().filter(|tally| tally.epoch == epoch);
                Ok(shortest.and_then(|tally| rules::tripped_closely(breaker, tally)))
            }
        }
    }

    /// Reads the domain's record.
    fn look(&self, session: &mut Session<'_>, key: &str) -> Result<Seen, Stop> {
        let bytes = session.get(&[key.to_owned()])?.into_iter().next().flatten();
        Ok(Seen::read(bytes, self.settings, self.context.now_ms))
    }

    /// Puts `after` in the place of what was seen; `false` where that has changed meanwhile.
    fn put(
        &self,
        session: &mut Session<'_>,
        key: &str,
        seen: &Seen,
        after: Record,
    ) -> Result<bool, Stop> {
        let (after, ttl) = after.written(self.settings, self.context.now_ms);
        session.swap(key, seen.bytes.as_deref(), &after.to_bytes(), ttl)
    }

    /// Trips the domain where a rule holds, and drops an outcome of an earlier epoch.
    fn judge(
        &mut self,
        session: &mut Session<'_>,
        domain: &Domain<'_>,
        epoch: u64,
        share: Share,
        tally: &Tally,
    ) -> Result<(), Stop> {
        let owner = tally.epoch;
        if owner <= epoch {
            return match self.tripped(session, domain, epoch, tally)? {
                Some(rule) => self.trip(session, domain, epoch, share, rule),
                None => Ok(()),
            };
        }
        // The counter belongs to a later epoch. Either so does the record, and the outcome is
        // stale; or the record was lost while its counter lived on. Then it is put back, or
        // every outcome would be taken for stale for as long as there is traffic.
        let key = domain.record_key(&self.config.prefix);
        let seen = self.look(session, &key)?;
        let lost = record::is_epoch(owner, self.context.now_ms)
            && match &seen.reading {
                Reading::Absent => epoch == 0,
                Reading::Known(record) => record.phase == Phase::Closed && record.epoch == epoch,
                Reading::Newer(_) => false,
            };
        if !lost {
            self.ignored(
                domain,
                IgnoredReason::Stale,
                "admitted before the breaker last closed",
            );
            return Ok(());
        }
        let base = seen.record().cloned().unwrap_or_else(Record::fresh);
        // Where another host was first, it wrote the same.
        self.put(
            session,
            &key,
            &seen,
            Record {
                epoch: owner,
                ..base
            },
        )?;
        let tallies = session.count(vec![self.window(domain, owner, share)])?;
        let Some(tally) = tallies.first().filter(|tally| tally.epoch == owner) else {
            return Ok(());
        };
        match self.tripped(session, domain, owner, tally)? {
            Some(rule) => self.trip(session, domain, owner, share, rule),
            None => Ok(()),
        }
    }

    /// Opens the domain, where it still is closed in the epoch that the outcome belongs to.
    fn trip(
        &mut self,
        session: &mut Session<'_>,
        domain: &Domain<'_>,
        epoch: u64,
        share: Share,
        rule: &str,
    ) -> Result<(), Stop> {
        let now = self.context.now_ms;
        let key = domain.record_key(&self.config.prefix);
        for _ in 0..super::ROUNDS {
            let seen = self.look(session, &key)?;
            let before = match &seen.reading {
                Reading::Absent => Record {
                    epoch,
                    ..Record::fresh()
                },
                Reading::Known(record) if record.epoch != epoch => {
                    self.ignored(
                        domain,
                        IgnoredReason::Stale,
                        "the breaker closed while the call was under way",
                    );
                    return Ok(());
                }
                // Counted, and by an operator's order without effect.
                Reading::Known(record) if !record.may_trip(now) => return Ok(()),
                Reading::Known(record) if record.phase == Phase::Closed => record.clone(),
                Reading::Known(_) | Reading::Newer(_) => {
                    // A late success comes this way only while the window is still full of
                    // failures, so counting it would say nothing.
                    if share.failed {
                        self.ignored(
                            domain,
                            IgnoredReason::Late,
                            "the breaker opened while the call was under way",
                        );
                    }
                    return Ok(());
                }
            };
            let after = self.opened(&before, rule);
            if self.put(session, &key, &seen, after.clone())? {
                self.transition(
                    domain,
                    before.phase,
                    &after,
                    rule,
                    format!("the rule `{rule}` tripped"),
                );
                return Ok(());
            }
        }
        self.gave_up(domain);
        Ok(())
    }

    fn settle_probe(
        &mut self,
        session: &mut Session<'_>,
        domain: &Domain<'_>,
        token: &str,
        share: Option<Share>,
    ) -> Result<(), Stop> {
        let key = domain.record_key(&self.config.prefix);
        for _ in 0..super::ROUNDS {
            let seen = self.look(session, &key)?;
            let holder = seen.record().filter(|record| {
                record.phase == Phase::HalfOpen
                    && record.lease.as_ref().is_some_and(|l| l.token == token)
            });
            let Some(before) = holder else {
                self.ignored(
                    domain,
                    IgnoredReason::LeaseLost,
                    "another call holds the probe lease by now",
                );
                return Ok(());
            };
            let (after, outcome) = match share {
                None => (before.freed(), ProbeOutcome::Neutral),
                Some(Share { failed: true, .. }) => {
                    (self.opened(before, "probe-failed"), ProbeOutcome::Failed)
                }
                Some(Share { failed: false, .. }) => (
                    before.probe_passed(self.settings, self.context.now_ms),
                    ProbeOutcome::Passed,
                ),
            };
            if self.put(session, &key, &seen, after.clone())? {
                let detail = match self.verdict {
                    Some(verdict) => format!("the probe: {}", verdict.reason),
                    None => "the probe was dropped".into(),
                };
                self.event(&domain.name(), EventKind::Probe(outcome), detail);
                match after.phase {
                    Phase::Open => {
                        let detail = "a probe failed, so it is open again".into();
                        self.transition(domain, before.phase, &after, "probe-failed", detail);
                    }
                    Phase::Closed => {
                        let detail = "enough probes passed in a row".into();
                        self.transition(domain, before.phase, &after, "probes-passed", detail);
                    }
                    Phase::HalfOpen => {}
                }
                return Ok(());
            }
        }
        self.gave_up(domain);
        Ok(())
    }

    fn opened(&self, before: &Record, rule: &str) -> Record {
        let hint = self.verdict.and_then(|v| v.retry_after_ms);
        before.opened(
            rule,
            hint,
            self.settings,
            self.context.now_ms,
            self.context.entropy,
        )
    }

    fn transition(
        &mut self,
        domain: &Domain<'_>,
        before: Phase,
        after: &Record,
        rule: &str,
        detail: String,
    ) {
        let transition = Transition {
            before,
            after: after.phase,
            rule: rule.into(),
            until_ms: after.until,
            openings: after.openings,
        };
        self.event(&domain.name(), EventKind::Transition(transition), detail);
    }

    fn ignored(&mut self, domain: &Domain<'_>, reason: IgnoredReason, detail: &str) {
        self.event(&domain.name(), EventKind::Ignored(reason), detail.into());
    }

    fn gave_up(&mut self, domain: &Domain<'_>) {
        let why = "the record changed each time it was about to be written".to_owned();
        self.event(
            &domain.name(),
            EventKind::Store(why),
            "the outcome changed nothing".into(),
        );
    }

    fn event(&mut self, domain: &str, kind: EventKind, detail: String) {
        self.events.push(Event {
            domain: domain.into(),
            at_ms: self.context.now_ms,
            kind,
            detail,
        });
    }
}
