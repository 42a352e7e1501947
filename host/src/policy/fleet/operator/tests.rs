use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::policy::fleet::chunks::CHUNK_BYTES;
use crate::store::{MemoryStore, Reply, Tally, Window};

/// A store in memory that notes the keys that were written, refuses writes when it is told to, and
/// has a clock to be moved.
struct Noted {
    inner: MemoryStore,
    hand: Arc<AtomicU64>,
    written: Mutex<Vec<String>>,
    fails: AtomicBool,
}

impl Store for Noted {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.inner.get(keys)
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        if self.fails.load(Ordering::Relaxed) && key.ends_with(":1") {
            return Reply::Ready(Err(StoreError::Unavailable("as the test says".into())));
        }
        self.written
            .lock()
            .expect("nobody panicked")
            .push(key.clone());
        self.inner.swap(key, expected, replacement, ttl_ms)
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        self.inner.count(windows)
    }

    fn ping(&self) -> Reply<()> {
        self.inner.ping()
    }

    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }
}

fn fleet() -> (Arc<Noted>, Operator) {
    let hand = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&hand);
    let store = Arc::new(Noted {
        inner: MemoryStore::with_clock(Arc::new(move || clock.load(Ordering::Relaxed))),
        hand,
        written: Mutex::default(),
        fails: AtomicBool::new(false),
    });
    let operator = Operator::new(Arc::clone(&store) as Arc<dyn Store>, "fusewire");
    (store, operator)
}

fn order() -> Order {
    Order {
        by: "ann@desk".into(),
        ..Order::default()
    }
}

/// Bytes in two pieces.
fn policy(seed: u8) -> Artefact {
    Artefact::new(vec![seed; CHUNK_BYTES + 1], None, "a test")
}

async fn push(operator: &Operator, seed: u8) -> Wanted {
    let (artefact, order) = (policy(seed), order());
    let pushed = operator.push(&artefact, ("n", "1"), &order, |_| {});
    let pushed = pushed.await.expect("memory");
    assert_eq!(pushed.left_over, None);
    pushed.wanted
}

/// Whether all bytes of a policy are in the store; `None`: some are.
async fn is_kept(operator: &Operator, seed: u8) -> Option<bool> {
    let digest = policy(seed).digest();
    let keys = (0..2).map(|at| operator.keys.chunk(digest, at)).collect();
    let chunks = operator.store.get(keys).wait().await.expect("memory");
    match chunks.iter().flatten().count() {
        0 => Some(false),
        2 => Some(true),
        _ => None,
    }
}

#[tokio::test]
async fn nothing_is_named_wanted_before_all_of_it_is_there() {
    let (store, operator) = fleet();
    store.fails.store(true, Ordering::Relaxed);
    let broken = operator
        .push(&policy(1), ("n", "1"), &order(), |_| {})
        .await;
    let error = broken.expect_err("a chunk cannot be written").to_string();
    assert_eq!(
        error,
        "cannot put the policy into the store: the store is out of reach: as the test says"
    );
    assert_eq!(operator.record().await, Ok(None));

    store.fails.store(false, Ordering::Relaxed);
    let mut told = Vec::new();
    let (artefact, order) = (policy(1), order());
    let pushed = operator.push(&artefact, ("n", "1"), &order, |at| told.push(at.written));
    pushed.await.expect("memory");
    assert_eq!(told, [1, 2]);
    let written = store.written.lock().expect("nobody panicked").clone();
    let named = written.iter().position(|key| key.ends_with(":wanted"));
    let chunk = written.iter().rposition(|key| key.contains(":artefact:"));
    assert!(chunk < named, "{written:?}");
}

#[tokio::test]
async fn what_cannot_be_gone_back_to_is_removed() {
    let (_, operator) = fleet();
    for seed in 1..=4 {
        push(&operator, seed).await;
    }
    for seed in 1..=4 {
        assert_eq!(is_kept(&operator, seed).await, Some(true));
    }
    push(&operator, 5).await;
    assert_eq!(is_kept(&operator, 1).await, Some(false));
    assert_eq!(is_kept(&operator, 2).await, Some(true));
}

#[tokio::test]
async fn what_a_push_that_broke_off_left_is_removed_by_a_later_one() {
    let (store, operator) = fleet();
    store.fails.store(true, Ordering::Relaxed);
    let broken = operator
        .push(&policy(1), ("n", "1"), &order(), |_| {})
        .await;
    broken.expect_err("a chunk cannot be written");
    store.fails.store(false, Ordering::Relaxed);
    push(&operator, 2).await;
    assert_eq!(
        is_kept(&operator, 1).await,
        None,
        "it may still be under way"
    );
    store.hand.fetch_add(3_600_000, Ordering::Relaxed);
    push(&operator, 3).await;
    assert_eq!(is_kept(&operator, 1).await, Some(false));
    assert_eq!(is_kept(&operator, 2).await, Some(true));
    let pushing = get(&operator.store, operator.keys.pushing()).await;
    assert_eq!(pushing, Ok(None), "nothing is under way");
}

