//! A hostile policy that loads is contained under traffic: in the shadow it is stopped before a
//! call depends on it, and where it serves it is taken back by itself. No call fails over it, or
//! waits for it beyond its deadline.

use std::sync::Arc;

use fusewire::policy::Stage;
use fusewire::policy::rollout::options::{Canarying, Probation};
use fusewire::policy::rollout::{Options, Turned};
use fusewire::store::contract::Delayed;
use fusewire::store::{MemoryStore, Store};
use fusewire_tests::attacked::{Attacked, Seen, WAIT_MAX, at_once, in_the_shadow};
use fusewire_tests::hostile::Mode;

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Every call had its answer, within the policy's deadline.
fn nobody_noticed(harm: Mode, seen: &Seen) {
    assert_eq!(seen.failed, 0, "{harm:?}: {seen:?}");
    assert!(seen.longest < WAIT_MAX, "{harm:?}: {seen:?}");
}

fn stopped_in_the_shadow(harm: Mode, turned: &Turned, seen: &Seen, words: &str) {
    assert_eq!(turned.stage, Stage::Shadow, "{harm:?}: {}", turned.why);
    assert!(turned.why.contains(words), "{harm:?}: {}", turned.why);
    assert!(!turned.rolled_back, "{harm:?}: it never served");
    nobody_noticed(harm, seen);
    assert_eq!(seen.attempts, 1, "{harm:?}: nothing was tried again");
    assert_eq!(seen.let_through, 0, "{harm:?}: {seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_fails_is_stopped_in_the_shadow_at_its_first_failure() {
    // So many decisions that nothing but a failure stops it.
    let host = Attacked::start(in_the_shadow(u64::MAX), memory()).await;
    for (harm, words) in [
        (Mode::TrapOnFirstAdmit, "the policy trapped"),
        (Mode::TrapOnThousandthAdmit, "the policy trapped"),
        (Mode::TrapOnceInAThousand, "the policy trapped"),
        (Mode::EndlessAdmit, "the policy ran for longer than 200 ms"),
        (Mode::Recursion, "call stack exhausted"),
        (Mode::ThousandOperations, "more than 64 store operations"),
        (Mode::SuspendsForNothing, "though its store had answered"),
        (Mode::HugeReason, "too much data"),
        (Mode::LongReason, "8192 bytes, and may have 4096"),
        (Mode::AliasedEvents, "too much data"),
        (Mode::LongPermit, "8192 bytes, and may have 1024"),
        (Mode::ForeignPermit, "another target"),
        (Mode::ForeignEvents, "no domain of the target"),
        (Mode::NoTime, "may last 0 ms"),
        (Mode::WaitsForEver, "may have it wait for 600000"),
        (Mode::TrapInSomeWanted, "the policy trapped"),
    ] {
        let (turned, seen) = host.withstands(harm).await;
        stopped_in_the_shadow(harm, &turned, &seen, words);
        assert!(turned.why.starts_with("it failed at "), "{}", turned.why);
        assert!(turned.comparison.faults >= 1, "{harm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_decides_otherwise_is_stopped_in_the_shadow_with_the_pairs() {
    let host = Attacked::start(in_the_shadow(400), memory()).await;
    for (harm, pair) in [
        (Mode::RefusesAll, "admit: allowed here, refused: open there"),
        (Mode::AllowsAll, "admit: refused: open here, allowed there"),
        (Mode::RetriesForEver, "next: done here, retry there"),
    ] {
        let (turned, seen) = host.withstands(harm).await;
        stopped_in_the_shadow(harm, &turned, &seen, pair);
        assert_eq!(turned.comparison.faults, 0, "{harm:?}");
        let most = &turned.comparison.pairs[0];
        assert_eq!(most.words(), pair, "{harm:?}");
        assert!(
            !most.samples.is_empty(),
            "{harm:?}: it shows what was asked"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_fails_where_it_serves_is_taken_back_by_itself() {
    let host = Attacked::start(at_once(), memory()).await;
    for (harm, kind) in [
        (Mode::TrapOnFirstAdmit, "trap"),
        (Mode::TrapOnThousandthAdmit, "trap"),
        (Mode::TrapOnceInAThousand, "trap"),
        (Mode::Recursion, "trap"),
        (Mode::HugeReason, "trap"),
        (Mode::AliasedEvents, "trap"),
        (Mode::TrapInSomeWanted, "trap"),
        (Mode::EndlessAdmit, "time-out"),
        (Mode::ThousandOperations, "breach"),
        (Mode::SuspendsForNothing, "breach"),
        (Mode::LongReason, "breach"),
        (Mode::LongPermit, "breach"),
        (Mode::ForeignPermit, "breach"),
        (Mode::ForeignEvents, "breach"),
        (Mode::NoTime, "breach"),
        (Mode::RetriesForEver, "breach"),
        (Mode::WaitsForEver, "breach"),
    ] {
        let (turned, seen) = host.withstands(harm).await;
        taken_back(harm, &turned, "it failed ");
        assert!(failures(&turned.why, kind) > 0, "{harm:?}: {}", turned.why);
        nobody_noticed(harm, &seen);
        assert!(seen.attempts <= 21, "{harm:?}: {seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_reaches_for_what_is_not_its_own_is_taken_back_and_has_touched_nothing() {
    let store = memory();
    let host = Attacked::start(at_once(), Arc::clone(&store)).await;
    let foreign = || store.get(vec!["someone-elses".into(), "fusewires:s:{p}".into()]);
    let theirs = Some(b"theirs".to_vec());
    let put = store.swap("someone-elses".into(), None, theirs.clone(), 0);
    assert_eq!(put.wait().await, Ok(true));
    for harm in [Mode::ForeignKeys, Mode::ManyKeys] {
        let (turned, seen) = host.withstands(harm).await;
        taken_back(harm, &turned, "of its store operations were refused");
        nobody_noticed(harm, &seen);
    }
    assert_eq!(foreign().wait().await, Ok(vec![theirs, None]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_refuses_what_the_one_before_would_allow_is_taken_back() {
    let options = Options {
        probation: Probation {
            refusals_minimum: 20,
            ..Probation::default()
        },
        ..at_once()
    };
    let host = Attacked::start(options, memory()).await;
    let (turned, seen) = host.withstands(Mode::RefusesAll).await;
    taken_back(
        Mode::RefusesAll,
        &turned,
        "calls that its predecessor would have let through",
    );
    // Until then its word is as good as any policy's.
    assert!(seen.failed >= 20, "{seen:?}");
    assert!(seen.longest < WAIT_MAX, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_fails_where_its_store_answers_later_is_taken_back() {
    // A call is made again for each answer of the store.
    let host = Attacked::start(at_once(), Arc::new(Delayed::new(MemoryStore::new()))).await;
    for (harm, kind) in [
        (Mode::ForgetsWhatItAsked, "breach"),
        (Mode::LongerEachRun, "time-out"),
    ] {
        let (turned, seen) = host.withstands(harm).await;
        taken_back(harm, &turned, "it failed ");
        assert!(failures(&turned.why, kind) > 0, "{harm:?}: {}", turned.why);
        nobody_noticed(harm, &seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_fails_as_a_canary_goes_no_further() {
    let options = Options {
        canary: Canarying {
            share: 0.5,
            ..Canarying::default()
        },
        ..at_once()
    };
    let host = Attacked::start(options, memory()).await;
    for harm in [Mode::TrapOnFirstAdmit, Mode::EndlessAdmit] {
        let (turned, seen) = host.withstands(harm).await;
        assert_eq!(turned.stage, Stage::Canary, "{harm:?}: {}", turned.why);
        assert!(!turned.rolled_back, "{harm:?}: it served a share alone");
        nobody_noticed(harm, &seen);
    }
}

fn taken_back(harm: Mode, turned: &Turned, words: &str) {
    assert_eq!(turned.stage, Stage::Active, "{harm:?}: {}", turned.why);
    assert!(turned.rolled_back, "{harm:?}: it had served");
    assert!(turned.why.contains(words), "{harm:?}: {}", turned.why);
}

/// How many failures of a kind a reason tells of.
fn failures(why: &str, kind: &str) -> u64 {
    let words: Vec<&str> = why.split([' ', '(']).collect();
    words
        .windows(2)
        .find(|pair| pair[1].starts_with(kind))
        .and_then(|pair| pair[0].parse().ok())
        .unwrap_or(0)
}
