//! Admissions that hold, so that the policy is not asked about every request.
//!
//! An admission says until when it holds, unless a record that was read for it changes. Each change
//! of a record gives the *turn* of its prefix a new number in shared data, which reading takes a
//! fraction of what asking the policy does; while the number is the same, so is every record.
//!
//! Kept are allowances that are not a probe's. The turn comes after the change: for the microseconds
//! between the two, others may be admitted by the record before it, as those are that were admitted
//! just before.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fusewire_core::{Limits, Permit, Target};

/// How long an admission is kept at most, in ms: should a worker die between a change and its
/// turn, and for records that end by their lifetime, which is no change.
const HOLD_MS: u64 = 1_000;

/// The most targets that are kept.
const TARGETS_MAX: usize = 1_024;

/// The moment of a request.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The turn of the records.
    pub turn: u32,
    /// The present time on this host's own clock, in ms.
    pub host_ms: u64,
    /// The present time on the fleet's clock, in ms.
    pub fleet_ms: u64,
}

/// Admissions that hold, in one worker.
#[derive(Debug, Default)]
pub struct Holding {
    held: RefCell<BTreeMap<u64, Held>>,
}

#[derive(Debug)]
struct Held {
    permit: Permit,
    limits: Limits,
    at: Moment,
    until_ms: u64,
}

impl Holding {
    /// The permit that a request for this target has by an admission that holds, and its limits.
    pub fn permit(&self, target: &Target, now: Moment) -> Option<(Permit, Limits)> {
        let held = self.held.try_borrow().ok()?;
        let held = held
            .get(&digest(target))
            .filter(|held| held.permit.target == *target)?;
        let age = now.host_ms.checked_sub(held.at.host_ms)?;
        let holds = held.at.turn == now.turn
            && age < HOLD_MS
            && (held.at.fleet_ms..held.until_ms).contains(&now.fleet_ms);
        holds.then(|| (held.permit.clone(), held.limits))
    }

    /// Keeps a permit whose admission holds until this moment on the fleet's clock.
    pub fn keep(&self, permit: &Permit, limits: Limits, at: Moment, until_ms: u64) {
        let Ok(mut held) = self.held.try_borrow_mut() else {
            return;
        };
        if permit.probe || until_ms <= at.fleet_ms {
            return;
        }
        if held.len() >= TARGETS_MAX {
            held.clear();
        }
        let permit = permit.clone();
        held.insert(
            digest(&permit.target),
            Held {
                permit,
                limits,
                at,
                until_ms,
            },
        );
    }
}

fn digest(target: &Target) -> u64 {
    let parts = [
        Some(target.provider.as_str()),
        target.account.as_deref(),
        target.operation.as_deref(),
    ];
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.unwrap_or_default().bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        total_ms: None,
        overdue_ms: Some(2_000),
    };

    fn at(turn: u32, ms: u64) -> Moment {
        Moment {
            turn,
            host_ms: ms,
            fleet_ms: ms + 5_000,
        }
    }

    fn permit(probe: bool) -> Permit {
        Permit {
            target: Target::provider("p"),
            probe,
            token: "c:0".into(),
        }
    }

    #[test]
    fn an_admission_holds_until_its_moment_its_turn_or_a_second_is_over() {
        let holding = Holding::default();
        let target = Target::provider("p");
        holding.keep(&permit(false), LIMITS, at(7, 1_000), 6_500);
        assert_eq!(
            holding.permit(&target, at(7, 1_000)),
            Some((permit(false), LIMITS))
        );
        assert_eq!(
            holding.permit(&target, at(7, 1_499)),
            Some((permit(false), LIMITS))
        );
        for later in [at(7, 1_500), at(8, 1_000), at(7, 999)] {
            assert_eq!(holding.permit(&target, later), None, "{later:?}");
        }
        holding.keep(&permit(false), LIMITS, at(7, 1_000), u64::MAX);
        assert_eq!(
            holding.permit(&target, at(7, 1_999)),
            Some((permit(false), LIMITS))
        );
        assert_eq!(holding.permit(&target, at(7, 2_000)), None);
        assert_eq!(holding.permit(&Target::provider("q"), at(7, 1_000)), None);
    }

    #[test]
    fn a_probes_admission_is_for_its_call_alone() {
        let holding = Holding::default();
        holding.keep(&permit(true), LIMITS, at(7, 1_000), u64::MAX);
        assert_eq!(holding.permit(&Target::provider("p"), at(7, 1_000)), None);
    }

    #[test]
    fn a_flood_of_targets_takes_bounded_room() {
        let holding = Holding::default();
        for n in 0..10_000 {
            let permit = Permit {
                target: Target::provider(n.to_string()),
                ..permit(false)
            };
            holding.keep(&permit, LIMITS, at(7, 1_000), u64::MAX);
        }
        assert!(holding.held.borrow().len() <= TARGETS_MAX);
    }
}
