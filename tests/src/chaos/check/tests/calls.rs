//! What a call may do, and what must be told of it.

use fusewire_core::{EventKind, IgnoredReason, Phase, ProbeOutcome, RefusalReason, Transition};

use super::super::super::journal::{Answer, Effect, Line, Saw, What};
use super::super::Broken;
use super::tale::{Tale, leased};

#[test]
fn an_outcome_from_before_the_close_that_opens_it_again_is_found() {
    let mut tale = Tale::new();
    tale.admitted(("c", 1), 50, false, Saw::Absent);
    let closed = tale.until_a_close();
    let epoch = closed.0.epoch;
    for call in [21, 22, 23] {
        tale.admitted(("b", call), 1_150, false, Saw::Closed(epoch));
        tale.outcome(("b", call), 1_150, Effect::Failure);
        tale.told(("b", call), 1_150);
    }
    let open = {
        let mut other = Tale::new();
        other.trip(("c", 1), 1_200, Saw::Closed(epoch), Some(&closed))
    };
    tale.outcome(("c", 1), 1_200, Effect::Failure);
    tale.swap(("c", 1), 1_200, Some(&closed), &open, Answer::Done);
    assert_eq!(tale.broken(), [Broken::StaleOutcome]);
}

#[test]
fn failures_from_before_the_close_that_are_counted_after_it_are_found() {
    let mut tale = Tale::new();
    for call in [1, 2] {
        tale.admitted(("c", call), 50, false, Saw::Absent);
    }
    let closed = tale.until_a_close();
    let epoch = closed.0.epoch;
    for call in [1, 2] {
        tale.outcome(("c", call), 1_150, Effect::Failure);
        tale.told(("c", call), 1_150);
    }
    tale.admitted(("b", 21), 1_150, false, Saw::Closed(epoch));
    tale.outcome(("b", 21), 1_200, Effect::Failure);
    let open = {
        let mut other = Tale::new();
        other.trip(("b", 21), 1_200, Saw::Closed(epoch), Some(&closed))
    };
    tale.swap(("b", 21), 1_200, Some(&closed), &open, Answer::Done);
    assert_eq!(tale.broken(), [Broken::TooFewFailures]);
}

#[test]
fn failures_that_have_left_the_window_are_not_counted() {
    let mut tale = Tale::new();
    for call in [21, 22] {
        tale.admitted(("b", call), 50, false, Saw::Absent);
        tale.outcome(("b", call), 50, Effect::Failure);
        tale.told(("b", call), 50);
    }
    tale.admitted(("b", 23), 3_000, false, Saw::Absent);
    tale.outcome(("b", 23), 3_000, Effect::Failure);
    let open = {
        let mut other = Tale::new();
        other.trip(("b", 23), 3_000, Saw::Absent, None)
    };
    tale.swap(("b", 23), 3_000, None, &open, Answer::Done);
    assert_eq!(tale.broken(), [Broken::TooFewFailures]);
}

#[test]
fn a_call_that_is_let_through_while_it_is_open_is_found() {
    let mut tale = Tale::new();
    tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.admitted(("b", 1), 200, false, Saw::Tripped);
    assert_eq!(tale.broken(), [Broken::AdmittedWhileTripped]);
}

#[test]
fn a_probe_without_a_lease_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    let lease = leased(("b", 1), 500, &open);
    tale.swap(("b", 1), 500, Some(&open), &lease, Answer::NotDone);
    tale.admitted(("b", 1), 500, true, Saw::Tripped);
    assert_eq!(tale.broken(), [Broken::ProbeWithoutLease]);
}

#[test]
fn a_call_that_reaches_the_provider_unasked_is_found() {
    let mut tale = Tale::new();
    tale.admitted(("a", 1), 100, false, Saw::Absent);
    let mut visit = tale.story.visits[0].clone();
    visit.call = 2;
    tale.story.visits.push(visit.clone());
    assert_eq!(tale.broken(), [Broken::Unadmitted]);
    visit.call = 1;
    visit.probe = true;
    tale.story.visits = vec![visit];
    assert_eq!(
        tale.broken(),
        [Broken::Unadmitted],
        "as a probe, which it is not"
    );
}

#[test]
fn a_call_that_is_refused_because_the_store_is_away_is_found() {
    for reason in [RefusalReason::Store, RefusalReason::Open] {
        let mut tale = Tale::new();
        tale.refused(("a", 1), 100, reason, Saw::Away);
        assert_eq!(tale.broken(), [Broken::RefusedByTheStore], "{reason}");
    }
}

