use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::store::Lane;

fn answer<T>(reply: Reply<T>) -> T {
    match reply {
        Reply::Ready(Ok(answer)) => answer,
        Reply::Ready(Err(error)) => panic!("{error}"),
        Reply::Later(_) => panic!("memory answers at once"),
    }
}

/// A store, and the hand of its clock.
fn at(now: u64) -> (MemoryStore, Arc<AtomicU64>) {
    let hand = Arc::new(AtomicU64::new(now));
    let clock = Arc::clone(&hand);
    let store = MemoryStore::with_clock(Arc::new(move || clock.load(Ordering::Relaxed)));
    (store, hand)
}

fn put(store: &MemoryStore, key: &str, ttl_ms: u64) {
    assert!(answer(store.swap(
        key.to_owned(),
        None,
        Some(b"x".to_vec()),
        ttl_ms
    )));
}

#[test]
fn a_value_is_absent_from_the_very_moment_its_lifetime_ends() {
    let (store, hand) = at(1_000);
    put(&store, "k", 500);
    hand.store(1_499, Ordering::Relaxed);
    assert_eq!(
        answer(store.get(vec!["k".into()])),
        vec![Some(b"x".to_vec())]
    );
    hand.store(1_500, Ordering::Relaxed);
    assert_eq!(answer(store.get(vec!["k".into()])), vec![None]);
}

#[test]
fn memory_does_not_grow_with_keys_long_gone() {
    let (store, hand) = at(0);
    // A new key each ms that lives 1 s: about a thousand are alive at any time.
    for ms in 0..100_000 {
        hand.store(ms, Ordering::Relaxed);
        put(&store, &format!("k{ms}"), 1_000);
        assert!(
            store.held() <= 2_100,
            "{} entries are held at {ms} ms",
            store.held()
        );
    }
    assert!(store.lock().queued() <= 2_100);
}

#[test]
fn a_key_that_comes_and_goes_is_queued_for_the_sweep_once() {
    let (store, _hand) = at(0);
    for _ in 0..10_000 {
        put(&store, "k", 0);
        assert!(answer(store.swap("k".into(), Some(b"x".to_vec()), None, 0)));
    }
    assert!(store.lock().queued() <= 2);
    assert_eq!(store.held(), 0);
}

#[test]
fn a_lifetime_past_the_end_of_time_is_one_without_end() {
    let (store, hand) = at(u64::MAX - 1);
    put(&store, "k", u64::MAX);
    hand.store(u64::MAX - 1, Ordering::Relaxed);
    assert_eq!(
        answer(store.get(vec!["k".into()])),
        vec![Some(b"x".to_vec())]
    );
}

#[test]
fn a_thread_that_panicked_under_the_lock_takes_nobody_with_it() {
    let store = Arc::new(MemoryStore::new());
    put(&store, "k", 0);
    let other = Arc::clone(&store);
    let panicked = std::thread::spawn(move || {
        let _held = other.lock();
        panic!("on purpose");
    })
    .join();
    assert!(panicked.is_err());
    assert_eq!(
        answer(store.get(vec!["k".into()])),
        vec![Some(b"x".to_vec())]
    );
}

/// A closed domain is called: one success is counted.
fn call(store: &MemoryStore, domain: &str) {
    let window = Window {
        key: format!("f:w:{domain}"),
        epoch: 0,
        bucket: 1,
        add: vec![Lane {
            name: "success".into(),
            amount: 1,
        }],
        since: 1,
        ttl_ms: 60_000,
    };
    answer(store.get(vec![format!("f:s:{domain}")]));
    answer(store.count(vec![window]));
}

/// How many calls of a domain are counted.
fn calls(store: &MemoryStore, domain: &str) -> u64 {
    let window = Window {
        key: format!("f:w:{domain}"),
        epoch: 0,
        bucket: 0,
        add: Vec::new(),
        since: 0,
        ttl_ms: 0,
    };
    let tallies = answer(store.count(vec![window]));
    tallies[0].lanes.iter().map(|lane| lane.amount).sum()
}

fn write(store: &MemoryStore, key: &str, value: &str, ttl_ms: u64) {
    let before = answer(store.get(vec![key.into()])).pop().flatten();
    let value = Some(value.as_bytes().to_vec());
    assert!(answer(store.swap(key.into(), before, value, ttl_ms)));
}

fn is_there(store: &MemoryStore, key: &str) -> bool {
    answer(store.get(vec![key.into()])) != [None]
}

#[test]
fn the_closed_domain_that_was_used_least_recently_goes_when_there_are_too_many() {
    let (store, _hand) = at(1_000_000);
    let store = store.live_domains(3);
    for domain in ["{a}", "{b}", "{c}/x", "{a}", "{d}@y"] {
        call(&store, domain);
    }
    assert_eq!((store.domains(), store.evicted()), (3, 1));
    let counted = ["{a}", "{b}", "{c}/x", "{d}@y"].map(|domain| calls(&store, domain));
    assert_eq!(counted, [2, 0, 1, 1]);
}

