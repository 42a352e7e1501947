//! An outcome under a closed breaker: it is counted, and where a rule then holds, the breaker trips.

use super::pace::Learning;
use super::{Call, Place, Side};
use crate::breaker::rules::{self, Counter, Said, Share, Witness};
use crate::breaker::{EventKind, IgnoredReason, Phase};
use crate::record::{self, Reading, Record};
use crate::store::{Session, Stop, Tally};

/// An outcome as one breaker counts it.
pub(super) struct Counted<'a> {
    place: Place<'a>,
    /// The epoch that it was admitted in.
    epoch: u64,
    share: Share,
}

impl<'a> Counted<'a> {
    pub(super) fn new(place: Place<'a>, epoch: u64, share: Share) -> Self {
        Self {
            place,
            epoch,
            share,
        }
    }
}

impl Call<'_> {
    /// Counts an outcome in all of these, in one operation, with what is learnt of it.
    pub(super) fn count(
        &mut self,
        session: &mut Session<'_>,
        counted: &[Counted<'_>],
        learning: Option<Learning<'_>>,
    ) -> Result<(), Stop> {
        let keys: Vec<String> = counted.iter().map(|c| self.window_key(c.place)).collect();
        let mut windows: Vec<_> = counted
            .iter()
            .zip(&keys)
            .map(|(c, key)| self.counter(c.place, key, c.epoch).longest(Some(c.share)))
            .collect();
        windows.extend(learning.as_ref().map(|learning| learning.window.clone()));
        if windows.is_empty() {
            return Ok(());
        }
        let tallies = session.count(windows)?;
        for ((counted, key), tally) in counted.iter().zip(&keys).zip(&tallies) {
            self.judge(session, counted, key, tally)?;
        }
        match (learning, tallies.get(counted.len())) {
            (Some(learning), Some(tally)) => self.learn(session, &learning, tally),
            _ => Ok(()),
        }
    }

    fn window_key(&self, place: Place<'_>) -> String {
        place
            .side
            .window_key(place.domain, self.config, &self.context.instance)
    }

    fn counter<'k>(&'k self, place: Place<'_>, key: &'k str, epoch: u64) -> Counter<'k> {
        let settings = &self.settings.breaker;
        let is_asked = place.side == Side::Fleet && settings.quorum.is_needed();
        Counter {
            settings,
            key,
            epoch,
            now: self.context.now_ms,
            witness: is_asked.then_some(Witness {
                instance: &self.context.instance,
                fingerprint: self.context.fingerprint,
            }),
        }
    }

    /// The rule that trips in this epoch, if any does and enough have seen it.
    fn tripped(
        &self,
        session: &mut Session<'_>,
        place: Place<'_>,
        key: &str,
        epoch: u64,
        longest: &Tally,
    ) -> Result<Option<&'static str>, Stop> {
        let breaker = &self.settings.breaker;
        let is_quorum = |tally: &Tally| place.side == Side::Own || rules::is_quorum(breaker, tally);
        let closer = match rules::judge(breaker, longest) {
            Said::Tripped(rule) if is_quorum(longest) => return Ok(Some(rule)),
            // Whoever has not seen it in the longest window has not in a shorter one.
            Said::Tripped(_) | Said::Nothing => return Ok(None),
            Said::LookCloser(closer) => closer,
        };
        let windows = self.counter(place, key, epoch).closely(&closer);
        let tallies = session.count(windows)?;
        Ok(closer.iter().zip(&tallies).find_map(|(length, tally)| {
            rules::tripped_over(breaker, *length, tally)
                .filter(|_| tally.epoch == epoch && is_quorum(tally))
        }))
    }

    /// Trips the breaker where a rule holds, and drops an outcome of an earlier epoch.
    fn judge(
        &mut self,
        session: &mut Session<'_>,
        counted: &Counted<'_>,
        key: &str,
        tally: &Tally,
    ) -> Result<(), Stop> {
        let Counted {
            place,
            epoch,
            share,
        } = *counted;
        let owner = tally.epoch;
        if owner <= epoch {
            if share.has_failed() && rules::is_reshaped(&self.settings.breaker, tally) {
                self.tell_reshaped(session, place, epoch)?;
            }
            return match self.tripped(session, place, key, epoch, tally)? {
                Some(rule) => self.trip(session, place, epoch, share, rule),
                None => Ok(()),
            };
        }
        // The counter belongs to a later epoch. Either so does the record, and the outcome is
        // stale; or the record was lost while its counter lived on. Then it is put back, or
        // every outcome would be taken for stale for as long as there is traffic.
        let record_key = self.record_key(place);
        let seen = self.look(session, &record_key)?;
        let lost = record::is_epoch(owner, self.context.now_ms)
            && match &seen.reading {
                Reading::Absent => epoch == 0,
                Reading::Known(record) => record.phase == Phase::Closed && record.epoch == epoch,
                Reading::Newer(_) => false,
            };
        if !lost {
            self.ignored(
                place.domain,
                IgnoredReason::Stale,
                "admitted before the breaker last closed",
            );
            return Ok(());
        }
        let base = seen.record().cloned().unwrap_or_else(Record::fresh);
        // Where another host was first, it wrote the same.
        self.put(
            session,
            &record_key,
            &seen,
            Record {
                epoch: owner,
                ..base
            },
        )?;
        let window = self.counter(place, key, owner).longest(Some(share));
        let tallies = session.count(vec![window])?;
        let Some(tally) = tallies.first().filter(|tally| tally.epoch == owner) else {
            return Ok(());
        };
        match self.tripped(session, place, key, owner, tally)? {
            Some(rule) => self.trip(session, place, owner, share, rule),
            None => Ok(()),
        }
    }

    /// Opens the breaker, where it still is closed in the epoch that the outcome belongs to.
    fn trip(
        &mut self,
        session: &mut Session<'_>,
        place: Place<'_>,
        epoch: u64,
        share: Share,
        rule: &str,
    ) -> Result<(), Stop> {
        let now = self.context.now_ms;
        let key = self.record_key(place);
        for _ in 0..crate::breaker::ROUNDS {
            let seen = self.look(session, &key)?;
            let before = match &seen.reading {
                Reading::Absent => Record {
                    epoch,
                    ..Record::fresh()
                },
                Reading::Known(record) if record.epoch != epoch => {
                    self.ignored(
                        place.domain,
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
                    if share.has_failed() {
                        self.ignored(
                            place.domain,
                            IgnoredReason::Late,
                            "the breaker opened while the call was under way",
                        );
                    }
                    return Ok(());
                }
            };
            let after = self.opened(&before, rule);
            if self.put(session, &key, &seen, after.clone())? {
                let detail = ["the rule `", rule, "` tripped"].concat();
                self.transition(place, before.phase, &after, rule, &detail);
                return Ok(());
            }
        }
        self.gave_up(place.domain);
        Ok(())
    }

    /// Says, once, that the window holds counts of another shape.
    fn tell_reshaped(
        &mut self,
        session: &mut Session<'_>,
        place: Place<'_>,
        epoch: u64,
    ) -> Result<(), Stop> {
        let width = self.settings.breaker.bucket_ms();
        let key = self.record_key(place);
        let seen = self.look(session, &key)?;
        let before = match &seen.reading {
            Reading::Absent => Record {
                epoch,
                ..Record::fresh()
            },
            Reading::Known(record) => record.clone(),
            Reading::Newer(_) => return Ok(()),
        };
        if before.buckets == width {
            return Ok(());
        }
        let after = Record {
            buckets: width,
            ..before
        };
        if self.put(session, &key, &seen, after)? {
            self.event(
                place.domain,
                EventKind::Reshaped,
                format!(
                    "the windows have buckets of {width} ms now; what was counted in others counts \
                     until it has aged out"
                ),
            );
        }
        Ok(())
    }
}
