//! Stores that break one promise each, so that the tests of the promises are tested themselves.

use std::sync::Arc;

use tokio::task::{JoinSet, yield_now};

use super::probe::{LONG_MS, SHORT_MS, lanes};
use super::{CHECKS, Delayed};
use crate::store::{MemoryStore, Reply, Store, StoreError, Tally, Window};

/// What a store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    AnswersInOrderOfKeys,
    TakesEmptyForAbsent,
    StopsAtNul,
    SwapsWithoutLooking,
    ExtendsOnRefusedSwap,
    ForgetsZeroLifetime,
    NeverExpires,
    OlderEpochAdds,
    OlderEpochExtends,
    NewerEpochKeepsCounts,
    ReadsCreate,
    ReadsExtend,
    IgnoresSince,
    RoundsToDoubles,
    CutsLongValues,
    RemovesNothing,
    AddsOneLane,
    DropsNoBucket,
    NeverShortensLifetimes,
    NeverRenewsLifetimes,
    PerformsLastWindowFirst,
    LanesUnsorted,
    SumsOverflow,
    MixesKinds,
}

/// Each fault, and a promise that it breaks.
const FAULTS: &[(Fault, &str)] = &[
    (
        Fault::AnswersInOrderOfKeys,
        "get_answers_one_value_a_key_in_order",
    ),
    (
        Fault::TakesEmptyForAbsent,
        "an_empty_value_is_not_an_absent_one",
    ),
    (Fault::StopsAtNul, "a_value_is_any_bytes"),
    (
        Fault::SwapsWithoutLooking,
        "a_swap_replaces_only_what_is_expected",
    ),
    (
        Fault::ExtendsOnRefusedSwap,
        "a_refused_swap_never_touches_a_lifetime",
    ),
    (Fault::ForgetsZeroLifetime, "a_lifetime_of_zero_has_no_end"),
    (Fault::NeverExpires, "a_value_lives_as_long_as_it_was_given"),
    (
        Fault::NeverExpires,
        "a_counter_lives_as_long_as_it_was_given",
    ),
    (
        Fault::OlderEpochAdds,
        "an_older_epoch_adds_nothing_and_is_told",
    ),
    (
        Fault::OlderEpochExtends,
        "a_refused_add_never_extends_a_lifetime",
    ),
    (
        Fault::NewerEpochKeepsCounts,
        "a_newer_epoch_empties_the_counter",
    ),
    (Fault::ReadsCreate, "a_read_changes_nothing"),
    (Fault::ReadsExtend, "a_read_never_extends_a_lifetime"),
    (
        Fault::IgnoresSince,
        "only_buckets_from_since_on_are_in_the_tally",
    ),
    (
        Fault::IgnoresSince,
        "steady_adds_do_not_make_old_buckets_count",
    ),
    (Fault::RoundsToDoubles, "epochs_and_buckets_have_64_bits"),
    (Fault::CutsLongValues, "a_value_of_64_kib_comes_back_whole"),
    (Fault::RemovesNothing, "a_swap_for_nothing_removes_the_key"),
    (Fault::AddsOneLane, "adds_are_summed_by_lane"),
    (
        Fault::DropsNoBucket,
        "an_add_drops_the_buckets_before_since",
    ),
    (
        Fault::NeverShortensLifetimes,
        "a_new_value_brings_its_own_lifetime",
    ),
    (Fault::NeverRenewsLifetimes, "an_add_renews_the_lifetime"),
    (
        Fault::PerformsLastWindowFirst,
        "windows_of_one_call_are_performed_in_order",
    ),
    (
        Fault::LanesUnsorted,
        "lanes_are_in_the_order_of_their_names",
    ),
    (Fault::SumsOverflow, "sums_saturate"),
    (
        Fault::MixesKinds,
        "the_other_kind_of_key_is_refused_and_stays_as_it_is",
    ),
];

/// A store in memory that has one fault.
struct Faulty {
    memory: MemoryStore,
    fault: Fault,
}

impl Faulty {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// A value as this store keeps it.
    fn kept(&self, value: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match (self.fault, value) {
            (Fault::TakesEmptyForAbsent, Some(value)) if value.is_empty() => None,
            (Fault::StopsAtNul, Some(mut value)) => {
                let end = value.iter().position(|&byte| byte == 0);
                value.truncate(end.unwrap_or(value.len()));
                Some(value)
            }
            (Fault::CutsLongValues, Some(mut value)) => {
                value.truncate(60_000);
                Some(value)
            }
            (_, value) => value,
        }
    }

