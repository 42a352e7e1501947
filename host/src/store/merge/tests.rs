//! Counts over a store whose answers are given by hand.

use super::*;
use crate::store::MemoryStore;
use crate::store::contract::Delayed;

mod by_hand;

use self::by_hand::{Setup, add, amounts, lane, read};

#[tokio::test]
async fn what_waits_for_a_counter_leaves_as_one_command() {
    let mut setup = Setup::new();
    let first = setup.begin([add("k")]);
    let command = setup.next().await;
    assert_eq!(command.windows, [add("k")]);

    let waiting: Vec<_> = (0..100).map(|_| setup.begin([add("k")])).collect();
    setup.nothing_leaves().await;
    command.answer(1);
    assert_eq!(amounts(first).await, [1]);

    let command = setup.next().await;
    let sum = Window {
        add: vec![lane("a", 100)],
        ..add("k")
    };
    assert_eq!(command.windows, [sum]);
    command.answer(101);
    for call in waiting {
        assert_eq!(amounts(call).await, [101]);
    }
    setup.nothing_leaves().await;
    setup.is_empty().await;
}

#[tokio::test]
async fn a_count_on_an_idle_counter_leaves_at_once_whatever_others_wait_for() {
    let mut setup = Setup::new();
    let calls = [setup.begin([add("k")]), setup.begin([add("other")])];
    for call in calls {
        setup.next().await.answer(1);
        assert_eq!(amounts(call).await, [1]);
    }
}

#[tokio::test]
async fn a_call_of_idle_counters_is_one_command_and_its_part_on_a_busy_one_waits() {
    let mut setup = Setup::new();
    let both = setup.begin([add("k"), add("l"), add("k")]);
    let command = setup.next().await;
    assert_eq!(command.keys(), ["k", "l", "k"]);

    let mixed = setup.begin([add("m"), add("l"), add("n")]);
    let free = setup.next().await;
    assert_eq!(free.keys(), ["m", "n"]);
    free.answer(1);
    setup.nothing_leaves().await;
    command.answer(5);
    assert_eq!(amounts(both).await, [5, 6, 7]);
    let held = setup.next().await;
    assert_eq!(held.keys(), ["l"]);
    held.answer(9);
    assert_eq!(amounts(mixed).await, [1, 9, 2]);
    setup.is_empty().await;
}

#[tokio::test]
async fn epochs_and_buckets_stay_apart_in_order_of_arrival() {
    let mut setup = Setup::new();
    let first = setup.begin([add("k")]);
    let command = setup.next().await;
    let of = |epoch, bucket| Window {
        epoch,
        bucket,
        ..add("k")
    };
    let asked = [of(1, 10), of(1, 20), of(2, 20), of(1, 20), of(2, 20)];
    let calls = asked.map(|window| setup.begin([window]));
    command.answer(1);
    assert_eq!(amounts(first).await, [1]);

    let command = setup.next().await;
    let twice = |window| Window {
        add: vec![lane("a", 2)],
        ..window
    };
    let expected = [of(1, 10), twice(of(1, 20)), twice(of(2, 20))];
    assert_eq!(command.windows, expected);
    command.answer(7);
    for (call, place) in calls.into_iter().zip([0, 1, 2, 1, 2]) {
        assert_eq!(amounts(call).await, [7 + place]);
    }
}

#[tokio::test]
async fn merged_adds_count_since_the_latest_and_live_the_longest() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let _calls = [(3, 500), (7, 100), (5, 900)].map(|(since, ttl_ms)| {
        setup.begin([Window {
            since,
            ttl_ms,
            ..add("k")
        }])
    });
    command.answer(1);
    let merged = setup.next().await.windows;
    assert_eq!(merged.len(), 1);
    assert_eq!((merged[0].since, merged[0].ttl_ms), (7, 900));
}

#[tokio::test]
async fn an_add_that_its_own_since_leaves_out_takes_no_other_along() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let late = Window {
        since: 11,
        ..add("k")
    };
    let _calls = [add("k"), late.clone()].map(|window| setup.begin([window]));
    command.answer(1);
    assert_eq!(setup.next().await.windows, [add("k"), late]);
}

#[tokio::test]
async fn merged_amounts_saturate_by_lane() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let most = Window {
        add: vec![lane("b", u64::MAX), lane("a", AMOUNT_MAX - 1)],
        ..add("k")
    };
    let _calls = [add("k"), most.clone(), most].map(|window| setup.begin([window]));
    command.answer(1);
    let merged = setup.next().await.windows;
    assert_eq!(
        merged[0].add,
        [lane("a", AMOUNT_MAX), lane("b", AMOUNT_MAX)]
    );
}

#[tokio::test]
async fn reads_merge_only_since_the_same_moment_and_never_with_adds() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let since = |since| Window { since, ..read("k") };
    let _calls = [since(0), add("k"), since(5), since(0), since(5)].map(|w| setup.begin([w]));
    command.answer(1);
    assert_eq!(setup.next().await.windows, [since(0), add("k"), since(5)]);
}

