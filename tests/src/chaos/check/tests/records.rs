//! What may follow what in a record, and what may be gone from the store.

use fusewire_core::{Phase, RefusalReason};

use super::super::super::journal::{Answer, Effect, Saw};
use super::super::Broken;
use super::super::record::Record;
use super::tale::{Tale, Written, fleet, leased, reopened};

#[test]
fn a_swap_without_an_answer_has_taken_effect_where_somebody_saw_what_it_put() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let lost = leased(("b", 1), 500, &open);
    tale.swap(("b", 1), 500, Some(&open), &lost, Answer::Unknown);
    let taken = tale.take(("a", 2), 900, &lost);
    tale.pass(("a", 2), 1_000, &taken);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_record_that_nobody_has_written_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let strange = open.with(|record| record.expires += 1);
    tale.take(("b", 1), 500, &strange);
    assert!(tale.broken().contains(&Broken::ChainBroken));
}

#[test]
fn a_record_that_was_replaced_twice_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.take(("a", 2), 500, &open);
    tale.take(("b", 1), 501, &open);
    assert!(tale.broken().contains(&Broken::ChainForked));
}

#[test]
fn a_swap_that_was_answered_as_not_done_and_took_effect_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let denied = leased(("b", 1), 500, &open);
    tale.swap(("b", 1), 500, Some(&open), &denied, Answer::NotDone);
    tale.refused(("b", 1), 501, RefusalReason::ProbeInFlight, Saw::Tripped);
    tale.take(("a", 2), 900, &denied);
    assert!(tale.broken().contains(&Broken::Resurrected));
}

#[test]
fn a_record_that_is_gone_before_its_time_is_found_unless_the_store_has_lost_it() {
    let mut tale = Tale::new();
    tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.trip(("a", 2), 300, Saw::Absent, None);
    assert_eq!(tale.broken(), [Broken::Forgotten]);
    tale.story.losses.push(200_000..250_000);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_lease_that_is_taken_from_its_holder_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    tale.take(("a", 2), 899, &held);
    assert_eq!(tale.broken(), [Broken::TwoProbes]);
}

#[test]
fn a_lease_that_is_made_longer_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    let longer = held.with(|record| {
        record.lease.as_mut().expect("a lease").expires_ms += 100;
    });
    tale.swap(("b", 1), 600, Some(&held), &longer, Answer::Done);
    assert_eq!(tale.broken(), [Broken::LeaseExtended]);

    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let long = leased(("b", 1), 600, &open);
    tale.swap(("b", 1), 500, Some(&open), &long, Answer::Done);
    assert_eq!(tale.broken(), [Broken::LeaseExtended]);
}

#[test]
fn a_taker_who_is_refused_and_extends_the_lease_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    let longer = held.with(|record| {
        record.lease.as_mut().expect("a lease").expires_ms += 100;
    });
    tale.swap(("a", 2), 600, Some(&held), &longer, Answer::Done);
    tale.refused(("a", 2), 600, RefusalReason::ProbeInFlight, Saw::Tripped);
    assert_eq!(tale.broken(), [Broken::RefusedTakerWrote]);
}

#[test]
fn a_probe_before_the_cool_down_is_over_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.take(("b", 1), 399, &open);
    assert_eq!(tale.broken(), [Broken::EarlyProbe]);
}

#[test]
fn an_opening_that_grows_twice_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    let twice = reopened(600, &reopened(600, &held));
    tale.outcome(("b", 1), 600, Effect::Failure);
    tale.swap(("b", 1), 600, Some(&held), &twice, Answer::Done);
    assert_eq!(tale.broken(), [Broken::Growth]);
}

#[test]
fn a_late_failure_that_grows_the_cool_down_is_found() {
    let mut tale = Tale::new();
    tale.admitted(("b", 1), 50, false, Saw::Absent);
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.outcome(("b", 1), 200, Effect::Failure);
    tale.swap(
        ("b", 1),
        200,
        Some(&open),
        &reopened(200, &open),
        Answer::Done,
    );
    assert_eq!(tale.broken(), [Broken::Growth]);
}

#[test]
fn a_cool_down_of_the_wrong_length_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    let short = reopened(600, &held).with(|record| record.until -= 300);
    tale.outcome(("b", 1), 600, Effect::Failure);
    tale.swap(("b", 1), 600, Some(&held), &short, Answer::Done);
    assert_eq!(tale.broken(), [Broken::Growth]);
}

