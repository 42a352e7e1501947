//! What is counted here and there.

use fusewire_core::{KeyValue, Lane, Window};

use super::{Envoy, Fleet, NOW};

#[test]
fn the_counts_of_all_envoys_add_up_everywhere() {
    let fleet = Fleet::new();
    let envoys: Vec<Envoy> = (0..3).map(|_| Envoy::new()).collect();
    for second in 0..30_u64 {
        let now = NOW + second * 1_000;
        for envoy in &envoys {
            envoy.count(1, "failure", 1, now);
            envoy.exchange(&fleet, now);
        }
    }
    let now = NOW + 30_000;
    for envoy in &envoys {
        envoy.exchange(&fleet, now);
        let tally = envoy.count(1, "success", 1, now);
        assert_eq!(tally.amount("failure"), 90);
    }
}

#[test]
fn what_the_fleet_has_counted_is_forgotten_a_twelfth_of_the_window_early_at_most() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    a.count(1, "failure", 5, NOW);
    a.exchange(&fleet, NOW);
    b.count(1, "success", 1, NOW);
    b.exchange(&fleet, NOW);
    // The bucket of these failures begins at most 6 s before them.
    for (after_ms, counted) in [(0, 5), (20_000, 5), (48_000, 5), (60_001, 0)] {
        assert_eq!(
            b.count(1, "success", 1, NOW + after_ms).amount("failure"),
            counted,
            "after {after_ms} ms"
        );
        b.exchange(&fleet, NOW + after_ms);
    }
}

#[test]
fn an_exchange_without_an_answer_loses_no_count() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    a.count(1, "failure", 3, NOW);
    let _ = a.ask(1, 0, NOW);
    assert_eq!(a.count(1, "failure", 1, NOW).amount("failure"), 4);
    a.exchange(&fleet, NOW);
    assert_eq!(a.count(1, "success", 1, NOW).amount("failure"), 4);
    b.count(1, "success", 1, NOW);
    b.exchange(&fleet, NOW);
    assert_eq!(b.count(1, "success", 1, NOW).amount("failure"), 4);
}

#[test]
fn what_belongs_to_an_epoch_that_is_over_is_dropped() {
    let (fleet, a, b) = (Fleet::new(), Envoy::new(), Envoy::new());
    a.count(1, "failure", 4, NOW);
    b.count(2, "failure", 1, NOW);
    b.exchange(&fleet, NOW);
    a.exchange(&fleet, NOW);
    assert_eq!(a.count(1, "failure", 1, NOW).epoch, 2);
    a.exchange(&fleet, NOW);
    assert_eq!(a.count(2, "failure", 1, NOW).amount("failure"), 2);
}

#[test]
fn a_long_outage_is_told_in_parts_that_the_host_takes() {
    let (fleet, a) = (Fleet::new(), Envoy::new());
    for n in 0..100_u64 {
        let window = Window {
            key: "fusewire:w:{p}".into(),
            epoch: 1,
            bucket: NOW + n * 500,
            add: vec![Lane {
                name: "failure".into(),
                amount: 1,
            }],
            since: NOW,
            ttl_ms: 60_000,
        };
        a.store(NOW).count(vec![window]).unwrap();
    }
    let mut told = 0;
    for exchange in 0..4_u64 {
        let (asked, question) = a.ask(exchange * 2 + 1, 0, NOW);
        let parts = question["counters"][0]["add"].as_array().unwrap().len();
        assert!(parts <= 32, "{parts}");
        told += parts;
        a.learn(&asked, &fleet.answer(&question, NOW), NOW);
    }
    assert_eq!(told, 100);
}
