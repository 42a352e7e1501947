//! What one breaker says to a call, before any lease is taken.

use super::super::permit::Stamp;
use super::super::types::{OverrideMode, OverrideOrder, Refusal, RefusalReason};
use super::{Call, Place, SOON_MS};
use crate::entropy;
use crate::record::{Record, Seen, Standing};

/// How long a forced opening without an end is refused on before it is worth asking again, in ms.
const ORDER_RETRY_MS: u64 = 60_000;

/// What one breaker says to a call.
pub(super) enum Word {
    Pass {
        stamp: Stamp,
        holds_until: u64,
    },
    /// Its cool-down is over and nobody holds the lease. `observed`: by an operator's order the
    /// call is to be made even if another takes it first.
    Probe {
        observed: bool,
    },
    Refuse {
        refusal: Refusal,
        holds_until: u64,
        /// What it is admitted under where the refusal is not enforced.
        otherwise: Stamp,
    },
}

/// Whether a refusal is enforced.
pub(super) enum Enforced {
    Always,
    Never,
    /// By lot, and this call has drawn it.
    ThisOne,
    NotThisOne,
}

struct Ramping {
    /// Whether this call is one of those that are not let through.
    is_over_share: bool,
    percent: u64,
    left_ms: u64,
}

impl Call<'_> {
    /// What a breaker with this record says, before any lease is taken.
    pub(super) fn word(
        &self,
        place: &Place<'_>,
        seen: &Seen,
        order: Option<&OverrideOrder>,
    ) -> Word {
        let now = self.context.now_ms;
        let order_ends = order.map_or(u64::MAX, |o| {
            if o.until_ms == 0 {
                u64::MAX
            } else {
                o.until_ms
            }
        });
        let pass = |stamp, until: u64| Word::Pass {
            stamp,
            holds_until: order_ends.min(until),
        };
        let counted = || Stamp::Epoch(seen.epoch());
        match order.map(|o| o.mode) {
            Some(OverrideMode::Open) => {
                let why = order.map_or(String::new(), |o| {
                    format!("forced open by {}: {}", o.who, o.why)
                });
                let until = order_ends.min(now.saturating_add(ORDER_RETRY_MS));
                return self.refuse(place, RefusalReason::Override, until, why, Stamp::Uncounted);
            }
            Some(OverrideMode::Off) => return pass(Stamp::Uncounted, u64::MAX),
            Some(OverrideMode::Closed) => return pass(counted(), u64::MAX),
            Some(OverrideMode::Observe) | None => {}
        }
        let standing = seen.standing(now);
        if let Some(hold) = seen.record().and_then(|record| record.hold(now)) {
            let detail = format!("held back: {}", hold.why);
            let otherwise = match standing {
                Standing::Closed => counted(),
                _ => Stamp::Uncounted,
            };
            return self.refuse(place, RefusalReason::Hold, hold.until, detail, otherwise);
        }
        match standing {
            Standing::Closed => match seen.record().and_then(|record| self.ramp(record)) {
                Some(ramp) if ramp.is_over_share => self.refuse(
                    place,
                    RefusalReason::Ramp,
                    now.saturating_add(ramp.left_ms.min(SOON_MS)),
                    format!(
                        "it has closed a moment ago, and takes {} of a hundred calls for now",
                        ramp.percent
                    ),
                    counted(),
                ),
                Some(_) => pass(counted(), now),
                None => pass(counted(), u64::MAX),
            },
            Standing::Ready(_) => Word::Probe {
                observed: self.enforce_percent(order) < 100,
            },
            Standing::Open(until) => {
                let detail = match seen.record() {
                    Some(record) => format!(
                        "the breaker is open by the rule `{}` ({} in a row){}",
                        record.rule,
                        record.openings,
                        place.side.aside()
                    ),
                    None => "the breaker is not closed, by the word of a newer policy".into(),
                };
                self.refuse(
                    place,
                    RefusalReason::Open,
                    until.min(order_ends),
                    detail,
                    Stamp::Uncounted,
                )
            }
            Standing::Probing(lease) => {
                let detail = format!("a call of {} is testing the recovery", lease.owner);
                self.refuse(
                    place,
                    RefusalReason::ProbeInFlight,
                    lease.expires_ms.min(order_ends),
                    detail,
                    Stamp::Uncounted,
                )
            }
        }
    }

    /// How many of a hundred refusals are enforced.
    fn enforce_percent(&self, order: Option<&OverrideOrder>) -> u32 {
        match order {
            Some(order) if order.mode == OverrideMode::Observe => order.enforce_percent.min(100),
            _ => self.settings.breaker.enforce_percent,
        }
    }

    pub(super) fn is_enforced(&self, order: Option<&OverrideOrder>) -> Enforced {
        // Who forces it open means all of it.
        if order.is_some_and(|order| order.mode == OverrideMode::Open) {
            return Enforced::Always;
        }
        match self.enforce_percent(order) {
            0 => Enforced::Never,
            100.. => Enforced::Always,
            percent => {
                let lot = entropy::unit(self.context.entropy, entropy::ENFORCE) * 100.0;
                if lot < f64::from(percent) {
                    Enforced::ThisOne
                } else {
                    Enforced::NotThisOne
                }
            }
        }
    }

    /// Where a breaker has closed a moment ago: how much it lets through.
    fn ramp(&self, record: &Record) -> Option<Ramping> {
        let ramp = self.settings.breaker.ramp?;
        let end = record.epoch.saturating_add(ramp.time_ms);
        let now = self.context.now_ms;
        // A close by a clock that is ahead is no reason to hold calls back for longer.
        let left_ms = end.saturating_sub(now);
        let is_ramping =
            record.epoch > 0 && left_ms > 0 && left_ms <= ramp.time_ms.saturating_mul(2);
        if !is_ramping {
            return None;
        }
        let gone = now.saturating_sub(record.epoch) as f64 / ramp.time_ms as f64;
        let share = ramp.first_share + (1.0 - ramp.first_share) * gone;
        Some(Ramping {
            is_over_share: entropy::unit(self.context.entropy, entropy::RAMP) >= share,
            percent: (share * 100.0) as u64,
            left_ms,
        })
    }

    fn refuse(
        &self,
        place: &Place<'_>,
        reason: RefusalReason,
        until: u64,
        detail: String,
        otherwise: Stamp,
    ) -> Word {
        let refusal = Refusal {
            domain: place.domain.name(),
            reason,
            retry_after_ms: until.saturating_sub(self.context.now_ms).max(1),
            detail,
        };
        // The ramp's answer is for one call: another draws another lot.
        let holds_until = match reason {
            RefusalReason::Ramp => self.context.now_ms,
            _ => until,
        };
        Word::Refuse {
            refusal,
            holds_until,
            otherwise,
        }
    }
}
