//! Does to a fleet what the schedule says, and lets it come to rest.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::check::{Calm, Story};
use super::crew::{Crew, OWN_CLOCKS_APART_MS, Recipe};
use super::journal::monotonic_us;
use super::look::Look;
use super::orders::{CALL_LIMIT, DAWDLE_MAX, RULES};
use super::provider::{Mood, Provider};
use super::schedule::{Step, Victim, schedule};
use crate::redis_server::RedisServer;

/// How many processes there are.
pub const PROCESSES: usize = 8;
/// The provider for which one process goes by its own clock.
pub const OWN_CLOCK_FOR: &str = "maps";
/// How often a line of progress is written.
const PROGRESS: Duration = Duration::from_secs(5);
/// How long a holder of the probe lease is waited for.
const AIM: Duration = Duration::from_secs(4);
/// How often it is looked who holds one, while one is waited for. Most are held for a few ms.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The most that a process takes to notice that its store is back, and to have a connection to it.
const STORE_IS_BACK: Duration = Duration::from_secs(2);
/// How many leases may be taken in vain before enough probes have passed: by callers that go away,
/// and by those that keep the outcome to themselves until the lease is over.
const LEASES_IN_VAIN: u32 = 6;
/// What a busy machine may add to the bound within which a breaker closes.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long everybody calls after that, so that everybody has seen it.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// What was done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// Processes killed, and those of them that held a probe lease.
    pub kills: usize,
    /// See [`Self::kills`].
    pub holders_killed: usize,
    /// Processes stopped for a while, and those of them that held a probe lease.
    pub pauses: usize,
    /// See [`Self::pauses`].
    pub holders_paused: usize,
    /// How often the store answered nobody for a while.
    pub store_pauses: usize,
    /// How often it lost everything.
    pub store_losses: usize,
}

/// A run, and what came of it.
pub struct Run {
    /// Everything that is known of it.
    pub story: Story,
    /// What was done.
    pub done: Done,
    /// What each provider did, each with the moment that it began to, in us.
    pub moods: BTreeMap<String, Vec<(u64, Mood)>>,
    /// How long the breakers took to close, each in its last life, after the disturbances.
    pub settled_in: Duration,
}

/// The longest that a breaker may take to close once everything is well: what is told late may open
/// it once more, whose cool-down is the longest, by a clock that is as wrong as can be.
#[must_use]
pub fn bound() -> Duration {
    let lease = Duration::from_millis(RULES.lease_ms + 200);
    STORE_IS_BACK
        + DAWDLE_MAX
        + CALL_LIMIT
        + Duration::from_millis(RULES.longest_ms + OWN_CLOCKS_APART_MS)
        + lease * (RULES.probes + LEASES_IN_VAIN)
}

/// Runs a fleet under a schedule for so long, and then until it has come to rest.
///
/// # Panics
/// Something of it cannot be started, or ends by itself.
pub async fn run(seed: u64, lasts: Duration, program: &Path, folder: &Path) -> Run {
    let server = RedisServer::start();
    let providers = vec![
        Provider::start("geo", seed).await,
        Provider::start(OWN_CLOCK_FOR, seed).await,
    ];
    let look = Look::at(server.url());
    let recipe = Recipe {
        program: program.to_owned(),
        store: server.url(),
        providers: providers
            .iter()
            .map(|provider| (provider.name().to_owned(), provider.address()))
            .collect(),
        own_clock_for: OWN_CLOCK_FOR.to_owned(),
        folder: folder.to_owned(),
        seed,
    };
    let crew = Crew::start(recipe, PROCESSES);
    let mut director = Director {
        server,
        providers,
        crew,
        began: Instant::now(),
        due: Vec::new(),
        done: Done::default(),
        losses: Vec::new(),
        aims: Vec::new(),
        look,
        store: "up",
        lost_us: None,
        told: Instant::now(),
    };
    for (at, step) in schedule(seed, lasts, PROCESSES, director.providers.len()) {
        director.at(at, Due::Step(step));
    }
    director.disturb(lasts).await;
    let calm = director.calm();
    let settled_in = director.rest(&calm).await;
    let providers = &director.providers;
    let moods = providers.iter().map(|p| (p.name().to_owned(), p.moods()));
    let moods = moods.collect();
    let journals = director.crew.finish();
    Run {
        story: Story {
            rules: RULES,
            visits: director
                .providers
                .iter()
                .flat_map(Provider::visits)
                .collect(),
            journals,
            losses: director.losses,
            apart: BTreeMap::from([(OWN_CLOCK_FOR.to_owned(), OWN_CLOCKS_APART_MS)]),
            calm: Some(calm),
        },
        done: director.done,
        moods,
        settled_in,
    }
}