    /// The value under a key.
    fn held(&self, key: &str) -> Option<Vec<u8>> {
        now(self.memory.get(vec![key.to_owned()])).ok()?.pop()?
    }

    /// The tally of a window, performed in order or not.
    fn performed(&self, window: &Window) -> Result<Tally, StoreError> {
        now(self.memory.count(vec![window.clone()])).map(|mut tallies| tallies.remove(0))
    }

    /// A window as this store performs it.
    fn bent(&self, mut window: Window) -> Window {
        let read = self.performed(&Window {
            add: Vec::new(),
            ..window.clone()
        });
        let owner = read.map_or(0, |tally| tally.epoch);
        match self.fault {
            Fault::NeverExpires => window.ttl_ms = u64::MAX,
            Fault::IgnoresSince | Fault::DropsNoBucket => window.since = 0,
            Fault::AddsOneLane => window.add.truncate(1),
            Fault::NeverRenewsLifetimes => window.ttl_ms = window.ttl_ms.min(SHORT_MS),
            Fault::NewerEpochKeepsCounts => window.epoch = 0,
            Fault::OlderEpochAdds => window.epoch = window.epoch.max(owner),
            Fault::ReadsCreate if window.add.is_empty() => window.add = lanes(&[("read", 1)]),
            Fault::RoundsToDoubles => {
                for number in [&mut window.epoch, &mut window.bucket, &mut window.since] {
                    *number = *number as f64 as u64;
                }
            }
            _ => {}
        }
        let extends = match self.fault {
            Fault::OlderEpochExtends => owner > window.epoch,
            Fault::ReadsExtend => owner > 0 && window.add.is_empty(),
            _ => false,
        };
        if extends {
            let epoch = owner;
            let add = lanes(&[("extended", 1)]);
            let touch = Window {
                epoch,
                add,
                ..window.clone()
            };
            assert!(self.performed(&touch).is_ok());
        }
        window
    }

    /// A tally as this store answers it.
    fn told(&self, window: &Window, mut tally: Tally) -> Tally {
        match self.fault {
            Fault::LanesUnsorted => tally.lanes.reverse(),
            Fault::SumsOverflow => {
                for lane in &mut tally.lanes {
                    lane.amount = lane.amount.saturating_add(1) / 2 * 2;
                }
            }
            Fault::DropsNoBucket => {
                let read = Window {
                    add: Vec::new(),
                    ..window.clone()
                };
                return self.performed(&read).unwrap_or(tally);
            }
            _ => {}
        }
        tally
    }
}

/// The answer of a store that answers at once.
fn now<T>(reply: Reply<T>) -> Result<T, StoreError> {
    match reply {
        Reply::Ready(answer) => answer,
        Reply::Later(_) => panic!("memory answers at once"),
    }
}

impl Store for Faulty {
    fn get(&self, mut keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        if self.is(Fault::AnswersInOrderOfKeys) {
            keys.sort();
        }
        match self.memory.get(keys) {
            Reply::Ready(Err(_)) if self.is(Fault::MixesKinds) => Reply::Ready(Ok(vec![None])),
            reply => reply,
        }
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        let held = self.held(&key);
        let (mut expected, replacement) = (self.kept(expected), self.kept(replacement));
        let ttl_ms = match self.fault {
            Fault::NeverExpires => 0,
            Fault::ForgetsZeroLifetime if ttl_ms == 0 => 1,
            Fault::NeverShortensLifetimes if held.is_some() => LONG_MS,
            _ => ttl_ms,
        };
        match self.fault {
            Fault::SwapsWithoutLooking => expected = held,
            Fault::RemovesNothing if replacement.is_none() => {
                return Reply::Ready(Ok(expected == held));
            }
            Fault::ExtendsOnRefusedSwap if expected != held && held.is_some() => {
                assert_eq!(
                    now(self.memory.swap(key, held.clone(), held, ttl_ms)),
                    Ok(true)
                );
                return Reply::Ready(Ok(false));
            }
            _ => {}
        }
        self.memory.swap(key, expected, replacement, ttl_ms)
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        let mut tallies = Vec::new();
        let backwards = self.is(Fault::PerformsLastWindowFirst);
        let count = windows.len();
        for i in 0..count {
            let window = &windows[if backwards { count - 1 - i } else { i }];
            let bent = self.bent(window.clone());
            match self.performed(&bent) {
                Ok(tally) => tallies.push(self.told(window, tally)),
                Err(error) => return Reply::Ready(Err(error)),
            }
        }
        if backwards {
            tallies.reverse();
        }
        Reply::Ready(Ok(tallies))
    }