#[test]
fn a_domain_that_is_open_held_or_under_an_order_does_not_go() {
    let (store, _hand) = at(1_000_000);
    let store = store.live_domains(10);
    for (domain, record) in [
        ("{open}", r#"{"schema":1,"phase":"open","until":1030000}"#),
        ("{half}", r#"{"schema":1,"phase":"half-open"}"#),
        ("{held}@a", r#"{"phase":"closed","hold":{"until":1030000}}"#),
        ("{told}", r#"{"phase":"closed","override":{"until":0}}"#),
        ("{just}", r#"{"phase":"closed","epoch":999000}"#),
        ("{unread}", "of another kind"),
    ] {
        call(&store, domain);
        write(&store, &format!("f:s:{domain}"), record, 600_000);
    }
    write(
        &store,
        "f:local:s:{alone}!0a",
        r#"{"phase":"open"}"#,
        600_000,
    );
    call(&store, "{alone}");
    for n in 0..100 {
        call(&store, &format!("{{p}}/{n}"));
    }
    assert_eq!(store.domains(), 10);
    for domain in [
        "{open}", "{half}", "{held}@a", "{told}", "{just}", "{unread}",
    ] {
        assert!(is_there(&store, &format!("f:s:{domain}")), "{domain}");
        assert_eq!(calls(&store, domain), 1, "{domain}");
    }
    assert!(is_there(&store, "f:local:s:{alone}!0a"));
    assert_eq!(calls(&store, "{alone}"), 1);
}

#[test]
fn what_was_kept_may_go_when_its_hold_is_over_its_order_cleared_or_its_phase_closed() {
    let (store, hand) = at(1_000_000);
    let store = store.live_domains(10);
    write(
        &store,
        "f:s:{held}",
        r#"{"phase":"closed","hold":{"until":1030000}}"#,
        600_000,
    );
    write(
        &store,
        "f:s:{told}",
        r#"{"phase":"closed","override":{"until":0}}"#,
        600_000,
    );
    write(&store, "f:s:{open}", r#"{"phase":"open"}"#, 600_000);
    write(&store, "f:s:{stays}", r#"{"phase":"open"}"#, 600_000);
    hand.store(1_030_000, Ordering::Relaxed);
    write(&store, "f:s:{told}", r#"{"phase":"closed"}"#, 600_000);
    write(&store, "f:s:{open}", r#"{"phase":"closed"}"#, 600_000);
    for n in 0..100 {
        call(&store, &format!("{{p}}/{n}"));
    }
    let there = ["{held}", "{told}", "{open}", "{stays}"]
        .map(|domain| is_there(&store, &format!("f:s:{domain}")));
    assert_eq!(there, [false, false, false, true]);
}

#[test]
fn where_all_that_is_there_must_stay_what_comes_is_counted_all_the_same() {
    let (store, _hand) = at(1_000_000);
    let store = store.live_domains(20);
    for n in 0..30 {
        write(
            &store,
            &format!("f:s:{{open}}/{n}"),
            r#"{"phase":"open"}"#,
            600_000,
        );
    }
    assert_eq!(store.domains(), 30);
    for n in 0..100 {
        let domain = format!("{{p}}/{n}");
        call(&store, &domain);
        assert_eq!(calls(&store, &domain), 1);
        assert!(store.domains() <= 32, "{}", store.domains());
    }
}

#[test]
fn keys_of_no_domain_are_no_domains_and_stay() {
    let (store, _hand) = at(1_000_000);
    let store = store.live_domains(2);
    for n in 0..10 {
        put(&store, &format!("fusewire-policies:chunk:{n}"), 0);
    }
    assert_eq!((store.held(), store.domains()), (10, 0));
}

#[test]
fn memory_does_not_grow_with_domains_that_had_to_go() {
    let (store, _hand) = at(1_000_000);
    let store = store.live_domains(1_000);
    for n in 0..100_000 {
        call(&store, &format!("{{p}}/{n}"));
        assert!(store.held() <= 1_000 && store.lock().queued() <= 2_100);
    }
    assert_eq!(store.evicted(), 99_000);
}

#[test]
fn what_is_over_is_no_domain_any_more() {
    let (store, hand) = at(1_000_000);
    for n in 0..100 {
        call(&store, &format!("{{p}}/{n}"));
    }
    write(&store, "f:s:{p}/1", r#"{"phase":"open"}"#, 60_000);
    hand.store(2_000_000, Ordering::Relaxed);
    for _ in 0..200 {
        call(&store, "{q}");
    }
    assert_eq!((store.held(), store.domains(), store.evicted()), (1, 1, 0));
}