#[tokio::test]
async fn a_rollback_goes_back_one_by_one_and_never_to_what_was_rolled_back() {
    let (_, operator) = fleet();
    for seed in 1..=3 {
        push(&operator, seed).await;
    }
    let digest = |seed| policy(seed).digest();
    let back = operator
        .rollback(None, &order())
        .await
        .expect("there is one");
    assert_eq!(back.policy.digest, digest(2));
    assert!(back.urgent);
    let back = operator
        .rollback(None, &order())
        .await
        .expect("there is one");
    assert_eq!(back.policy.digest, digest(1));
    let error = operator
        .rollback(None, &order())
        .await
        .expect_err("none is left");
    assert!(
        error
            .to_string()
            .starts_with("there is nothing to go back to but"),
        "{error}"
    );

    let to = digest(3).short();
    let back = operator
        .rollback(Some(&to), &order())
        .await
        .expect("it was named");
    assert_eq!(back.policy.digest, digest(3));
    assert!(!back.policy.withdrawn);
    // A push is no rollback, whatever was before.
    assert!(!push(&operator, 2).await.urgent);
}

#[tokio::test]
async fn a_rollback_is_to_what_is_there() {
    let (store, operator) = fleet();
    let none = operator.rollback(None, &order()).await;
    assert_eq!(none, Err(FleetError::NothingPushed));
    push(&operator, 1).await;
    let error = operator
        .rollback(None, &order())
        .await
        .expect_err("nothing before");
    assert_eq!(
        error.to_string(),
        "there is nothing to go back to: no other policy was pushed; `fusewire policy push built-in` gives the fleet the one that its hosts carry"
    );
    let wanted = push(&operator, 2).await;
    for (to, why) in [
        ("ab", "is too short"),
        ("0123456789", "is none of the 3 policies before"),
        (
            &wanted.policy.digest.to_string(),
            "is what the fleet is to run",
        ),
    ] {
        let error = operator.rollback(Some(to), &order()).await.expect_err(to);
        assert!(error.to_string().contains(why), "{error}");
    }
    let key = operator.keys.chunk(policy(1).digest(), 1);
    let chunk = get(&operator.store, key.clone()).await.expect("memory");
    assert!(
        store
            .swap(key, chunk, None, 0)
            .wait()
            .await
            .expect("memory")
    );
    let error = operator
        .rollback(None, &order())
        .await
        .expect_err("a chunk is missing");
    assert_eq!(
        error.to_string(),
        "chunk 2 of 2 is not in the store: push it again"
    );
    assert_eq!(
        operator.record().await,
        Ok(Some(wanted)),
        "nothing was changed"
    );
}

#[tokio::test]
async fn a_pause_remembers_who_asked_first_and_a_resume_is_a_new_order() {
    let (_, operator) = fleet();
    assert_eq!(operator.pause("ann").await, Err(FleetError::NothingPushed));
    let pushed = push(&operator, 1).await;
    assert_eq!(
        operator
            .pause("ann")
            .await
            .expect("wanted")
            .paused
            .as_deref(),
        Some("ann")
    );
    let paused = operator.pause("bob").await.expect("wanted");
    assert_eq!(
        (paused.paused.as_deref(), paused.revision),
        (Some("ann"), pushed.revision)
    );
    let resumed = operator.resume().await.expect("wanted");
    assert_eq!(
        (resumed.paused, resumed.revision),
        (None, pushed.revision + 1)
    );
}

#[tokio::test]
async fn a_record_of_a_newer_fusewire_is_never_replaced_and_a_damaged_one_is() {
    let (store, operator) = fleet();
    let key = operator.keys.wanted();
    let newer = br#"{"schema": 2}"#.to_vec();
    assert!(
        store
            .swap(key.clone(), None, Some(newer.clone()), 0)
            .wait()
            .await
            .expect("memory")
    );
    let pushed = operator
        .push(&policy(1), ("n", "1"), &order(), |_| {})
        .await;
    let error = pushed.expect_err("it is newer");
    assert_eq!(error, FleetError::Unreadable(Unreadable::Newer(2)));
    assert_eq!(is_kept(&operator, 1).await, Some(false), "no byte was sent");
    for refused in [operator.pause("ann").await, operator.resume().await] {
        assert_eq!(refused, Err(FleetError::Unreadable(Unreadable::Newer(2))));
    }
    let swap = store.swap(key, Some(newer), Some(b"damaged".to_vec()), 0);
    assert!(swap.wait().await.expect("memory"));
    assert_eq!(push(&operator, 1).await.revision, 1);
}

#[tokio::test]
async fn what_no_host_could_take_is_not_pushed() {
    let (_, operator) = fleet();
    let large = Artefact::new(vec![0; LARGEST + 1], None, "a test");
    let error = operator.push(&large, ("n", "1"), &order(), |_| {}).await;
    assert!(matches!(error, Err(FleetError::Unfit(_))), "{error:?}");
    let signature = Some("x".repeat(SIGNATURE_MAX_BYTES + 1));
    let long = Artefact::new(*b"policy", signature, "a test");
    let error = operator.push(&long, ("n", "1"), &order(), |_| {}).await;
    assert!(matches!(error, Err(FleetError::Unfit(_))), "{error:?}");
}

#[tokio::test]
async fn two_who_push_at_the_same_time_are_both_in_the_history() {
    let (_, operator) = fleet();
    let operator = Arc::new(operator);
    let pushes: Vec<_> = (1..=3)
        .map(|seed| {
            let operator = Arc::clone(&operator);
            tokio::spawn(async move { push(&operator, seed).await })
        })
        .collect();
    for pushed in pushes {
        pushed.await.expect("it ends");
    }
    let wanted = operator
        .record()
        .await
        .expect("readable")
        .expect("something");
    assert_eq!((wanted.revision, wanted.named().count()), (3, 3));
}
