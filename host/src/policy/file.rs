//! A policy's file that changes: it is offered when there is another whole policy in it.
//!
//! The file is looked at again and again rather than listened to: that works on every file system,
//! and where a folder's link is moved instead of the file (as Kubernetes does). What is found is
//! offered once two looks in a row have found the same bytes and the same signature, so a file that
//! is still being written is not taken for a policy. Best is to write another file and rename it.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::rollout::{How, Rollout};
use super::{Artefact, Digest};

/// How often the file is looked at by default. Reading it costs a fraction of a millisecond.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A file that is looked at for as long as this lives.
pub struct Watched(AbortHandle);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What was found in a file: the digests of the policy and of its signature.
type Found = (Digest, Option<Digest>);

fn found(artefact: &Artefact) -> Found {
    let signature = artefact.signature().map(str::as_bytes);
    (artefact.digest(), signature.map(Digest::of))
}

/// Offers what is in a file whenever that changes. `offered` is what was in it when the host began;
/// `None`: nothing that could be read. A file that cannot be read is said so once, and nothing else happens.
///
/// # Panics
/// Outside of a tokio runtime.
#[must_use]
pub fn watch(
    rollout: Rollout,
    path: PathBuf,
    largest: usize,
    every: Duration,
    offered: Option<&Artefact>,
) -> Watched {
    let mut offered = offered.map(found);
    let task = tokio::spawn(async move {
        let (mut last, mut told) = (offered, None);
        loop {
            sleep(every).await;
            let file = path.clone();
            let read = tokio::task::spawn_blocking(move || Artefact::read(&file, largest));
            let artefact = match read.await {
                Ok(Ok(artefact)) => artefact,
                Ok(Err(error)) => {
                    let why = error.to_string();
                    if told.as_ref() != Some(&why) {
                        tracing::warn!("the policy's file cannot be read: {why}");
                        told = Some(why);
                    }
                    continue;
                }
                // The runtime ends.
                Err(_) => return,
            };
            told = None;
            let now = Some(found(&artefact));
            if now == last && now != offered {
                offered = now;
                rollout.offer(artefact, How::Staged);
            }
            last = now;
        }
    });
    Watched(task.abort_handle())
}
