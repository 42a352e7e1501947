//! Judges the mutants that cargo-mutants makes of the core, by the scenarios, the labelled
//! cases and the core's unit tests, and tells those that nothing catches.
//!
//! ```sh
//! cargo mutants --list --json --package fusewire-core | fusewire-mutate target/mutants 1/4
//! ```
//!
//! The folder is for workshops; of four shards, this is the first: every fourth mutant. The status
//! is 0 where at least nine of ten are caught.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use fusewire::scenario::Scenario;
use fusewire_mutants::Result;
use fusewire_mutants::judge::{cases, failing, judges_well};
use fusewire_mutants::made::{Made, list};
use fusewire_mutants::workshop::Workshop;
use fusewire_tests::cases::Cases;
use fusewire_tests::scenarios::scenarios;

/// The share that has to be caught, of a hundred.
const CAUGHT_PERCENT: usize = 90;

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Caught,
    Missed,
    /// It does not compile.
    Unviable,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, shard) = match arguments.as_slice() {
        [folder] => (folder, "1/1"),
        [folder, shard] => (folder, shard.as_str()),
        _ => return Err("usage: fusewire-mutate FOLDER [SHARD/SHARDS] < LIST".into()),
    };
    let mut json = String::new();
    std::io::stdin()
        .read_to_string(&mut json)
        .map_err(|error| error.to_string())?;
    let mutants = of_shard(list(&json)?, shard)?;
    let judge = Judge {
        scenarios: scenarios(),
        cases: cases(),
    };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let workshops: Vec<Workshop> = (0..jobs)
        .map(|at| Workshop::at(&PathBuf::from(folder).join(format!("workshop-{at}"))))
        .collect::<Result<_>>()?;
    if let Some(workshop) = workshops.first()
        && judge.fate(workshop)? != Fate::Missed
    {
        return Err("the core as it is fails a scenario, a case or a unit test".into());
    }

    let all = mutants.len();
    let waiting = Mutex::new(mutants.into_iter());
    let fates = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for workshop in &workshops {
            scope.spawn(|| {
                let next = || waiting.lock().expect("no other thread panics").next();
                while let Some(mutant) = next() {
                    let fate = judge.fate_of(workshop, &mutant);
                    let mut fates = fates.lock().expect("no other thread panics");
                    tell(&mutant, &fate, fates.len() + 1, all);
                    fates.push(fate);
                }
            });
        }
    });
    let fates = fates.into_inner().expect("no thread has panicked");
    let fates: Vec<Fate> = fates.into_iter().collect::<Result<_>>()?;
    Ok(sum(&fates))
}

/// Every so many-th mutant.
fn of_shard(mutants: Vec<Made>, shard: &str) -> Result<Vec<Made>> {
    let numbers = shard.split_once('/').and_then(|(number, of)| {
        let (number, of) = (number.parse::<usize>().ok()?, of.parse::<usize>().ok()?);
        (1..=of).contains(&number).then_some((number, of))
    });
    let (number, of) = numbers.ok_or_else(|| format!("{shard} is no shard such as 1/4"))?;
    Ok(mutants.into_iter().skip(number - 1).step_by(of).collect())
}

/// What the core is judged by.
struct Judge {
    scenarios: Vec<(String, Scenario)>,
    cases: Vec<Cases>,
}

impl Judge {
    fn fate_of(&self, workshop: &Workshop, mutant: &Made) -> Result<Fate> {
        let judged = workshop.with(
            &mutant.file,
            |right| mutant.apply(right),
            |workshop| self.fate(workshop),
        );
        judged.map_err(|why| format!("{}: {why}", mutant.name))
    }

    /// What becomes of the core that is in a workshop. The unit tests, which take longest to build,
    /// come last.
    fn fate(&self, workshop: &Workshop) -> Result<Fate> {
        let Ok(driver) = workshop.build() else {
            return Ok(Fate::Unviable);
        };
        if self.catches(&driver)? {
            return Ok(Fate::Caught);
        }
        Ok(match workshop.test() {
            Ok(true) => Fate::Missed,
            Ok(false) => Fate::Caught,
            Err(_) => Fate::Unviable,
        })
    }

    fn catches(&self, driver: &Path) -> Result<bool> {
        let player = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        player.block_on(async {
            let failed = failing(driver, &self.scenarios, true).await?;
            Ok(!failed.is_empty() || !judges_well(driver, &self.cases).await?)
        })
    }
}

fn tell(mutant: &Made, fate: &Result<Fate>, number: usize, all: usize) {
    match fate {
        Ok(Fate::Missed) => println!("{number}/{all} MISSED  {}", mutant.name),
        Ok(_) => {}
        Err(why) => println!("{number}/{all} {why}"),
    }
}

/// Tells the share that was caught, and answers whether it is enough.
fn sum(fates: &[Fate]) -> bool {
    let of = |fate: Fate| fates.iter().filter(|other| **other == fate).count();
    let (caught, missed) = (of(Fate::Caught), of(Fate::Missed));
    let viable = caught + missed;
    let share = caught as f64 / viable.max(1) as f64 * 100.0;
    println!(
        "{caught} of {viable} mutants are caught, {share:.1} %; {} more do not compile",
        of(Fate::Unviable)
    );
    caught * 100 >= viable * CAUGHT_PERCENT
}
