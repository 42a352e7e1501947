//! Which scenarios a driver fails, and which cases it judges wrongly.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use fusewire::scenario::{Driver, Scenario, play_through, report};
use fusewire_tests::cases::Cases;
use tokio::time::timeout;

use crate::Result;
use crate::workshop::limits;

/// How long one scenario, or all the cases of one configuration, may take. They take milliseconds; a
/// mistake may go on for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many providers a configuration of cases has: it is read within the limits of one call.
const PROVIDERS: usize = 20;

/// A scenario that a driver fails, and what there is to read about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The scenario's name.
    pub name: String,
    /// The first expectation that did not hold, or what went wrong with the driver.
    pub why: String,
}

/// Plays scenarios through a driver, and answers those that fail; with `first`, at most one.
/// A driver that breaks down fails the scenario that it was in, and is started again.
///
/// # Errors
/// It cannot be started.
pub async fn failing(
    program: &Path,
    scenarios: &[(String, Scenario)],
    first: bool,
) -> Result<Vec<Failed>> {
    let mut failed = Vec::new();
    let mut driver = started(program)?;
    for (name, scenario) in scenarios {
        let why = match timeout(PATIENCE, play_through(scenario, &driver, name)).await {
            Ok(Ok(played)) if played.failures.is_empty() => continue,
            Ok(Ok(played)) => report::failures(name, &played),
            Ok(Err(error)) => format!("  {name}: {error}\n"),
            Err(_) => format!("  {name} is not over after {PATIENCE:?}\n"),
        };
        failed.push(Failed {
            name: name.clone(),
            why,
        });
        if first {
            break;
        }
        // After a panic there nobody answers any more, and the report does not tell.
        driver = started(program)?;
    }
    Ok(failed)
}

/// Has a driver judge the labelled cases, and answers whether each verdict is the one expected.
///
/// # Errors
/// It cannot be started.
pub async fn judges_well(program: &Path, batches: &[Cases]) -> Result<bool> {
    let driver = started(program)?;
    for batch in batches {
        let judged = timeout(PATIENCE, judges(&driver, batch));
        if judged.await != Ok(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All labelled cases, by the configurations that they are judged by.
#[must_use]
pub fn cases() -> Vec<Cases> {
    Cases::batches(PROVIDERS)
}

async fn judges(driver: &Driver, batch: &Cases) -> bool {
    if driver
        .configure(&batch.configuration(), "cases")
        .await
        .is_err()
    {
        return false;
    }
    for case in &batch.cases {
        let (target, seen) = (batch.target(case), &case.input.observation);
        let verdict = driver.classify(&target, seen).await;
        let right = verdict.is_ok_and(|found| case.expected.differences(&found).is_empty());
        if !right {
            return false;
        }
    }
    true
}

fn started(program: &Path) -> Result<Driver> {
    let arguments = limits(program);
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    Driver::start(OsStr::new("sh"), &arguments).map_err(|error| error.to_string())
}
