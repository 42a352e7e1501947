//! From when on a call is slow, and how that is learnt.
//!
//! The limit is an absolute one, or where that is shorter a multiple of the 99th percentile of the
//! good answers that the fleet got under a closed breaker. Their latencies are counted in steps of a
//! fifth or so, in a windowed counter of the target's operation, or of its provider where there is
//! none: what is slow for one layer is usual for another. The percentile stands in that domain's
//! record, from where each admission takes it.
//!
//! Slow answers are left out of it. Otherwise a provider that becomes slow would teach that this is
//! usual, long before the rule has seen enough of it to trip. Where it stays slow for good, nothing
//! is learnt any more, the percentile ages out, and the absolute limit holds alone until there are
//! enough good answers again: a change that lasts is accepted within one window.

use crate::config::{Learnt, Settings};
use crate::record::{Pace, Seen};
use crate::store::{Lane, Tally, Window};
use crate::target::{Domain, Scope};

/// How many buckets the learning window has.
const BUCKETS: u64 = 10;

/// What the names of the lanes begin with.
const LANE: &str = "l-";

/// Steps for each doubling.
const STEPS_LOG2: u32 = 2;

/// How many steps there are: of every latency that is a number here.
const STEPS: usize = (64 << STEPS_LOG2) + 1;

