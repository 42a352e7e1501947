//! The task that takes a candidate through the stages, and back.
//!
//! | module | subject |
//! |---|---|
//! | `offering` | from an offer to a vetted candidate, and what becomes of one that does not make it |
//! | `traffic` | a candidate under traffic: in the shadow, and deciding a share |
//! | `serving` | the policy that serves: put in place, watched, taken back |

mod offering;
mod serving;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::linger::Lingering;
use super::options::Options;
use super::probation::Watched;
use super::status::{Served, Status};
use super::trial::{At, Trial};
use super::{How, Serving};
use crate::engine::{ComponentEngine, Engine};
use crate::guard::Guard;
use crate::guard::generation::{Canary, Lineup, Watcher};
use crate::policy::shadow::Shadow;
use crate::policy::{Artefact, Digest, Evidence, Refused, Stage, Vetted};

/// How often it is looked at what goes on under traffic. A policy that fails at every call does so
/// for this long.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the task is told to do.
pub(super) enum Command {
    Offer(Artefact, How, Option<String>),
    Reconfigure(String),
    Withdraw(String),
    Rollback(String, oneshot::Sender<Result<Digest, String>>),
    Pause(bool),
}

/// What comes back from the vetting of this number.
struct News(u64, Came);

enum Came {
    Seen(Evidence),
    Done(Box<Result<Vetted, Refused>>),
}

/// A policy that serves or served, with all that it takes to start it again.
struct Deployed {
    served: Served,
    artefact: Artefact,
    configuration: String,
    engine: Arc<ComponentEngine>,
}

/// The vetting under way. Dropping it ends it.
struct Vetting {
    number: u64,
    how: How,
    artefact: Artefact,
    configuration: String,
    task: AbortHandle,
}

impl Drop for Vetting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A candidate that is vetted, and how it is to go on.
struct Live {
    trial: Trial,
    how: How,
}

pub(super) struct Keeper {
    guard: Guard,
    options: Options,
    status: watch::Sender<Status>,
    serving: Deployed,
    previous: Option<Deployed>,
    vetting: Option<Vetting>,
    vettings: u64,
    live: Option<Live>,
    probation: Option<Watched>,
    probation_shadow: Option<Arc<Shadow>>,
    lingering: Lingering,
    news: mpsc::UnboundedSender<News>,
    told: mpsc::UnboundedReceiver<News>,
}

impl Keeper {
    pub(super) fn new(
        guard: Guard,
        serving: Serving,
        options: Options,
    ) -> (Self, watch::Receiver<Status>) {
        let (news, told) = mpsc::unbounded_channel();
        let generation = guard.generations().active();
        let configuration = options.terms.configuration.clone();
        let previous = options.before.clone();
        let serving = Deployed::new(serving, configuration.clone(), generation.number(), &guard);
        let previous = previous.map(|before| Deployed::new(before, configuration, 0, &guard));
        let (status, watch) = watch::channel(Status {
            serving: serving.served.clone(),
            previous: previous.as_ref().map(|before| before.served.clone()),
            candidate: None,
            refused: None,
            paused: false,
            activations: 1,
            refusals: 0,
            rollbacks: 0,
            lingering: 0,
        });
        let mut keeper = Self {
            lingering: Lingering::new(options.linger),
            guard,
            options,
            status,
            serving,
            previous,
            vetting: None,
            vettings: 0,
            live: None,
            probation: None,
            probation_shadow: None,
            news,
            told,
        };
        keeper.put_on_probation(generation, None);
        (keeper, watch)
    }

    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Command>) {
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_busy =
                self.live.is_some() || self.probation.is_some() || self.lingering.len() > 0;
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => self.order(order),
                    None => return self.end(),
                },
                Some(News(number, came)) = self.told.recv() => {
                    if self.vetting.as_ref().is_some_and(|vetting| vetting.number == number) {
                        self.vetted(came);
                    }
                }
                _ = look.tick(), if is_busy => self.look(),
            }
        }
    }

    /// Nobody is left who could ask for anything: what serves goes on to serve, unwatched.
    fn end(mut self) {
        self.live = None;
        self.probation_shadow = None;
        self.line_up();
    }

    fn order(&mut self, order: Command) {
        match order {
            Command::Offer(artefact, how, configuration) => {
                let configuration =
                    configuration.unwrap_or_else(|| self.options.terms.configuration.clone());
                self.offer(artefact, how, configuration);
            }
            Command::Rollback(why, answer) => {
                // Whoever asked may have gone; it is done all the same.
                let _ = answer.send(self.rollback(&why));
            }
            Command::Reconfigure(configuration) => {
                let artefact = self.serving.artefact.clone();
                self.offer(artefact, How::Staged, configuration);
            }
            Command::Withdraw(why) => self.stop_candidate(None, &why),
            Command::Pause(paused) => {
                if self.status.borrow().paused != paused {
                    let word = if paused { "paused" } else { "resumed" };
                    tracing::info!("replacing the policy is {word}");
                    self.status.send_modify(|status| status.paused = paused);
                    self.advance();
                }
            }
        }
    }

    /// Tells the guard who decides and who listens.
    fn line_up(&self) {
        let generations = self.guard.generations();
        let mut watchers: Vec<Arc<dyn Watcher>> = Vec::new();
        let mut listen = |shadow: &Arc<Shadow>| watchers.push(Arc::clone(shadow) as _);
        if let Some(shadow) = &self.probation_shadow {
            listen(shadow);
        }
        let mut canary = None;
        match self.live.as_ref().map(|live| &live.trial.at) {
            Some(At::Shadow(shadow, _)) => listen(shadow),
            Some(At::Canary(watched)) => {
                if let Some(shadow) = watched.predecessor() {
                    listen(shadow);
                }
                canary = Some(Canary {
                    generation: Arc::clone(watched.generation()),
                    share: self.options.canary.share,
                });
            }
            _ => {}
        }
        generations.set(Lineup {
            active: generations.active(),
            canary,
            watchers,
        });
    }

    /// Looks at what goes on under traffic.
    fn look(&mut self) {
        self.lingering.look();
        self.look_at_candidate();
        self.look_at_serving();
        let lingering = self.lingering.len();
        self.status.send_if_modified(|status| {
            let changed = status.lingering != lingering;
            status.lingering = lingering;
            changed
        });
    }

    fn publish(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(|status| {
            status.serving = self.serving.served.clone();
            status.previous = self.previous.as_ref().map(|before| before.served.clone());
            status.lingering = self.lingering.len();
            change(status);
        });
    }
}

impl Deployed {
    fn new(serving: Serving, configuration: String, generation: u64, guard: &Guard) -> Self {
        let description = serving.engine.describe();
        Self {
            served: Served {
                digest: serving.artefact.digest(),
                configuration: Digest::of(configuration.as_bytes()),
                name: description.name.clone(),
                version: description.version.clone(),
                record_schema: description.record_schema,
                generation,
                since_ms: guard.now_ms(),
                on_probation: false,
                origin: serving.artefact.origin().to_owned(),
                evidence: serving.evidence,
            },
            artefact: serving.artefact,
            configuration,
            engine: serving.engine,
        }
    }
}

/// The stage after this one.
fn next(stage: Stage) -> Stage {
    Stage::ALL
        .iter()
        .copied()
        .find(|later| *later > stage)
        .unwrap_or(Stage::Active)
}
