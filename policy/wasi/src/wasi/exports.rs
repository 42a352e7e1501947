//! What the component exports: the contract's types, and the instance's one store.

use std::cell::OnceCell;

use fusewire_core::store::{self as core, StoreError};

use super::bindings::exports::fusewire::policy::keyvalue::{Error, Guest, Lane, Tally, Window};
use super::import::{self, Values};
#[cfg(feature = "drive")]
use super::stage;
use crate::bucket::Failure;
use crate::keyvalue::KeyValue;
use crate::own::{Own, is_own};

pub(super) struct Adapter;

// Only for WebAssembly: native linkers reject the exports' names.
#[cfg(target_arch = "wasm32")]
super::bindings::export!(Adapter with_types_in super::bindings);

type Store = KeyValue<Values, fn() -> u64>;

thread_local! {
    // Opened once an instance: a host may give another bucket each time.
    static STORE: OnceCell<Store> = const { OnceCell::new() };
    static OWN: KeyValue<Own, fn() -> u64> = KeyValue::new(Own::default(), super::now_ms);
}

fn with<T>(operation: impl FnOnce(&Store) -> Result<T, StoreError>) -> Result<T, Error> {
    STORE.with(|cell| {
        let store = match cell.get() {
            Some(store) => store,
            None => {
                let bucket = super::open().map_err(opening)?;
                let now_ms: fn() -> u64 = super::now_ms;
                cell.get_or_init(|| KeyValue::new(import::values(bucket), now_ms))
            }
        };
        operation(store).map_err(error)
    })
}

fn opening(failure: Failure) -> Error {
    match failure {
        Failure::Unavailable => Error::Unavailable,
        Failure::Refused(why) => Error::Refused(why),
    }
}

fn error(error: StoreError) -> Error {
    match error {
        StoreError::Pending => Error::Pending,
        StoreError::Unavailable => Error::Unavailable,
        StoreError::Refused(why) => Error::Refused(why),
    }
}

impl Guest for Adapter {
    fn get(keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        #[cfg(feature = "drive")]
        stage::enter(keys.iter().map(String::as_str)).map_err(error)?;
        let (own, shared): (Vec<String>, Vec<String>) =
            keys.iter().cloned().partition(|key| is_own(key));
        let shared = match shared.is_empty() {
            true => Vec::new(),
            false => with(|store| store.get(&shared))?,
        };
        let own = OWN.with(|store| store.get(&own)).map_err(error)?;
        Ok(joined(keys.iter().map(|key| is_own(key)), own, shared))
    }

    fn swap(
        key: String,
        expected: Option<Vec<u8>>,
        replacement: Option<Vec<u8>>,
        ttl_ms: u64,
    ) -> Result<bool, Error> {
        #[cfg(feature = "drive")]
        stage::enter([key.as_str()]).map_err(error)?;
        #[cfg(feature = "drive")]
        let ttl_ms = stage::lifetime(ttl_ms);
        let (expected, replacement) = (expected.as_deref(), replacement.as_deref());
        if is_own(&key) {
            let swapped = OWN.with(|store| store.swap(&key, expected, replacement, ttl_ms));
            return swapped.map_err(error);
        }
        with(|store| store.swap(&key, expected, replacement, ttl_ms))
    }

    fn count(windows: Vec<Window>) -> Result<Vec<Tally>, Error> {
        let windows: Vec<core::Window> = windows.into_iter().map(window).collect();
        #[cfg(feature = "drive")]
        stage::enter(windows.iter().map(|window| window.key.as_str())).map_err(error)?;
        #[cfg(feature = "drive")]
        let windows = stage::bent(windows);
        let places: Vec<bool> = windows.iter().map(|window| is_own(&window.key)).collect();
        let (own, shared): (Vec<core::Window>, Vec<core::Window>) =
            windows.into_iter().partition(|window| is_own(&window.key));
        let shared = match shared.is_empty() {
            true => Vec::new(),
            false => with(|store| store.count(&shared))?,
        };
        let own = OWN.with(|store| store.count(&own)).map_err(error)?;
        let tallies = joined(places.into_iter(), own, shared);
        Ok(tallies.into_iter().map(tally).collect())
    }
}

/// Answers in the order of what was asked for.
fn joined<T>(is_own: impl Iterator<Item = bool>, own: Vec<T>, shared: Vec<T>) -> Vec<T> {
    let (mut own, mut shared) = (own.into_iter(), shared.into_iter());
    is_own
        .filter_map(|is_own| if is_own { own.next() } else { shared.next() })
        .collect()
}

fn window(from: Window) -> core::Window {
    let lane = |lane: Lane| core::Lane {
        name: lane.name,
        amount: lane.amount,
    };
    core::Window {
        key: from.key,
        epoch: from.epoch,
        bucket: from.bucket,
        add: from.add.into_iter().map(lane).collect(),
        since: from.since,
        ttl_ms: from.ttl_ms,
    }
}

fn tally(from: core::Tally) -> Tally {
    let lane = |lane: core::Lane| Lane {
        name: lane.name,
        amount: lane.amount,
    };
    Tally {
        epoch: from.epoch,
        lanes: from.lanes.into_iter().map(lane).collect(),
    }
}
