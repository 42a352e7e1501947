//! The list of promises, and running it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::probe::Probe;
use super::{counters, lifetimes, races, values};
use crate::store::Store;

/// How long one promise may take to be tested. The slowest waits for three short lifetimes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The promise's name.
    pub promise: &'static str,
    /// What was done, what was promised and what was seen.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.why)
    }
}

type Outcome = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// One promise, and how to test it.
pub struct Check {
    /// The promise's name.
    pub promise: &'static str,
    test: fn(Probe) -> Outcome,
}

impl Check {
    /// Tests whether a store keeps the promise. Needs a tokio runtime with its timer.
    ///
    /// # Errors
    /// It does not.
    pub async fn run(&self, store: Arc<dyn Store>) -> Result<(), Broken> {
        let tested = timeout(PATIENCE, (self.test)(Probe::new(store))).await;
        tested
            .unwrap_or_else(|_| Err(format!("it was not done after {PATIENCE:?}")))
            .map_err(|why| Broken {
                promise: self.promise,
                why,
            })
    }
}

/// Tests every promise, one after the other. Takes a few seconds, as lifetimes are real time.
/// Needs a tokio runtime with its timer.
///
/// # Errors
/// All that were not kept.
pub async fn check(store: Arc<dyn Store>) -> Result<(), Vec<Broken>> {
    let mut broken = Vec::new();
    for check in CHECKS {
        if let Err(found) = check.run(Arc::clone(&store)).await {
            broken.push(found);
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(broken)
    }
}

/// A promise is named as the function that tests it.
macro_rules! promises {
    ($($module:ident::$promise:ident,)*) => {
        &[$(Check {
            promise: stringify!($promise),
            test: |probe| Box::pin($module::$promise(probe)),
        },)*]
    };
}

/// Every promise.
pub const CHECKS: &[Check] = promises![
    values::get_answers_one_value_a_key_in_order,
    values::a_value_is_any_bytes,
    values::an_empty_value_is_not_an_absent_one,
    values::a_value_of_64_kib_comes_back_whole,
    values::a_swap_replaces_only_what_is_expected,
    values::a_swap_for_nothing_removes_the_key,
    values::the_other_kind_of_key_is_refused_and_stays_as_it_is,
    counters::adds_are_summed_by_lane,
    counters::lanes_are_in_the_order_of_their_names,
    counters::only_buckets_from_since_on_are_in_the_tally,
    counters::an_add_drops_the_buckets_before_since,
    counters::steady_adds_do_not_make_old_buckets_count,
    counters::a_newer_epoch_empties_the_counter,
    counters::an_older_epoch_adds_nothing_and_is_told,
    counters::a_read_changes_nothing,
    counters::epochs_and_buckets_have_64_bits,
    counters::sums_saturate,
    counters::windows_of_one_call_are_performed_in_order,
    lifetimes::a_value_lives_as_long_as_it_was_given,
    lifetimes::a_counter_lives_as_long_as_it_was_given,
    lifetimes::a_new_value_brings_its_own_lifetime,
    lifetimes::a_lifetime_of_zero_has_no_end,
    lifetimes::an_add_renews_the_lifetime,
    lifetimes::a_refused_swap_never_touches_a_lifetime,
    lifetimes::a_refused_add_never_extends_a_lifetime,
    lifetimes::a_read_never_extends_a_lifetime,
    races::of_many_who_create_a_value_one_wins,
    races::no_update_by_swap_is_lost,
    races::no_add_is_lost,
    races::a_take_over_is_whole,
];