#[test]
fn growth_that_is_forgotten_before_a_quiet_time_is_found() {
    let mut tale = Tale::new();
    let closed = tale.until_a_close();
    let forgotten = closed.with(|record| record.openings = 0);
    let by = ("b", 5);
    let open = {
        let mut other = Tale::new();
        other.trip(by, 1_500, Saw::Closed(closed.0.epoch), Some(&forgotten))
    };
    for call in [5, 6, 7] {
        tale.admitted(("b", call), 1_500, false, Saw::Closed(closed.0.epoch));
        tale.outcome(("b", call), 1_500, Effect::Failure);
    }
    tale.swap(by, 1_500, Some(&closed), &open, Answer::Done);
    assert_eq!(tale.broken(), [Broken::Growth]);
}

#[test]
fn a_success_that_closes_an_open_breaker_is_found() {
    let mut tale = Tale::new();
    tale.admitted(("b", 1), 50, false, Saw::Absent);
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.outcome(("b", 1), 200, Effect::Success);
    let closed = open.with(|record| {
        record.phase = Phase::Closed;
        record.epoch = fleet(200);
        record.until = 0;
    });
    tale.swap(("b", 1), 200, Some(&open), &closed, Answer::Done);
    assert_eq!(tale.broken(), [Broken::UnlawfulChange]);
}

#[test]
fn one_probe_that_counts_twice_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    tale.outcome(("b", 1), 600, Effect::Success);
    let closed = held.with(|record| {
        record.phase = Phase::Closed;
        record.epoch = fleet(600);
        record.lease = None;
        record.until = 0;
    });
    tale.swap(("b", 1), 600, Some(&held), &closed, Answer::Done);
    assert_eq!(tale.broken(), [Broken::UnlawfulChange]);
}

#[test]
fn an_outcome_that_is_taken_for_that_of_the_lease_s_next_holder_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let lost = tale.take(("b", 1), 500, &open);
    let taken = tale.take(("a", 2), 900, &lost);
    tale.fail(("b", 1), 950, &taken);
    assert!(tale.broken().contains(&Broken::ForeignOutcome));
}

#[test]
fn a_close_that_begins_no_later_epoch_is_found() {
    let mut tale = Tale::new();
    let closed = tale.until_a_close();
    let epoch = closed.0.epoch;
    let open = tale.trip(("b", 5), 1_200, Saw::Closed(epoch), Some(&closed));
    let first = tale.take(("b", 6), 1_900, &open);
    let passed = tale.pass(("b", 6), 2_000, &first);
    let second = tale.take(("b", 7), 2_100, &passed);
    tale.outcome(("b", 7), 2_200, Effect::Success);
    let back = second.with(|record| {
        record.phase = Phase::Closed;
        record.lease = None;
        record.passed = 0;
        record.until = 0;
        record.epoch = epoch - 1;
    });
    tale.swap(("b", 7), 2_200, Some(&second), &back, Answer::Done);
    assert_eq!(tale.broken(), [Broken::Epoch]);
}

#[test]
fn an_epoch_that_no_close_began_is_found() {
    let mut tale = Tale::new();
    let none = Written(Record::none());
    let invented = none.with(|record| {
        record.epoch = fleet(50);
        record.expires = fleet(9_000);
    });
    tale.swap(("a", 1), 100, None, &invented, Answer::Done);
    assert_eq!(tale.broken(), [Broken::Epoch]);
}

#[test]
fn a_record_that_was_lost_is_put_back_with_the_epoch_that_a_close_began() {
    let mut tale = Tale::new();
    let closed = tale.until_a_close();
    tale.story.losses.push(1_200_000..1_300_000);
    let back = Written(Record::none()).with(|record| {
        record.epoch = closed.0.epoch;
        record.expires = fleet(4_000);
    });
    tale.admitted(("b", 9), 1_350, false, Saw::Absent);
    tale.outcome(("b", 9), 1_400, Effect::Failure);
    tale.swap(("b", 9), 1_400, None, &back, Answer::Done);
    tale.told(("b", 9), 1_401);
    assert_eq!(tale.broken(), []);
}