#[test]
fn a_process_s_own_breaker_may_refuse_while_the_store_is_away_and_it_is_open() {
    let alone = |before, after| {
        EventKind::Alone(Transition {
            before,
            after,
            rule: "failures".to_owned(),
            until_ms: 0,
            openings: 1,
        })
    };
    let mut tale = Tale::new();
    tale.event(("a", 1), 100, alone(Phase::Closed, Phase::Open));
    tale.refused(("a", 2), 200, RefusalReason::Open, Saw::Away);
    assert_eq!(tale.broken(), []);
    tale.refused(("b", 2), 200, RefusalReason::Open, Saw::Away);
    assert_eq!(
        tale.broken(),
        [Broken::RefusedByTheStore],
        "another's says nothing"
    );
    let mut tale = Tale::new();
    tale.event(("a", 1), 100, alone(Phase::Closed, Phase::Open));
    tale.event(("a", 3), 150, alone(Phase::HalfOpen, Phase::Closed));
    tale.refused(("a", 2), 200, RefusalReason::Open, Saw::Away);
    assert_eq!(tale.broken(), [Broken::RefusedByTheStore], "it had closed");
}

#[test]
fn a_process_may_probe_by_its_own_breaker_while_the_store_is_away() {
    let mut tale = Tale::new();
    tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.admitted(("b", 1), 200, true, Saw::Away);
    tale.outcome(("b", 1), 300, Effect::Success);
    tale.event(("b", 1), 300, EventKind::Probe(ProbeOutcome::Passed));
    tale.told(("b", 1), 300);
    assert_eq!(tale.broken(), []);
}

#[test]
fn an_opening_that_nobody_tells_of_is_found_and_one_that_is_told_twice() {
    let quiet = |tale: &mut Tale| {
        for journal in &mut tale.story.journals {
            journal
                .lines
                .retain(|line| !matches!(line.what, What::Event { .. }));
        }
    };
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    assert_eq!(tale.broken(), []);
    quiet(&mut tale);
    assert_eq!(tale.broken(), [Broken::EventUntold]);
    for _ in 0..2 {
        tale.changed(("a", 1), 100, Phase::Closed, &open);
    }
    assert_eq!(tale.broken(), [Broken::EventUntold]);
}

#[test]
fn who_is_killed_in_the_midst_of_it_need_not_tell() {
    let mut tale = Tale::new();
    tale.trip(("a", 1), 100, Saw::Absent, None);
    let lines = &mut tale.story.journals[0].lines;
    let event = |line: &Line| matches!(line.what, What::Event { .. });
    let at = lines.iter().position(event).expect("an event");
    lines.truncate(at);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_probe_of_whose_outcome_nothing_is_told_is_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.take(("b", 1), 500, &open);
    tale.outcome(("b", 1), 600, Effect::Success);
    tale.told(("b", 1), 600);
    assert_eq!(tale.broken(), [Broken::EventUntold]);
}

#[test]
fn events_that_nothing_stands_behind_are_found() {
    let mut tale = Tale::new();
    let open = tale.trip(("a", 1), 100, Saw::Absent, None);
    tale.take(("b", 1), 500, &open);
    tale.lose(("b", 1), 600);
    assert_eq!(
        tale.broken(),
        [Broken::EventUnfounded],
        "nobody took its lease"
    );

    for reason in [
        IgnoredReason::Stale,
        IgnoredReason::Late,
        IgnoredReason::Unshared,
        IgnoredReason::InvalidPermit,
    ] {
        let mut tale = Tale::new();
        tale.admitted(("a", 1), 100, false, Saw::Absent);
        tale.outcome(("a", 1), 200, Effect::Failure);
        tale.event(("a", 1), 200, EventKind::Ignored(reason));
        assert_eq!(tale.broken(), [Broken::EventUnfounded], "{reason}");
    }
}

#[test]
fn an_outcome_from_before_the_close_is_rightly_called_stale() {
    let mut tale = Tale::new();
    tale.admitted(("c", 1), 50, false, Saw::Absent);
    tale.until_a_close();
    tale.outcome(("c", 1), 1_200, Effect::Failure);
    tale.event(("c", 1), 1_200, EventKind::Ignored(IgnoredReason::Stale));
    tale.told(("c", 1), 1_200);
    assert_eq!(tale.broken(), []);
}