/// Which of the target's domains is learnt of.
pub(super) fn learning_domain(domains: &[Domain<'_>]) -> usize {
    let operation = domains.iter().position(|d| d.scope == Scope::Operation);
    operation.unwrap_or(0)
}

/// The limit that has been learnt, where that is shorter than the absolute one.
pub(super) fn learnt_limit(settings: &Settings, seen: &Seen, now: u64) -> Option<u64> {
    let learnt = settings.slow.learnt?;
    let pace = seen.record()?.pace?;
    let is_fresh = now < pace.at.saturating_add(learnt.window_ms);
    limit_by(settings, &learnt, &pace).filter(|_| is_fresh)
}

/// The limit by this pace, where that is shorter than the absolute one.
pub(super) fn limit_by(settings: &Settings, learnt: &Learnt, pace: &Pace) -> Option<u64> {
    Some(limit(learnt, pace.p99)).filter(|limit| *limit < settings.slow.limit_ms)
}

fn limit(learnt: &Learnt, p99: u64) -> u64 {
    ((p99 as f64 * learnt.times) as u64).max(learnt.floor_ms)
}

/// From when on a host tells that a call is overdue: only where a rule asks.
pub(super) fn overdue_ms(settings: &Settings, learnt_ms: Option<u64>) -> Option<u64> {
    settings.breaker.slow_ratio?;
    Some(learnt_ms.unwrap_or(settings.slow.limit_ms))
}

/// The operation that counts one good answer and reads the others.
pub(super) fn counted(learnt: &Learnt, key: String, latency_ms: u64, now: u64) -> Window {
    let width = learnt.window_ms.checked_div(BUCKETS).unwrap_or(1).max(1);
    let mut name = String::from(LANE);
    name.push_str(itoa::Buffer::new().format(step(latency_ms)));
    Window {
        key,
        epoch: 0,
        bucket: now.saturating_sub(now.checked_rem(width).unwrap_or(0)),
        add: vec![Lane { name, amount: 1 }],
        since: now.saturating_sub(learnt.window_ms),
        ttl_ms: learnt.window_ms,
    }
}

/// What the counted answers say; `None`: too few.
pub(super) fn pace(learnt: &Learnt, tally: &Tally, now: u64) -> Option<Pace> {
    let mut steps = [0u64; STEPS];
    for lane in &tally.lanes {
        let number = lane.name.strip_prefix(LANE);
        let number = number.and_then(|text| text.parse::<usize>().ok());
        if let Some(step) = number.and_then(|number| steps.get_mut(number)) {
            *step = lane.amount;
        }
    }
    let all = steps.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    if all < learnt.minimum {
        return None;
    }
    // The smallest step that 99 of a hundred are within.
    let mut within = 0u64;
    let last = steps.iter().position(|n| {
        within = within.saturating_add(*n);
        within.saturating_mul(100) >= all.saturating_mul(99)
    })?;
    Some(Pace {
        p99: end(u32::try_from(last).ok()?),
        at: now,
    })
}

/// Whether a limit of this pace differs so much from the one that calls are admitted under that the
/// record is to be written.
pub(super) fn is_news(old: Option<&Pace>, new: &Pace, learnt: &Learnt) -> bool {
    old.is_none_or(|old| {
        let aged = new.at.saturating_sub(old.at) >= learnt.window_ms / 4;
        aged || old.p99 != new.p99
    })
}

/// Which step a latency falls into: 0 for none, then four for each doubling.
fn step(latency_ms: u64) -> u32 {
    let Some(log2) = latency_ms.checked_ilog2() else {
        return 0;
    };
    // The two bits after the highest one.
    let scaled = u128::from(latency_ms) << STEPS_LOG2;
    let fine = u32::try_from((scaled >> log2) & 0b11).unwrap_or(0);
    (log2 << STEPS_LOG2).saturating_add(fine).saturating_add(1)
}

/// The latency that a step ends before, in ms.
fn end(step: u32) -> u64 {
    let Some(from_one) = step.checked_sub(1) else {
        return 1;
    };
    let (log2, fine) = (from_one >> STEPS_LOG2, u64::from(from_one & 0b11));
    let quarters = fine.saturating_add(5);
    // Rounded up: a limit is rather too long than too short.
    let scaled = u128::from(quarters).checked_shl(log2).unwrap_or(u128::MAX);
    u64::try_from(scaled.saturating_add(3) >> STEPS_LOG2).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEARNT: Learnt = Learnt {
        times: 3.0,
        floor_ms: 100,
        window_ms: 600_000,
        minimum: 100,
    };

    fn tally_of(latencies: impl IntoIterator<Item = u64>) -> Tally {
        let mut lanes: Vec<Lane> = Vec::new();
        for ms in latencies {
            let window = counted(&LEARNT, "k".into(), ms, 0);
            let lane = window.add.into_iter().next().unwrap();
            match lanes.iter_mut().find(|l| l.name == lane.name) {
                Some(there) => there.amount += 1,
                None => lanes.push(lane),
            }
        }
        Tally { epoch: 0, lanes }
    }

    #[test]
    fn the_percentile_is_that_of_the_answers_within_a_fifth() {
        let usual = tally_of((0..1_000).map(|n| if n < 985 { 100 + n % 10 } else { 700 }));
        assert_eq!(pace(&LEARNT, &usual, 7), Some(Pace { p99: 768, at: 7 }));
        let rare = tally_of((0..1_000).map(|n| if n < 991 { 100 } else { 700 }));
        assert_eq!(pace(&LEARNT, &rare, 7).unwrap().p99, 112);
    }

    #[test]
    fn too_few_answers_say_nothing() {
        let tally = |n| tally_of((0..n).map(|_| 50));
        assert_eq!(pace(&LEARNT, &tally(99), 1), None);
        assert_eq!(pace(&LEARNT, &tally(100), 1), Some(Pace { p99: 56, at: 1 }));
    }

    #[test]
    fn answers_that_took_for_ever_are_answers_too() {
        let endless = tally_of((0..100).map(|_| u64::MAX));
        let pace = pace(&LEARNT, &endless, 1).unwrap();
        assert_eq!(pace.p99, u64::MAX);
    }

    #[test]
    fn a_learnt_limit_that_is_no_shorter_than_the_absolute_one_is_none() {
        let mut settings = Settings::default();
        settings.slow.limit_ms = 600;
        let limit = |p99| limit_by(&settings, &LEARNT, &Pace { p99, at: 0 });
        assert_eq!((limit(199), limit(200)), (Some(597), None));
    }

    #[test]
    fn a_limit_is_a_multiple_and_never_below_its_floor() {
        assert_eq!(limit(&LEARNT, 200), 600);
        assert_eq!(limit(&LEARNT, 10), 100);
    }

    #[test]
    fn a_pace_is_written_where_it_has_changed_or_grown_old() {
        let old = Pace { p99: 96, at: 1_000 };
        let is_news = |p99, at| super::is_news(Some(&old), &Pace { p99, at }, &LEARNT);
        assert!(!is_news(96, 150_999) && is_news(96, 151_000) && is_news(112, 1_000));
        assert!(super::is_news(None, &old, &LEARNT));
    }

    proptest! {
        #[test]
        fn a_step_holds_every_latency_that_falls_into_it(ms: u64) {
            let step = step(ms);
            prop_assert!(ms < end(step) || end(step) == u64::MAX, "{ms} {step} {}", end(step));
            prop_assert!(step == 0 || ms >= end(step - 1), "{ms} is in an earlier step");
            prop_assert!(step == 0 || (end(step) as f64) <= ms as f64 * 1.26 + 1.0);
        }
    }
}
