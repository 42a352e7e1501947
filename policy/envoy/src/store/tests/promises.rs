//! What the store promises beyond the contract.

use std::rc::Rc;

use fusewire_core::{
    Context, Decision, Ending, KeyValue, Observation, Policy, RefusalReason, Response, StoreError,
    Tally, Target, Timing, Window,
};

use super::{Bench, NOW, adding, count, reading};
use crate::store::SharedStore;
use crate::store::change::{GROUPS, Groups};
use crate::store::fake::Trouble;
use crate::store::sweep::sweep;

#[test]
fn a_value_that_two_workers_create_at_once_is_created_by_one() {
    let bench = Rc::new(Bench::new(1_024, false));
    let other = Rc::clone(&bench);
    bench.data.ahead.replace(Some(Box::new(move |data| {
        let mut theirs = SharedStore::new(data, &other.notes, &other.scope, NOW);
        assert_eq!(
            theirs.swap("fusewire:k", None, Some(b"theirs"), 0),
            Ok(true)
        );
    })));
    assert_eq!(
        bench.at(NOW).swap("fusewire:k", None, Some(b"ours"), 0),
        Ok(false)
    );
    let held = bench.at(NOW).get(&["fusewire:k".into()]).unwrap();
    assert_eq!(held, [Some(b"theirs".to_vec())]);
    assert_eq!(bench.notes.contended.get(), 1);
}

#[test]
fn an_add_that_another_worker_gets_ahead_of_is_not_lost() {
    let bench = Rc::new(Bench::new(1_024, false));
    let other = Rc::clone(&bench);
    bench.data.ahead.replace(Some(Box::new(move |data| {
        let mut theirs = SharedStore::new(data, &other.notes, &other.scope, NOW);
        count(&mut theirs, adding("fusewire:k", 1, 5, "a", 4)).unwrap();
    })));
    let tally = count(&mut bench.at(NOW), adding("fusewire:k", 1, 5, "a", 3)).unwrap();
    assert_eq!(tally.amount("a"), 7);
}

