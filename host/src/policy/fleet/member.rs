//! A host in its fleet: looks at what is wanted, does its part, reports.
//!
//! Each look is one read of the store, and another of the other hosts' reports where it has to be
//! found out whose turn it is. A report is written when there is something new to say, and every
//! ten seconds. While the store is away the host goes on as it is.
//!
//! | module | subject |
//! |---|---|
//! | `part` | takes what is wanted when it is its turn, and says how far it is |
//! | `tell` | tells the others through the store, and people through the log |

mod part;
mod tell;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use self::part::Retry;
use self::tell::Said;
use super::follow::Taken;
use super::keys::Keys;
use super::report::{HostReport, Saying, Step, read_list};
use super::wanted::{Mark, Wanted};
use crate::policy::rollout::{How, Rollout, Status};
use crate::policy::{Artefact, Digest, LARGEST, Stage};
use crate::store::{Store, StoreError};

/// The shortest time between two looks.
const EVERY_MIN: Duration = Duration::from_millis(10);

/// How a host takes part.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often it looks at what is wanted.
    pub every: Duration,
    /// The most bytes of a policy.
    pub largest: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            largest: LARGEST,
        }
    }
}

/// A host's part in its fleet. It is over when this is dropped; the host keeps what it serves, and
/// its last report is gone half a minute later.
#[derive(Debug)]
pub struct Fleet {
    task: AbortHandle,
}

impl Fleet {
    /// Joins the fleet that shares this store, with the prefix and the id of the rollout.
    ///
    /// # Panics
    /// Outside of a tokio runtime, on which it looks.
    #[must_use]
    pub fn join(rollout: Rollout, store: Arc<dyn Store>, options: Options) -> Self {
        let (prefix, instance) = (rollout.prefix().to_owned(), rollout.instance().to_owned());
        let changed = rollout.watch();
        let every = options.every.max(EVERY_MIN);
        let member = Member::new(rollout, store, &prefix, instance, options);
        let task = tokio::spawn(member.stay(changed, every)).abort_handle();
        Self { task }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a member needs of the host that it is on.
pub(super) trait Host: Send + Sync + 'static {
    fn status(&self) -> Status;
    fn offer(&self, artefact: Artefact, how: How);
    fn pause(&self, paused: bool);
    /// Stops the candidate that is under way. It may be seen for a moment longer.
    fn withdraw(&self, why: &str);
}

impl Host for Rollout {
    fn status(&self) -> Status {
        Self::status(self)
    }

    fn offer(&self, artefact: Artefact, how: How) {
        Self::offer(self, artefact, how);
    }

    fn pause(&self, paused: bool) {
        Self::pause(self, paused);
    }

    fn withdraw(&self, why: &str) {
        Self::withdraw(self, why);
    }
}

/// What one read of the store told.
struct Seen {
    wanted: Option<Vec<u8>>,
    hosts: Vec<String>,
    listed: Option<Vec<u8>>,
    own: Option<Vec<u8>>,
}

pub(super) struct Member<H> {
    host: H,
    store: Arc<dyn Store>,
    keys: Keys,
    instance: String,
    largest: usize,
    /// The order that was there when it joined; `None`: it has not looked yet.
    found: Option<Option<Mark>>,
    /// The last order that it took.
    taken: Option<Taken>,
    retry: Option<Retry>,
    /// Whether this has paused the host's candidate.
    pausing: bool,
    reported: Option<HostReport>,
    said: Said,
}

impl<H: Host> Member<H> {
    pub(super) fn new(
        host: H,
        store: Arc<dyn Store>,
        prefix: &str,
        instance: String,
        options: Options,
    ) -> Self {
        Self {
            host,
            store,
            keys: Keys::new(prefix),
            instance,
            largest: options.largest,
            found: None,
            taken: None,
            retry: None,
            pausing: false,
            reported: None,
            said: Said::default(),
        }
    }

    async fn stay(mut self, mut changed: watch::Receiver<Status>, every: Duration) {
        let mut tick = interval(every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looked_at = place(&changed.borrow());
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                // What is compared in the shadow changes with each call, and waits for the tick.
                Ok(_) = changed.wait_for(|status| place(status) != looked_at) => {}
            }
            looked_at = place(&changed.borrow());
            self.look().await;
        }
    }

    /// Looks at what is wanted, does this host's part, and reports.
    pub(super) async fn look(&mut self) {
        let ended = async {
            let seen = self.read().await?;
            let (wanted, saying) = self.act(&seen).await?;
            self.said.of(wanted.as_ref(), &saying);
            self.report(&seen, wanted.as_ref(), saying).await?;
            self.enlist(&seen).await
        };
        let trouble = ended.await.err().map(|error: StoreError| error.to_string());
        self.said.of_store(trouble);
    }

    async fn read(&self) -> Result<Seen, StoreError> {
        let (wanted, hosts) = (self.keys.wanted(), self.keys.hosts());
        let own = self.keys.host(&self.instance);
        let values = self.store.get(vec![wanted, hosts, own]).wait().await?;
        let mut values = values.into_iter();
        let mut next = || values.next().flatten();
        let (wanted, listed, own) = (next(), next(), next());
        Ok(Seen {
            hosts: read_list(listed.as_deref()),
            wanted,
            listed,
            own,
        })
    }

    /// Does this host's part, and tells what there is to say.
    async fn act(&mut self, seen: &Seen) -> Result<(Option<Wanted>, Saying), StoreError> {
        let read = seen.wanted.as_deref().map(|raw| (raw, Wanted::read(raw)));
        let mark = read
            .as_ref()
            .and_then(|(_, read)| Some(read.as_ref().ok()?.mark()));
        self.found.get_or_insert(mark);
        let Some((raw, read)) = read else {
            return Ok((None, Saying::new(Step::Idle, "")));
        };
        match read {
            Ok(wanted) => {
                let saying = self.follow(&wanted, raw, seen).await?;
                Ok((Some(wanted), saying))
            }
            Err(unreadable) => {
                let saying = Saying::new(Step::Unreadable, unreadable.to_string());
                Ok((None, saying))
            }
        }
    }
}

/// What of a status is worth a look at once.
fn place(status: &Status) -> (Digest, u64, bool, Option<(Digest, Stage)>, Option<u64>) {
    let serving = &status.serving;
    let candidate = status.candidate.as_ref();
    (
        serving.digest,
        serving.generation,
        serving.on_probation,
        candidate.map(|candidate| (candidate.digest, candidate.stage)),
        status.refused.as_ref().map(|turned| turned.at_ms),
    )
}

#[cfg(test)]
mod tests;