#[tokio::test]
async fn a_call_that_names_a_counter_twice_has_its_windows_in_order() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let _other = setup.begin([add("k"), read("k")]);
    let call = setup.begin([read("k"), add("k"), add("k")]);
    command.answer(1);
    let command = setup.next().await;
    assert_eq!(command.windows, [add("k"), read("k"), add("k"), add("k")]);
    command.answer(4);
    assert_eq!(amounts(call).await, [5, 6, 7]);
}

#[tokio::test]
async fn an_error_is_told_to_all_who_are_in_the_command_and_to_no_one_else() {
    for error in [
        StoreError::Unavailable("on purpose".into()),
        StoreError::Refused("on purpose".into()),
    ] {
        let mut setup = Setup::new();
        let first = setup.begin([add("k"), add("l")]);
        let command = setup.next().await;
        let calls = [setup.begin([add("k")]), setup.begin([add("k")])];
        let other = setup.begin([add("l")]);
        command.answer(1);
        assert_eq!(amounts(first).await, [1, 2]);
        let failing = setup.next().await;
        assert_eq!(failing.keys(), ["k"]);
        failing.fail(error.clone());
        for call in calls {
            assert_eq!(call.await.expect("no panic"), Err(error.clone()));
        }
        setup.next().await.answer(3);
        assert_eq!(amounts(other).await, [3]);
        setup.is_empty().await;
    }
}

#[tokio::test]
async fn an_add_without_a_lifetime_is_refused_alone() {
    let mut setup = Setup::new();
    let _first = setup.begin([add("k")]);
    let command = setup.next().await;
    let waiting = setup.begin([add("k")]);
    let refused = setup.begin([Window {
        ttl_ms: 0,
        ..add("k")
    }]);
    setup.next().await.fail(StoreError::Refused("no".into()));
    assert!(refused.await.expect("no panic").is_err());
    command.answer(1);
    setup.next().await.answer(2);
    assert_eq!(amounts(waiting).await, [2]);
}

#[tokio::test]
async fn a_caller_that_gives_up_stalls_nobody() {
    let mut setup = Setup::new();
    let first = setup.begin([add("k")]);
    let command = setup.next().await;
    let waiting = setup.begin([add("k")]);
    let dropped = setup.store.count(vec![add("k")]);
    first.abort();
    drop(dropped);
    setup.nothing_leaves().await;
    command.answer(1);
    setup.next().await.answer(2);
    assert_eq!(amounts(waiting).await, [2]);

    // An answer that is never looked at holds nobody up either.
    let unwatched = setup.store.count(vec![add("k")]);
    let command = setup.next().await;
    let waiting = setup.begin([add("k")]);
    command.answer(3);
    setup.next().await.answer(4);
    assert_eq!(amounts(waiting).await, [4]);
    drop(unwatched);
    setup.is_empty().await;
}

#[tokio::test]
async fn a_command_that_ends_without_an_answer_leaves_no_counter_busy() {
    let mut setup = Setup::new();
    let first = setup.begin([add("k")]);
    let command = setup.next().await;
    let waiting = setup.begin([add("k")]);
    // The store below panics.
    drop(command);
    assert!(matches!(
        first.await.expect("no panic"),
        Err(StoreError::Unavailable(_))
    ));
    setup.next().await.answer(2);
    assert_eq!(amounts(waiting).await, [2]);
    setup.is_empty().await;
}

#[test]
fn a_runtime_that_ends_ends_what_waits() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let (setup, replies) = runtime.block_on(async {
        let setup = Setup::new();
        let replies: Vec<_> = (0..3).map(|_| setup.store.count(vec![add("k")])).collect();
        (setup, replies)
    });
    drop(runtime);
    let another = tokio::runtime::Builder::new_current_thread().build();
    for reply in replies {
        let answer = another.as_ref().expect("a runtime").block_on(reply.wait());
        assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    }
    assert!(setup.store.0.busy().is_empty());
}

#[tokio::test]
async fn a_store_that_answers_at_once_still_does() {
    let store = MergedStore::new(Arc::new(MemoryStore::new()));
    for sum in 1..=3 {
        let windows = vec![add("k"), add("l"), read("k")];
        let Reply::Ready(Ok(tallies)) = store.count(windows) else {
            panic!("memory answers at once");
        };
        let seen: Vec<u64> = tallies.iter().map(|tally| tally.amount("a")).collect();
        assert_eq!(seen, [sum; 3]);
        assert!(store.0.busy().is_empty());
    }
    assert!(matches!(store.count(Vec::new()), Reply::Ready(Ok(none)) if none.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_add_is_lost_and_each_caller_sees_its_own() {
    let memory = Delayed::new(MemoryStore::new());
    let store = Arc::new(MergedStore::new(Arc::new(memory)));
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..100 {
                    let tallies = store.count(vec![add("k")]).wait().await.expect("an answer");
                    assert!(tallies[0].amount("a") > last);
                    last = tallies[0].amount("a");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("the caller ends");
    }
    let tallies = store
        .count(vec![read("k")])
        .wait()
        .await
        .expect("an answer");
    assert_eq!(tallies[0].amount("a"), 1_600);
}
