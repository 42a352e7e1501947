//! The stage of scenarios: the store can go away, forget, and is counted.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fusewire_core::store::{StoreError, Window};

use super::bindings::exports::fusewire::wasi::stage::Guest;
use super::exports::Adapter;
use crate::own::is_own;

/// How long everything lives that a policy writes in a scenario, in ms, whatever it asks for: time
/// in a scenario is not real.
const LIFETIME_MS: u64 = 600_000;

#[derive(Default)]
struct Stage {
    prefix: String,
    down: bool,
    passed_by: bool,
    operations: u64,
    /// How often each counter was lost.
    lost: BTreeMap<String, u32>,
}

thread_local! {
    static STAGE: RefCell<Stage> = RefCell::default();
}

impl Guest for Adapter {
    fn begin(prefix: String) {
        STAGE.set(Stage {
            prefix,
            ..Stage::default()
        });
    }

    fn set_up(up: bool) {
        STAGE.with_borrow_mut(|stage| stage.down = !up);
    }

    fn lose_counter(key: String) {
        STAGE.with_borrow_mut(|stage| {
            let times = stage.lost.entry(key).or_default();
            *times = times.saturating_add(1);
        });
    }

    fn take_operations() -> u64 {
        STAGE.with_borrow_mut(|stage| std::mem::take(&mut stage.operations))
    }

    fn pass_by(on: bool) {
        STAGE.with_borrow_mut(|stage| stage.passed_by = on);
    }
}

/// Lets an operation on these keys through, or not.
pub(super) fn enter<'a>(keys: impl IntoIterator<Item = &'a str> + Clone) -> Result<(), StoreError> {
    STAGE.with_borrow_mut(|stage| {
        if stage.passed_by {
            return Ok(());
        }
        let foreign = |key: &&str| {
            let rest = key.strip_prefix(stage.prefix.as_str());
            !rest.is_some_and(|rest| rest.starts_with(':'))
        };
        let own_alone = keys.clone().into_iter().all(is_own);
        if let Some(key) = keys.into_iter().find(foreign) {
            let prefix = &stage.prefix;
            return Err(StoreError::Refused(format!(
                "the key {key:?} does not begin with \"{prefix}:\""
            )));
        }
        stage.operations = stage.operations.saturating_add(1);
        if stage.down && !own_alone {
            return Err(StoreError::Unavailable);
        }
        Ok(())
    })
}

/// The lifetime of a value that was to live so long.
pub(super) fn lifetime(ttl_ms: u64) -> u64 {
    STAGE.with_borrow(|stage| match ttl_ms {
        span if span == 0 || stage.passed_by => span,
        _ => LIFETIME_MS,
    })
}

/// These windows, where the lost ones are now.
pub(super) fn bent(mut windows: Vec<Window>) -> Vec<Window> {
    STAGE.with_borrow(|stage| {
        if !stage.passed_by {
            for window in &mut windows {
                if let Some(times) = stage.lost.get(&window.key) {
                    window.key = format!("{}~{times}", window.key);
                }
                if window.ttl_ms > 0 {
                    window.ttl_ms = LIFETIME_MS;
                }
            }
        }
    });
    windows
}