#[test]
fn one_worker_of_two_holds_the_probe_lease() {
    let bench = Rc::new(Bench::new(1_024, false));
    let mut policy = Policy::default();
    assert!(
        policy
            .configure(r#"{"breaker": {"failures": {"count": 1}}}"#)
            .is_empty()
    );
    let target = Target::provider("p");
    let Decision::Allowed(permit) = policy
        .admit(&mut bench.at(NOW), &target, &Context::at(NOW, 1))
        .unwrap()
        .decision
    else {
        panic!("a breaker that never tripped refused");
    };
    let seen = Observation::response(Response::status(503), NOW);
    let ending = Ending::Judged(policy.classify(&target, &seen));
    policy
        .settle(
            &mut bench.at(NOW),
            &permit,
            &ending,
            &Timing::default(),
            &Context::at(NOW, 2),
        )
        .unwrap();

    let later = NOW + 60_000;
    let (other, theirs) = (Rc::clone(&bench), policy.clone());
    bench.data.ahead.replace(Some(Box::new(move |data| {
        let mut store = SharedStore::new(data, &other.notes, &other.scope, later);
        let admission = theirs.admit(&mut store, &Target::provider("p"), &Context::at(later, 3));
        let Decision::Allowed(permit) = admission.unwrap().decision else {
            panic!("the first to ask was refused");
        };
        assert!(permit.probe);
    })));
    let admission = policy
        .admit(&mut bench.at(later), &target, &Context::at(later, 4))
        .unwrap();
    let Decision::Refused(refusal) = admission.decision else {
        panic!("two workers probe: {admission:?}");
    };
    assert_eq!(refusal.reason, RefusalReason::ProbeInFlight);
}

#[test]
fn a_change_is_given_up_after_64_tries_and_said_to_be_unavailable() {
    let bench = Bench::new(1_024, false);
    bench.data.trouble.replace(vec![Trouble::Mismatch; 64]);
    let mut store = bench.at(NOW);
    assert_eq!(
        store.swap("fusewire:k", None, Some(b"x"), 0),
        Err(StoreError::Unavailable)
    );
    assert_eq!(
        (bench.notes.contended.get(), bench.notes.errors.get()),
        (64, 1)
    );
    bench.data.trouble.replace(vec![Trouble::Mismatch; 63]);
    assert_eq!(store.swap("fusewire:k", None, Some(b"x"), 0), Ok(true));
}

#[test]
fn a_host_that_fails_in_any_way_is_unavailable() {
    for status in [2, 3, 10, 12, 99, u32::MAX] {
        let bench = Bench::new(1_024, false);
        bench.data.trouble.replace(vec![Trouble::Fails(status)]);
        let swapped = bench.at(NOW).swap("fusewire:k", None, Some(b"x"), 0);
        assert_eq!(swapped, Err(StoreError::Unavailable), "status {status}");
    }
}

#[test]
fn what_is_damaged_or_not_ours_is_absent_and_is_replaced() {
    for junk in [
        &b""[..],
        b"\xf1",
        b"{\"json\": 1}",
        b"\xf1\x00\xff\xff\xff\xff\xff",
        &[0xf1; 300],
    ] {
        let bench = Bench::new(1_024, false);
        let mut store = bench.at(NOW);
        store.swap("fusewire:k", None, Some(b"x"), 0).unwrap();
        count(&mut store, adding("fusewire:w", 1, 1, "a", 1)).unwrap();
        bench.data.damage(junk);
        assert_eq!(store.get(&["fusewire:k".into()]), Ok(vec![None]));
        assert_eq!(
            count(&mut store, reading("fusewire:w", 1)),
            Ok(Tally::default())
        );
        assert_eq!(store.swap("fusewire:k", None, Some(b"y"), 0), Ok(true));
        assert_eq!(
            count(&mut store, adding("fusewire:w", 1, 1, "a", 1))
                .unwrap()
                .amount("a"),
            1
        );
    }
}

#[test]
fn keys_come_and_go_and_the_memory_does_not_grow() {
    let bench = Bench::new(1_024, false);
    for n in 0..100_000_u64 {
        let mut store = bench.at(NOW + n);
        let window = Window {
            ttl_ms: 1_000,
            ..adding(&format!("fusewire:w:{n}"), 1, n, "a", 1)
        };
        count(&mut store, window).unwrap();
    }
    assert!(
        bench.data.len() <= GROUPS,
        "{} shared values",
        bench.data.len()
    );
    assert!(
        bench.data.bytes() < 2_000_000,
        "{} bytes",
        bench.data.bytes()
    );
    let end = NOW + 200_000;
    let groups = Groups::new(&bench.data, &bench.notes, &bench.scope, end);
    assert_eq!(sweep(&groups, 0, GROUPS), Ok(0));
    assert_eq!(bench.data.bytes(), 0);
}

#[test]
fn a_flood_of_names_costs_no_record_that_lives() {
    let bench = Bench::new(64, false);
    let mut store = bench.at(NOW);
    for n in 0..32 {
        store
            .swap(&format!("fusewire:s:{n}"), None, Some(b"open"), 600_000)
            .unwrap();
    }
    for n in 0..50_000_u64 {
        count(
            &mut bench.at(NOW + 1 + n / 100),
            adding(&format!("fusewire:w:{n}"), 1, 1, "a", 1),
        )
        .unwrap();
    }
    let mut store = bench.at(NOW + 1_000);
    for n in 0..32 {
        let key = format!("fusewire:s:{n}");
        assert_eq!(
            store.get(std::slice::from_ref(&key)).unwrap(),
            [Some(b"open".to_vec())],
            "{key}"
        );
        let new = format!("fusewire:s:new-{n}");
        assert_eq!(
            store.swap(&new, None, Some(b"open"), 600_000),
            Ok(true),
            "{new}"
        );
    }
}

#[test]
fn where_there_is_no_room_a_value_is_refused_and_counted() {
    let bench = Bench::new(16, false);
    let mut store = bench.at(NOW);
    let refused = (0..20_000).find_map(|n| {
        store
            .swap(&format!("fusewire:s:{n}"), None, Some(b"open"), 0)
            .err()
    });
    assert!(
        matches!(refused, Some(StoreError::Refused(_))),
        "{refused:?}"
    );
    assert!(bench.notes.full.get() > 0);
}

#[test]
fn keys_and_values_beyond_the_contract_are_refused() {
    let bench = Bench::new(1_024, false);
    let mut store = bench.at(NOW);
    let long = format!("fusewire:{}", "k".repeat(504));
    for key in ["", "other:k", "fusewire", "fusewires:k", long.as_str()] {
        assert!(
            matches!(
                store.swap(key, None, Some(b"x"), 0),
                Err(StoreError::Refused(_))
            ),
            "{key}"
        );
        assert!(
            matches!(store.get(&[key.into()]), Err(StoreError::Refused(_))),
            "{key}"
        );
        assert!(
            matches!(
                count(&mut store, reading(key, 0)),
                Err(StoreError::Refused(_))
            ),
            "{key}"
        );
    }
    let value = vec![0; 64 * 1024 + 1];
    assert!(matches!(
        store.swap("fusewire:k", None, Some(&value), 0),
        Err(StoreError::Refused(_))
    ));
    assert_eq!(
        store.swap("fusewire:k", None, Some(&value[1..]), 0),
        Ok(true)
    );
    for lane in ["", "Success", "a lane", "seventeen-letters"] {
        let window = adding("fusewire:w", 0, 0, lane, 1);
        assert!(
            matches!(count(&mut store, window), Err(StoreError::Refused(_))),
            "{lane}"
        );
    }
}

#[test]
fn successes_wait_for_company_and_a_failure_takes_them_along() {
    let bench = Bench::new(1_024, false);
    let success = |at| {
        count(
            &mut bench.worker(at, true),
            adding("fusewire:w", 1, at, "success", 1),
        )
    };
    success(NOW).unwrap();
    let writes = bench.data.writes();
    for ms in 1..20 {
        assert_eq!(success(NOW + ms).unwrap().amount("success"), 1 + ms);
    }
    assert_eq!(
        bench.data.writes(),
        writes,
        "19 successes within 20 ms wrote nothing"
    );
    let seen = count(&mut bench.at(NOW + 19), reading("fusewire:w", 1)).unwrap();
    assert_eq!(
        seen.amount("success"),
        1,
        "another worker does not see them yet"
    );
    let failure = adding("fusewire:w", 1, NOW + 19, "failure", 1);
    let tally = count(&mut bench.worker(NOW + 19, false), failure).unwrap();
    assert_eq!((tally.amount("success"), tally.amount("failure")), (20, 1));
    let seen = count(&mut bench.at(NOW + 19), reading("fusewire:w", 1)).unwrap();
    assert_eq!(seen.amount("success"), 20);
    assert_eq!(success(NOW + 40).unwrap().amount("success"), 21);
}

#[test]
fn what_waits_belongs_to_its_epoch() {
    let bench = Bench::new(1_024, false);
    let add = |at, epoch, patient| {
        count(
            &mut bench.worker(at, patient),
            adding("fusewire:w", epoch, at, "a", 1),
        )
        .unwrap()
    };
    add(NOW, 1, true);
    add(NOW + 1, 1, true);
    assert_eq!(
        add(NOW + 2, 2, true).amount("a"),
        1,
        "a newer epoch begins anew"
    );
    assert_eq!(add(NOW + 3, 2, true).amount("a"), 2);
    let late = add(NOW + 4, 1, true);
    assert_eq!(
        (late.epoch, late.lanes.len()),
        (2, 0),
        "an older one is told whose it is"
    );
    bench.worker(NOW + 40, true).flush();
    assert_eq!(
        count(&mut bench.at(NOW + 40), reading("fusewire:w", 2))
            .unwrap()
            .amount("a"),
        2
    );
}
