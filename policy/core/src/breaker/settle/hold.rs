//! An account that is to wait: throttled, out of quota, or not authorised.
//!
//! That is no matter of health. The account is held back until the provider's own word on it is
//! over, or the least wait for such an answer, and then goes on as before. Where a target names no
//! account, one that was throttled is the provider's: whoever calls it asks too fast. A credential
//! that was rejected may then be one of many, so nobody else is held back for it.

use super::{Call, Place, Side, Told};
use crate::breaker::EventKind;
use crate::breaker::permit::{Read, Stamp};
use crate::observation::Outcome;
use crate::record::{Hold, Reading, Record};
use crate::store::{Session, Stop};
use crate::target::Scope;

/// How much longer than the hold that is there, by how many parts of its time, another one must be
/// for the record to be written again: calls under way are told the same, one after the other.
const LONGER_PARTS: u64 = 10;

impl Call<'_> {
    /// Holds the account back, where the verdict says so.
    pub(super) fn hold(
        &mut self,
        session: &mut Session<'_>,
        read: &Read<'_>,
        side: Side,
    ) -> Result<(), Stop> {
        let Told::Judged(verdict, _) = self.told else {
            return Ok(());
        };
        let wait_ms = verdict.min_delay_ms;
        let is_hold = matches!(verdict.outcome, Outcome::Throttled | Outcome::QuotaOrAuth);
        if !self.settings.breaker.holds || !is_hold || wait_ms == 0 {
            return Ok(());
        }
        let account = read.domains.iter().find(|(d, _)| d.scope == Scope::Account);
        let held = match account {
            Some(account) => Some(account),
            None if verdict.outcome == Outcome::Throttled => read.domains.first(),
            None => None,
        };
        let Some((domain, stamps)) = held else {
            return Ok(());
        };
        if stamps.fleet == Some(Stamp::Uncounted) {
            return Ok(());
        }
        let now = self.context.now_ms;
        let until = now.saturating_add(wait_ms);
        let place = Place { domain, side };
        let key = self.record_key(place);
        for _ in 0..crate::breaker::ROUNDS {
            let seen = self.look(session, &key)?;
            let before = match &seen.reading {
                Reading::Absent => Record::fresh(),
                Reading::Known(record) => record.clone(),
                Reading::Newer(_) => return Ok(()),
            };
            let standing = before.hold(now).map_or(0, |hold| hold.until);
            if until <= standing.saturating_add(wait_ms / LONGER_PARTS) {
                return Ok(());
            }
            let after = Record {
                hold: Some(Hold {
                    until,
                    why: verdict.reason.clone(),
                }),
                ..before
            };
            if self.put(session, &key, &seen, after)? {
                let detail = format!("held back: {}{}", verdict.reason, side.aside());
                self.event(domain, EventKind::Held(until), detail);
                return Ok(());
            }
        }
        self.gave_up(domain);
        Ok(())
    }
}
