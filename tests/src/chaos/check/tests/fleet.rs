//! A whole story: one that is in order, clocks, and the end.

use fusewire_core::RefusalReason;

use super::super::super::journal::{Answer, Saw, What};
use super::super::super::orders::RULES;
use super::super::{Broken, Calm};
use super::tale::{DOMAIN, Tale, fleet, leased};

#[test]
fn a_breaker_that_opens_reopens_and_closes_is_in_order() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.refused(("b", 9), 200, RefusalReason::Open, Saw::Tripped);
    let first = tale.take(("b", 1), 500, &open);
    let open = tale.fail(("b", 1), 600, &first);
    assert_eq!(
        open.0.until,
        fleet(1_200),
        "the second cool-down is twice the first"
    );
    let first = tale.take(("a", 2), 1_300, &open);
    let passed = tale.pass(("a", 2), 1_400, &first);
    let second = tale.take(("a", 3), 1_500, &passed);
    let closed = tale.pass(("a", 3), 1_600, &second);
    // Within the quiet time: it goes on growing.
    let open = tale.trip(("b", 2), 1_700, Saw::Closed(closed.0.epoch), Some(&closed));
    assert_eq!(open.0.openings, 3);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_lease_that_ran_out_may_be_taken_and_its_holder_has_lost_it() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let lost = tale.take(("b", 1), 500, &open);
    let taken = tale.take(("a", 2), 900, &lost);
    tale.lose(("b", 1), 950);
    tale.pass(("a", 2), 1_000, &taken);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_lease_that_is_taken_by_a_clock_that_goes_ahead_is_found_by_the_machine_s_clock() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let held = tale.take(("b", 1), 500, &open);
    tale.ahead_ms.insert("c", 390);
    let taken = leased(("c", 1), 520 + 390, &held);
    tale.swap(("c", 1), 520, Some(&held), &taken, Answer::Done);
    tale.admitted(("c", 1), 520, true, Saw::Tripped);
    assert_eq!(
        tale.broken(),
        [Broken::TwoProbes, Broken::ClocksDisagree],
        "by its own clock it was right"
    );
    // Where it is known to go by its own clock, nothing more was promised.
    tale.story.apart.insert(DOMAIN.to_owned(), 400);
    assert_eq!(tale.broken(), []);
}

#[test]
fn clocks_that_do_not_agree_are_found() {
    let mut tale = Tale::new();
    tale.admitted(("a", 1), 100, false, Saw::Absent);
    tale.ahead_ms.insert("b", 250);
    tale.admitted(("b", 1), 100, false, Saw::Absent);
    assert_eq!(tale.broken(), [Broken::ClocksDisagree]);
}

#[test]
fn a_policy_that_fails_is_found() {
    let mut tale = Tale::new();
    let kind = "trap".to_owned();
    tale.line("a", 100, What::Fault { call: 1, kind });
    assert_eq!(tale.broken(), [Broken::PolicyFailed]);
}

#[test]
fn a_breaker_that_does_not_close_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let first = tale.take(("a", 2), 500, &open);
    let passed = tale.pass(("a", 2), 600, &first);
    tale.refused(("b", 1), 700, RefusalReason::ProbeInFlight, Saw::Tripped);
    tale.story.calm = Some(Calm {
        from_us: 300_000,
        until_us: 5_000_000,
        instances: vec!["a".to_owned(), "b".to_owned()],
    });
    assert_eq!(tale.broken(), [Broken::NeverClosed], "two see it half-open");

    let second = tale.take(("a", 3), 1_000, &passed);
    let closed = tale.pass(("a", 3), 1_100, &second);
    let saw = Saw::Closed(closed.0.epoch);
    tale.admitted(("a", 4), 1_200, false, saw);
    assert_eq!(
        tale.broken(),
        [Broken::NeverClosed],
        "one has not seen it closed"
    );
    tale.admitted(("b", 2), 1_200, false, saw);
    assert_eq!(tale.broken(), []);
    tale.refused(("b", 3), 6_000, RefusalReason::Open, Saw::Tripped);
    assert_eq!(tale.broken(), [Broken::NeverClosed], "it is open again");
}

#[test]
fn a_cool_down_doubles_up_to_the_longest() {
    let lengths = [1, 2, 3, 4, 5, u32::MAX].map(|openings| RULES.cool_down_ms(openings));
    assert_eq!(lengths, [300, 600, 1_200, 2_000, 2_000, 2_000]);
}