/// Something that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Step(Step),
    BringBack(usize),
    Resume(usize),
    StoreBack,
}

/// What is done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// It is killed, and started again after so long.
    Kill(Duration),
    /// It is stopped for so long.
    Pause(Duration),
}

/// What is done to whoever holds the probe lease next.
struct Aim {
    provider: usize,
    /// To whom it is done where nobody does until then.
    otherwise: usize,
    until: Duration,
    blow: Blow,
}

struct Director {
    server: RedisServer,
    providers: Vec<Provider>,
    crew: Crew,
    began: Instant,
    /// What is due when, in time since the beginning; the first comes last.
    due: Vec<(Duration, Due)>,
    done: Done,
    losses: Vec<Range<u64>>,
    /// What is to be done to holders of a lease.
    aims: Vec<Aim>,
    look: Look,
    /// What the store does, as a word.
    store: &'static str,
    /// When the store was killed, where it is not there.
    lost_us: Option<u64>,
    /// When progress was last told of.
    told: Instant,
}

impl Director {
    async fn disturb(&mut self, lasts: Duration) {
        while self.began.elapsed() < lasts {
            self.progress("");
            self.crew.check();
            let next = self.due.last().map(|(at, _)| *at);
            let until = next.unwrap_or(lasts).min(lasts);
            let wait = until.saturating_sub(self.began.elapsed());
            if wait.is_zero() {
                if let Some((_, due)) = self.due.pop() {
                    self.perform(due).await;
                }
            } else if self.aims.is_empty() {
                sleep(wait.min(Duration::from_millis(500))).await;
            } else {
                self.aim().await;
                sleep(wait.min(LOOK_EVERY)).await;
            }
        }
    }

    async fn perform(&mut self, due: Due) {
        match due {
            Due::Step(Step::Mood(provider, mood)) => self.providers[provider].set(mood),
            Due::Step(Step::Kill(victim, away)) => self.strike(victim, Blow::Kill(away)),
            Due::Step(Step::Pause(victim, lasts)) => self.strike(victim, Blow::Pause(lasts)),
            Due::Step(_) if self.store != "up" => {}
            Due::Step(Step::PauseStore(lasts)) => {
                let ms = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
                let mut pause = redis::cmd("CLIENT");
                pause.arg("PAUSE").arg(ms).arg("ALL");
                if self.look.ask::<()>(&pause).await.is_some() {
                    self.store = "paused";
                    self.done.store_pauses += 1;
                    self.later(lasts, Due::StoreBack);
                }
            }
            Due::Step(Step::StopStore(lasts)) => {
                self.server.pause();
                self.store = "stopped";
                self.done.store_pauses += 1;
                self.later(lasts, Due::StoreBack);
            }
            Due::Step(Step::KillStore(away)) => {
                self.lost_us = Some(monotonic_us());
                self.server.kill();
                self.store = "killed";
                self.done.store_losses += 1;
                self.later(away, Due::StoreBack);
            }
            Due::BringBack(at) => self.crew.bring_back(at),
            Due::Resume(at) => self.crew.resume(at),
            Due::StoreBack => self.store_back(),
        }
    }

    fn later(&mut self, by: Duration, due: Due) {
        self.at(self.began.elapsed() + by, due);
    }

    fn at(&mut self, at: Duration, due: Due) {
        let place = self.due.partition_point(|(other, _)| *other > at);
        self.due.insert(place, (at, due));
    }

    fn store_back(&mut self) {
        match self.store {
            "stopped" => self.server.resume(),
            "killed" => {
                self.server.restart();
                let lost_us = self.lost_us.take().unwrap_or_default();
                self.losses.push(lost_us..monotonic_us());
            }
            _ => {}
        }
        self.store = "up";
    }

