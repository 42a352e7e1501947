//! One policy in the place of another, while traffic flows.
//!
//! | module | subject |
//! |---|---|
//! | [`options`] | how careful to be |
//! | [`status`] | how it stands, as data |
//! | `keeper` | the task that takes a candidate through the stages, and back |
//! | `trial` | a candidate under traffic: when it may go on, when it must stop |
//! | `probation` | a policy that has just begun to serve: when it is taken back |
//! | `linger` | replaced policies that calls still have |
//!
//! A candidate is vetted ([`vet`](super::vet())), asked in the shadow of the serving policy
//! ([`shadow`](super::shadow)), lets a share of the providers be decided by it, and then serves. A
//! failure at any stage leaves the serving policy in place, and is kept as evidence. Once it
//! serves it is on probation: where it fails too often, or refuses what its predecessor would have
//! let through, the predecessor is put back in place without anybody asking.
//!
//! ```no_run
//! # async fn example(guard: fusewire::guard::Guard, serving: fusewire::policy::rollout::Serving)
//! # -> std::io::Result<()> {
//! use fusewire::policy::rollout::{How, Options, Rollout};
//! use fusewire::policy::Artefact;
//!
//! let rollout = Rollout::begin(&guard, serving, Options::default());
//! rollout.offer(Artefact::read("next.wasm".as_ref(), 16 << 20)?, How::Staged);
//! let mut status = rollout.watch();
//! while status.borrow_and_update().candidate.is_some() {
//!     let _ = status.changed().await;
//! }
//! # Ok(()) }
//! ```

mod keeper;
mod linger;
pub mod options;
mod probation;
pub mod status;
mod trial;

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

pub use self::options::Options;
pub use self::status::{Candidate, Served, Status, Turned};

use self::keeper::{Command, Keeper};
use super::{Artefact, Digest, Evidence, Vetted};
use crate::engine::ComponentEngine;
use crate::guard::Guard;

/// How carefully a policy is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Through all the stages.
    Staged,
    /// As soon as it is vetted, for a policy that has served before.
    AtOnce,
}

/// The policy that a guard begins with.
#[derive(Clone)]
pub struct Serving {
    /// What it was made of.
    pub artefact: Artefact,
    /// The policy itself: the same that the guard was built with.
    pub engine: Arc<ComponentEngine>,
    /// What was seen when it was vetted.
    pub evidence: Vec<Evidence>,
}

impl From<Vetted> for Serving {
    fn from(vetted: Vetted) -> Self {
        Self {
            artefact: vetted.artefact,
            engine: Arc::new(vetted.engine),
            evidence: vetted.evidence,
        }
    }
}

/// Puts one policy of a guard in the place of another. Cheap to clone; with the last clone the
/// candidate under way is dropped, and what serves goes on to serve.
#[derive(Clone)]
pub struct Rollout {
    commands: mpsc::UnboundedSender<Command>,
    status: watch::Receiver<Status>,
    guard: Guard,
}

impl Rollout {
    /// Begins with the policy that the guard was built with.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn begin(guard: &Guard, serving: Serving, options: Options) -> Self {
        let (commands, orders) = mpsc::unbounded_channel();
        let (keeper, status) = Keeper::new(guard.clone(), serving, options);
        tokio::spawn(keeper.run(orders));
        Self {
            commands,
            status,
            guard: guard.clone(),
        }
    }

    /// Offers a policy: it goes through the stages in the background, and [`Self::watch`] tells how
    /// it fares. It takes the place of a candidate that is under way. One that serves already, or
    /// is the candidate already, is left as it is.
    pub fn offer(&self, artefact: Artefact, how: How) {
        self.command(Command::Offer(artefact, how, None));
    }

    /// As [`Self::offer`], and gives it this configuration, a JSON text, which later policies are
    /// given too.
    pub fn offer_with(&self, artefact: Artefact, configuration: String, how: How) {
        self.command(Command::Offer(artefact, how, Some(configuration)));
    }

    /// Offers the serving policy with another configuration, a JSON text, which later policies are
    /// given too.
    pub fn reconfigure(&self, configuration: String) {
        self.command(Command::Reconfigure(configuration));
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// How it stands, and whenever that changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Goes back: stops the candidate that is under way, where one is; otherwise puts the last good
    /// policy before the serving one back in its place, at once. Answers what serves then. `why` is
    /// for the records. Cancel-safe: once it was asked, it is done.
    ///
    /// # Errors
    /// There is nothing to go back to, as a sentence.
    pub async fn rollback(&self, why: &str) -> Result<Digest, String> {
        let (answer, answered) = oneshot::channel();
        self.command(Command::Rollback(why.to_owned(), answer));
        answered
            .await
            .unwrap_or_else(|_| Err("the host is about to end".to_owned()))
    }

    /// Stops the candidate that is under way, where one is. `why` is for the records.
    pub fn withdraw(&self, why: &str) {
        self.command(Command::Withdraw(why.to_owned()));
    }

    /// Keeps a candidate from going on to the next stage under traffic, or lets it.
    pub fn pause(&self, paused: bool) {
        self.command(Command::Pause(paused));
    }

    /// What every key of the policy begins with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.guard.prefix()
    }

    /// This host's id.
    #[must_use]
    pub fn instance(&self) -> &str {
        self.guard.instance()
    }

    fn command(&self, command: Command) {
        // The task ends with the runtime alone, and nothing is to be done after that.
        let _ = self.commands.send(command);
    }
}

#[cfg(test)]
mod tests;
