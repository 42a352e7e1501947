//! What is learnt of latencies: `slow.rs` says how.

use super::{Call, Place, Told};
use crate::breaker::permit::{Read, Stamp};
use crate::breaker::slow;
use crate::config::Learnt;
use crate::entropy;
use crate::observation::Effect;
use crate::record::{Reading, Record};
use crate::store::{Session, Stop, Tally, Window};
use crate::target::Domain;

/// How many of a thousand calls look whether the percentile in the record has grown old.
const LOOKS_PER_THOUSAND: f64 = 20.0;

/// What one good answer teaches.
pub(super) struct Learning<'a> {
    pub(super) window: Window,
    domain: &'a Domain<'a>,
    learnt: Learnt,
    /// The limit that the call was admitted under; `None`: the absolute one.
    slow_ms: Option<u64>,
}

impl Call<'_> {
    /// What is to be learnt of this outcome: of good answers under a closed breaker, and of no slow
    /// ones.
    pub(super) fn learning<'r>(&self, read: &'r Read<'r>) -> Option<Learning<'r>> {
        let learnt = self.settings.slow.learnt?;
        let Told::Judged(verdict, timing) = self.told else {
            return None;
        };
        let latency_ms = timing.latency_ms?;
        let is_good = matches!(verdict.effect, Effect::Success | Effect::SlowSuccess);
        if !is_good || self.is_slow(verdict, timing, read) {
            return None;
        }
        let domains: Vec<Domain<'_>> = read.domains.iter().map(|(d, _)| *d).collect();
        let (domain, stamps) = read.domains.get(slow::learning_domain(&domains))?;
        if !matches!(stamps.fleet, Some(Stamp::Epoch(_))) {
            return None;
        }
        let key = domain.latency_key(&self.config.prefix);
        Some(Learning {
            window: slow::counted(&learnt, key, latency_ms, self.context.now_ms),
            domain,
            learnt,
            slow_ms: read.slow_ms,
        })
    }

    /// Puts what was learnt into the record, where it says something new.
    pub(super) fn learn(
        &mut self,
        session: &mut Session<'_>,
        learning: &Learning<'_>,
        tally: &Tally,
    ) -> Result<(), Stop> {
        let now = self.context.now_ms;
        let Some(pace) = slow::pace(&learning.learnt, tally, now) else {
            return Ok(());
        };
        // Most calls were admitted under what they teach, so few have to read the record.
        let limit = slow::limit_by(self.settings, &learning.learnt, &pace);
        let looks = entropy::unit(self.context.entropy, entropy::PACE) * 1_000.0;
        if learning.slow_ms == limit && looks >= LOOKS_PER_THOUSAND {
            return Ok(());
        }
        let key = self.record_key(Place::fleet(learning.domain));
        let seen = self.look(session, &key)?;
        let before = match &seen.reading {
            Reading::Absent => Record::fresh(),
            Reading::Known(record) => record.clone(),
            Reading::Newer(_) => return Ok(()),
        };
        if slow::is_news(before.pace.as_ref(), &pace, &learning.learnt) {
            // Where another call was first, that has written the same.
            self.put(
                session,
                &key,
                &seen,
                Record {
                    pace: Some(pace),
                    ..before
                },
            )?;
        }
        Ok(())
    }
}