    /// Does something to a process, or waits until there is one to do it to.
    fn strike(&mut self, victim: Victim, blow: Blow) {
        match victim {
            Victim::Process(at) => self.hit(at, blow, false),
            Victim::Holder(provider, otherwise) => self.aims.push(Aim {
                provider,
                otherwise,
                blow,
                until: self.began.elapsed() + AIM,
            }),
        }
    }

    /// Does to the holders of leases what is to be done to them, where somebody holds one.
    async fn aim(&mut self) {
        for aim in std::mem::take(&mut self.aims) {
            let record = self
                .look
                .record(self.providers[aim.provider].name())
                .await
                .flatten();
            let lease = record.and_then(|record| record.lease);
            let holder = lease.and_then(|lease| self.crew.place_of(&lease.owner));
            match holder {
                Some(at) => self.hit(at, aim.blow, true),
                None if self.began.elapsed() >= aim.until => {
                    self.hit(aim.otherwise, aim.blow, false);
                }
                None => self.aims.push(aim),
            }
        }
    }

    fn hit(&mut self, at: usize, blow: Blow, holds: bool) {
        let holds = usize::from(holds);
        match blow {
            Blow::Kill(away) => {
                if self.crew.kill(at) {
                    self.done.kills += 1;
                    self.done.holders_killed += holds;
                    self.later(away, Due::BringBack(at));
                }
            }
            Blow::Pause(lasts) => {
                if self.crew.pause(at) {
                    self.done.pauses += 1;
                    self.done.holders_paused += holds;
                    self.later(lasts, Due::Resume(at));
                }
            }
        }
    }

    /// Ends all disturbances.
    fn calm(&mut self) -> Calm {
        for provider in &self.providers {
            provider.set(Mood::Healthy);
        }
        self.due.clear();
        self.aims.clear();
        self.store_back();
        for at in 0..PROCESSES {
            self.crew.bring_back(at);
        }
        let from_us = monotonic_us();
        let longest = u64::try_from((bound() + PATIENCE).as_micros()).unwrap_or(u64::MAX);
        Calm {
            from_us,
            until_us: from_us + longest,
            instances: self.crew.present(),
        }
    }

    /// Waits until every breaker is closed, and what may be told late has been; and a little longer,
    /// in which everybody calls. How long the breakers took. Where they do not close in time this
    /// ends all the same: the journals tell.
    async fn rest(&mut self, calm: &Calm) -> Duration {
        let began = Instant::now();
        let mut open_at = Duration::ZERO;
        let mut closed_since = None;
        while monotonic_us() < calm.until_us {
            self.progress("at rest: ");
            self.crew.check();
            let names = self.providers.iter().map(Provider::name);
            if self.look.are_closed(names).await {
                let since = *closed_since.get_or_insert(began.elapsed());
                let told = began.elapsed() >= DAWDLE_MAX + CALL_LIMIT;
                if told && began.elapsed() >= since + AFTERWARDS {
                    break;
                }
            } else {
                closed_since = None;
                open_at = began.elapsed();
            }
            sleep(Duration::from_millis(50)).await;
        }
        open_at
    }

    fn progress(&mut self, prefix: &str) {
        if self.told.elapsed() < PROGRESS {
            return;
        }
        self.told = Instant::now();
        let providers: Vec<String> = self
            .providers
            .iter()
            .map(|provider| {
                let (name, mood) = (provider.name(), provider.mood().name());
                format!("{name} {mood}, {} calls", provider.visited())
            })
            .collect();
        let (running, paused) = self.crew.count();
        let done = &self.done;
        // Not by way of the test's own output, which nobody sees before the test has ended.
        let _ = writeln!(
            std::io::stderr(),
            "  {:>4} s  {prefix}{}; {running} processes, {paused} paused; store {}; so far {} kills, \
             {} pauses, {} of the store, which was lost {} times",
            self.began.elapsed().as_secs(),
            providers.join("; "),
            self.store,
            done.kills,
            done.pauses,
            done.store_pauses,
            done.store_losses,
        );
    }
}