    fn ping(&self) -> Reply<()> {
        self.memory.ping()
    }

    fn now_ms(&self) -> u64 {
        self.memory.now_ms()
    }
}

/// A store that looks, waits, and then writes; an add that finds itself overtaken is lost.
struct TwoSteps(Arc<MemoryStore>);

impl Store for TwoSteps {
    fn get(&self, keys: Vec<String>) -> Reply<Vec<Option<Vec<u8>>>> {
        self.0.get(keys)
    }

    fn swap(
        &self,
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Reply<bool> {
        let memory = Arc::clone(&self.0);
        Reply::Later(Box::pin(async move {
            let held = || now(memory.get(vec![key.clone()])).map(|mut values| values.remove(0));
            if held()? != expected {
                return Ok(false);
            }
            yield_now().await;
            now(memory.swap(key.clone(), held()?, replacement, ttl_ms))
        }))
    }

    fn count(&self, windows: Vec<Window>) -> Reply<Vec<Tally>> {
        let memory = Arc::clone(&self.0);
        Reply::Later(Box::pin(async move {
            let mut reads = windows.clone();
            for window in &mut reads {
                window.add.clear();
            }
            let looked = now(memory.count(reads.clone()))?;
            yield_now().await;
            if now(memory.count(reads))? == looked {
                now(memory.count(windows))
            } else {
                Ok(looked)
            }
        }))
    }

    fn ping(&self) -> Reply<()> {
        self.0.ping()
    }

    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
}

const BROKEN_IN_TWO_STEPS: &[&str] = &[
    "of_many_who_create_a_value_one_wins",
    "no_update_by_swap_is_lost",
    "no_add_is_lost",
    "a_take_over_is_whole",
];

/// The names of the promises that a store breaks; all are tested at once.
async fn broken_by(store: Arc<dyn Store>) -> Vec<&'static str> {
    let mut checks: JoinSet<_> = CHECKS
        .iter()
        .map(|check| check.run(Arc::clone(&store)))
        .collect();
    let mut broken = Vec::new();
    while let Some(checked) = checks.join_next().await {
        if let Err(found) = checked.expect("a check does not panic") {
            broken.push(found.promise);
        }
    }
    broken
}

#[tokio::test]
async fn a_store_that_breaks_a_promise_is_reported_by_its_name() {
    let mut stores: JoinSet<_> = FAULTS
        .iter()
        .map(|&(fault, promise)| async move {
            let memory = MemoryStore::new();
            let broken = broken_by(Arc::new(Faulty { memory, fault })).await;
            assert!(
                broken.contains(&promise),
                "{fault:?} breaks {promise}, and {broken:?} were reported"
            );
        })
        .collect();
    while let Some(tested) = stores.join_next().await {
        if let Err(failed) = tested {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
}

#[tokio::test]
async fn a_store_that_looks_and_writes_in_two_steps_is_reported() {
    let broken = broken_by(Arc::new(TwoSteps(Arc::default()))).await;
    for promise in BROKEN_IN_TWO_STEPS {
        assert!(
            broken.contains(promise),
            "{promise} is not among {broken:?}"
        );
    }
}

#[tokio::test]
async fn a_store_without_a_fault_is_not_reported() {
    assert_eq!(
        broken_by(Arc::new(MemoryStore::new())).await,
        Vec::<&str>::new()
    );
    let delayed = Delayed::new(MemoryStore::new());
    assert_eq!(broken_by(Arc::new(delayed)).await, Vec::<&str>::new());
}

#[tokio::test]
async fn every_promise_has_a_fault_that_breaks_it() {
    let mut broken: Vec<&str> = FAULTS.iter().map(|&(_, promise)| promise).collect();
    broken.extend(BROKEN_IN_TWO_STEPS);
    let untested: Vec<&str> = CHECKS
        .iter()
        .map(|check| check.promise)
        .filter(|promise| !broken.contains(promise))
        .collect();
    assert_eq!(untested, Vec::<&str>::new());
}
