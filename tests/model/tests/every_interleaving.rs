//! Every interleaving of small fleets: the promises hold in each, and each has what it is there for.

use fusewire_model::{Bounds, Mode, Report, search};

/// Searches a fleet, in which all of this must happen somewhere.
#[track_caller]
fn search_all(name: &str, fleet: &Bounds, happens: &[&str]) -> Report {
    let report = search(fleet).unwrap_or_else(|finding| panic!("{name}: {finding}"));
    println!("{name}: {report}");
    for event in happens {
        let times = report.events.get(*event).copied().unwrap_or(0);
        assert!(
            times > 0,
            "{name}: `{event}` never happened: {:?}",
            report.events
        );
    }
    report
}

/// What happens wherever a breaker opens and closes among several calls.
const ALWAYS: &[&str] = &[
    "closed to open",
    "open to half-open",
    "half-open to open",
    "half-open to closed",
    "probe expired",
    "refused",
];

/// What happens where calls of several instances meet.
const RACES: &[&str] = &[
    "refused after a lost race",
    "ignored: stale",
    "ignored: late",
    "ignored: lease-lost",
];

#[test]
fn three_instances_with_crashes_and_late_and_lost_outcomes_keep_every_promise() {
    let report = search_all(
        "three at once",
        &Bounds::three_at_once(),
        &[ALWAYS, RACES].concat(),
    );
    assert_eq!(report.live_probes, 1);
}

#[test]
fn calls_that_outlive_leases_and_cool_downs_keep_every_promise() {
    search_all(
        "slow store",
        &Bounds::slow_store(),
        &[ALWAYS, RACES].concat(),
    );
}

#[test]
fn two_clean_probes_in_a_row_are_needed_and_come() {
    search_all(
        "two probes",
        &Bounds::two_probes(),
        &[ALWAYS, RACES].concat(),
    );
}

#[test]
fn a_store_that_is_out_of_reach_at_any_operation_breaks_no_promise() {
    let happens = [
        ALWAYS,
        RACES,
        &["store: the store is out of reach", "ignored: unshared"],
    ];
    search_all(
        "out of reach",
        &Bounds::store_out_of_reach(),
        &happens.concat(),
    );
}

#[test]
fn what_an_instance_finds_alone_is_not_written_over_what_the_fleet_knows() {
    let alone = [
        "alone: closed to open",
        "alone: open to half-open",
        "alone: half-open to open",
        "alone: half-open to closed",
    ];
    let report = search_all(
        "breaker of its own",
        &Bounds::breaker_of_its_own(),
        &[ALWAYS, &alone].concat(),
    );
    assert!(
        report.own_recovery_ms.is_some(),
        "its own breaker closes without the store"
    );
}

#[test]
fn below_a_quorum_each_instance_opens_for_itself_alone_and_closes_again() {
    let alone = ["alone: closed to open", "alone: half-open to closed"];
    search_all("quorum", &Bounds::quorum(), &[ALWAYS, &alone].concat());
}

#[test]
fn records_and_counters_at_the_end_of_their_lives_break_no_promise() {
    search_all(
        "short memory",
        &Bounds::short_memory(),
        &[ALWAYS, RACES].concat(),
    );
}

#[test]
fn a_store_that_loses_its_keys_leaves_nobody_stuck() {
    search_all(
        "store that forgets",
        &Bounds::store_that_forgets(),
        &[ALWAYS, RACES].concat(),
    );
}

#[test]
fn no_order_of_an_operator_at_any_moment_breaks_a_promise() {
    for (this, that) in [
        (Mode::Open, Mode::Closed),
        (Mode::Closed, Mode::Off),
        (Mode::Off, Mode::Observe),
        (Mode::Observe, Mode::Open),
    ] {
        let name = format!("operator: {this:?} until cleared, {that:?} for a while");
        let report = search_all(&name, &Bounds::operator(this, that), ALWAYS);
        assert!(report.events.contains_key("ordered: cleared"));
    }
}

#[test]
fn a_clock_that_is_ahead_by_more_than_a_lease_takes_leases_early_and_nobody_else_does() {
    let report = search_all(
        "clock ahead",
        &Bounds::clock_ahead(),
        &[ALWAYS, RACES].concat(),
    );
    assert!(
        report.live_probes > 1,
        "which is why the store's clock is used"
    );
}

#[test]
fn a_clock_that_is_behind_by_more_than_a_lease_loses_its_leases_and_nobody_else_does() {
    let report = search_all(
        "clock behind",
        &Bounds::clock_behind(),
        &[ALWAYS, RACES].concat(),
    );
    assert!(
        report.live_probes > 1,
        "which is why the store's clock is used"
    );
}

#[test]
fn a_provider_and_its_operation_are_each_blamed_for_their_own() {
    search_all("two domains", &Bounds::two_domains(), ALWAYS);
}

#[test]
fn a_call_of_two_domains_takes_both_leases_or_none() {
    let happens = [
        "open to half-open",
        "half-open to closed",
        "refused after a lost race",
        "ignored: lease-lost",
    ];
    search_all("two open domains", &Bounds::two_open_domains(), &happens);
}

#[test]
fn traffic_that_returns_by_and_by_keeps_every_promise() {
    search_all("ramp", &Bounds::ramp(), &[ALWAYS, RACES].concat());
}
