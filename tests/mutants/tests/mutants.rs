//! Every known mistake of breakers is noticed by a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fusewire::scenario::Driver;
use fusewire::store::contract;
use fusewire_mutants::judge::{Failed, failing};
use fusewire_mutants::list::{Mutant, mutants};
use fusewire_mutants::workshop::Workshop;
use fusewire_mutants::{Result, repository, table};
use fusewire_tests::scenarios::scenarios;

/// As many as are built and judged at once: a build and a driver want a core each.
const WORKSHOPS: usize = 2;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants")
}

/// Keeps a second run of these tests out of the workshops.
fn alone() -> File {
    std::fs::create_dir_all(folder()).expect("the folder of the workshops");
    let lock = File::create(folder().join("lock")).expect("the lock's file");
    lock.lock().expect("the lock");
    lock
}

fn listed() -> Vec<Mutant> {
    mutants(&repository("tests/mutants/mutants")).expect("the list of mutants")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_core_as_it_is_passes_every_scenario_and_every_known_mistake_fails_those_that_catch_it()
{
    let _alone = alone();
    let scenarios = scenarios();
    let workshops: Vec<Workshop> = (0..WORKSHOPS)
        .map(|at| Workshop::at(&folder().join(format!("workshop-{at}"))).expect("a workshop"))
        .collect();

    let right = workshops[0].build().expect("the core builds");
    let failed = failing(&right, &scenarios, false)
        .await
        .expect("the driver");
    assert_eq!(failed, [], "the core as it is");
    let broken = contract::check(Arc::new(driver(&right).store())).await;
    let broken = broken.err().unwrap_or_default();
    assert!(broken.is_empty(), "the driver's store: {broken:?}");

    let waiting = Mutex::new(listed().into_iter());
    let judged = Mutex::new(BTreeMap::new());
    let player = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        for workshop in &workshops {
            scope.spawn(|| {
                while let Some(mutant) = { waiting.lock().unwrap().next() } {
                    let change = |right: &str| mutant.apply(right);
                    let built = workshop.with(&mutant.path(), change, Workshop::build);
                    let failed = built
                        .and_then(|program| player.block_on(failing(&program, &scenarios, false)));
                    let name = mutant.name.clone();
                    judged.lock().unwrap().insert(name, (mutant, failed));
                }
            });
        }
    });
    let (table, complaints) = told_of(judged.into_inner().unwrap().into_values());
    // Shown also where the test passes: it is what there is to know of the scenarios.
    let _ = write!(std::io::stdout().lock(), "\n{table}");
    assert!(complaints.is_empty(), "\n{complaints}");
}

fn driver(program: &Path) -> Driver {
    Driver::start(program.as_os_str(), &[]).expect("the driver starts")
}

/// The table of those that were built, and what is wrong with any.
fn told_of(judged: impl Iterator<Item = (Mutant, Result<Vec<Failed>>)>) -> (String, String) {
    let (mut complaints, mut results) = (String::new(), Vec::new());
    for (mutant, failed) in judged {
        let name = &mutant.name;
        let failed = match failed {
            Ok(failed) => failed,
            Err(why) => {
                complaints += &format!("{name} cannot be judged: {why}\n");
                continue;
            }
        };
        if failed.is_empty() {
            complaints += &format!("{name} survives: no scenario fails\n");
        }
        for catcher in &mutant.caught_by {
            if !failed.iter().any(|failed| failed.name == *catcher) {
                complaints += &format!("{name} is not caught by {catcher}\n");
            }
        }
        results.push((mutant, failed));
    }
    (table::of(&results), complaints)
}

#[test]
fn every_mutant_is_caught_by_scenarios_that_there_are() {
    let scenarios = scenarios();
    for mutant in listed() {
        for catcher in &mutant.caught_by {
            let there = scenarios.iter().any(|(name, _)| name == catcher);
            assert!(there, "{}: there is no scenario {catcher}", mutant.name);
        }
    }
}

#[test]
fn every_trap_within_the_cores_reach_and_every_rule_has_a_mutant() {
    let traps: BTreeSet<String> = listed().into_iter().map(|mutant| mutant.trap).collect();
    // 11 and 12 are about hosts.
    let numbers = (1..=10).map(|number: u32| number.to_string());
    let rules = [
        "clamps",
        "cool-down",
        "counts",
        "domains",
        "enforcement",
        "flapping",
        "hints",
        "hold",
        "idle",
        "jitter",
        "late",
        "learnt",
        "names",
        "override",
        "probe time",
        "probes",
        "quorum",
        "ramp",
        "ratio",
        "schema",
        "slow-ratio",
        "stale",
        "store",
        "windows",
    ];
    let wanted: BTreeSet<String> = numbers.chain(rules.map(str::to_owned)).collect();
    assert_eq!(traps, wanted);
}
