//! A store with a fault breaks the promise that depends on it, and the search says how.

use fusewire_model::{Bounds, Fault, Promise, search};

#[track_caller]
fn is_caught(fleet: Bounds, fault: Fault, promise: Promise) {
    let finding = search(&fleet.with(fault)).expect_err("a fault is found out");
    println!("{fault:?}: {finding}");
    assert_eq!(finding.promise, promise, "{finding}");
    assert!(
        finding.story.lines().count() > 2,
        "it says how it came to that"
    );
}

#[test]
fn a_store_that_forgets_leases_lets_two_probe_at_once() {
    is_caught(
        Bounds::three_at_once(),
        Fault::ForgetsLeases,
        Promise::OneProbe,
    );
}

#[test]
fn a_store_that_keeps_leases_for_ever_leaves_the_fleet_stuck() {
    is_caught(
        Bounds::two_probes(),
        Fault::KeepsLeases,
        Promise::NeverStuck,
    );
}

#[test]
fn a_store_that_opens_blindly_makes_an_opening_last_longer() {
    is_caught(
        Bounds::slow_store(),
        Fault::OpensBlindly,
        Promise::GrowsOnce,
    );
}

#[test]
fn a_store_that_counts_for_anybody_counts_outcomes_of_earlier_epochs() {
    is_caught(
        Bounds::two_probes(),
        Fault::CountsForAnybody,
        Promise::NoStaleOutcome,
    );
}

#[test]
fn a_store_that_renews_for_the_refused_is_found_out() {
    is_caught(
        Bounds::short_memory(),
        Fault::RenewsForTheRefused,
        Promise::RefusedExtendsNothing,
    );
}
