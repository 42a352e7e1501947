//! The processes of the fleet: started, killed, stopped and let go on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fusewire::engine::{BUILT_IN, Compiled};
use fusewire::policy::{Cache, Digest};
use rustix::process::{Pid, Signal, kill_process};

use super::check::Journalled;
use super::journal;
use super::orders::{Orders, process_of};
use super::random::Random;

/// By how much a wall clock is wrong, in ms, where the process follows the store's clock: far more
/// than a lease or a cool-down.
const WRONG_MS: std::ops::Range<u64> = 3_000..60_000;
/// By how much it is wrong where the process goes by it: more than a lease.
const OWN_CLOCK_MS: std::ops::Range<u64> = 500..1_500;
/// How long the processes may take to end in good order.
const PATIENCE: Duration = Duration::from_secs(40);

/// How far apart two clocks may be of which one or both are the processes' own, in ms.
pub const OWN_CLOCKS_APART_MS: u64 = 2 * OWN_CLOCK_MS.end;

/// What the processes are made with.
pub struct Recipe {
    /// The program.
    pub program: PathBuf,
    /// The URL of the store.
    pub store: String,
    /// The providers, by name.
    pub providers: Vec<(String, SocketAddr)>,
    /// The provider for which the last process goes by its own clock.
    pub own_clock_for: String,
    /// Where journals and compiled code are kept.
    pub folder: PathBuf,
    /// What random numbers come from.
    pub seed: u64,
}

/// The processes, by their places.
pub struct Crew {
    recipe: Recipe,
    random: Random,
    places: Vec<Place>,
}

#[derive(Default)]
struct Place {
    /// None: it was killed.
    process: Option<Child>,
    instance: String,
    started: usize,
    paused: bool,
}

impl Crew {
    /// Starts so many processes, of a program that the policy has been compiled for.
    ///
    /// # Panics
    /// The policy cannot be compiled, or a process not started.
    #[must_use]
    pub fn start(recipe: Recipe, processes: usize) -> Self {
        let compiled = Compiled::new(BUILT_IN).expect("the policy compiles");
        let cache = Cache::open(&recipe.cache()).expect("a folder for compiled code");
        cache
            .put(&Digest::of(BUILT_IN), &compiled)
            .expect("compiled code is kept");
        let mut crew = Self {
            random: Random::apart(recipe.seed, "crew"),
            recipe,
            places: (0..processes).map(|_| Place::default()).collect(),
        };
        for at in 0..processes {
            crew.bring_back(at);
        }
        crew
    }

    /// Starts a process where there is none, and lets one go on that is paused.
    ///
    /// # Panics
    /// It does not start.
    pub fn bring_back(&mut self, at: usize) {
        self.resume(at);
        if self.places[at].process.is_some() {
            return;
        }
        let is_last = at + 1 == self.places.len();
        let wrong_ms = self
            .random
            .within(if is_last { OWN_CLOCK_MS } else { WRONG_MS });
        let wrong_ms = i64::try_from(wrong_ms).expect("a small number");
        let ahead = self.random.percent(50);
        let place = &mut self.places[at];
        place.instance = format!("w{at}.{}", place.started);
        place.started += 1;
        let orders = Orders {
            instance: place.instance.clone(),
            store: self.recipe.store.clone(),
            providers: self.recipe.providers.clone(),
            shift_ms: if ahead { wrong_ms } else { -wrong_ms },
            own_clock_for: is_last.then(|| self.recipe.own_clock_for.clone()),
            journals: self.recipe.folder.clone(),
            cache: self.recipe.cache(),
            seed: self.recipe.seed,
        };
        let process = Command::new(&self.recipe.program)
            .arg(orders.argument())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the worker starts");
        place.process = Some(process);
    }

    /// Kills a process, paused or not. Whether there was one.
    pub fn kill(&mut self, at: usize) -> bool {
        let place = &mut self.places[at];
        place.paused = false;
        let Some(mut process) = place.process.take() else {
            return false;
        };
        end(&mut process);
        true
    }

    /// Stops a process that runs. Whether there was one.
    pub fn pause(&mut self, at: usize) -> bool {
        let place = &mut self.places[at];
        let runs = place.process.is_some() && !place.paused;
        if runs {
            place.signal(Signal::STOP);
            place.paused = true;
        }
        runs
    }

    /// Lets a process go on that is stopped.
    pub fn resume(&mut self, at: usize) {
        let place = &mut self.places[at];
        if place.paused {
            place.signal(Signal::CONT);
            place.paused = false;
        }
    }

    /// The place of the process that this instance is in, where it still runs.
    #[must_use]
    pub fn place_of(&self, instance: &str) -> Option<usize> {
        let runs =
            |place: &Place| place.process.is_some() && place.instance == process_of(instance);
        self.places.iter().position(runs)
    }

    /// How many run, and how many of them are paused.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let running = self.places.iter().filter(|place| place.process.is_some());
        let paused = self.places.iter().filter(|place| place.paused);
        (running.count(), paused.count())
    }

    /// The processes that are there now.
    #[must_use]
    pub fn present(&self) -> Vec<String> {
        let present = self.places.iter().filter(|place| place.process.is_some());
        present.map(|place| place.instance.clone()).collect()
    }

    /// # Panics
    /// A process has ended that nobody has killed.
    pub fn check(&mut self) {
        for place in &mut self.places {
            if let Some(process) = &mut place.process
                && let Some(status) = process.try_wait().expect("the state of a child")
            {
                panic!("{} has ended by itself: {status}", place.instance);
            }
        }
    }

    /// Has every process end in good order, and reads the journals of all that ever ran.
    ///
    /// # Panics
    /// A process does not end, or a journal cannot be read.
    #[must_use]
    pub fn finish(mut self) -> Vec<Journalled> {
        for place in &mut self.places {
            if let Some(process) = &mut place.process {
                drop(process.stdin.take());
            }
        }
        let deadline = Instant::now() + PATIENCE;
        for place in &mut self.places {
            let Some(process) = &mut place.process else {
                continue;
            };
            let status = loop {
                if let Some(status) = process.try_wait().expect("the state of a child") {
                    break status;
                }
                let instance = &place.instance;
                assert!(
                    Instant::now() < deadline,
                    "{instance} does not come to its end"
                );
                sleep(Duration::from_millis(10));
            };
            assert!(status.success(), "{} ended with {status}", place.instance);
        }
        journals(&self.recipe.folder)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for place in &mut self.places {
            if let Some(process) = &mut place.process {
                end(process);
            }
        }
    }
}

impl Place {
    fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("a process that runs");
        kill_process(Pid::from_child(process), signal).expect("the signal is sent");
    }
}

impl Recipe {
    fn cache(&self) -> PathBuf {
        self.folder.join("compiled")
    }
}

/// All journals in a folder, by the names of their writers. A process that was killed before it had
/// one did nothing.
fn journals(folder: &Path) -> Vec<Journalled> {
    let files = std::fs::read_dir(folder).expect("the folder of the journals");
    let mut journals: Vec<Journalled> = files
        .map(|file| file.expect("a file in it").path())
        .filter(|path| path.extension().is_some_and(|ends| ends == "jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default();
            Journalled {
                instance: name.to_string_lossy().into_owned(),
                lines: journal::read(&path),
            }
        })
        .collect();
    journals.sort_by(|a, b| a.instance.cmp(&b.instance));
    journals
}

fn end(process: &mut Child) {
    // It may have ended by itself; either way it is gone after this.
    let _ = process.kill();
    let _ = process.wait();
}
