//! A host's part: takes what is wanted when it is its turn, and says how far it is.

use std::time::Duration;

use tokio::time::Instant;

use super::{Host, Member, Seen};
use crate::policy::Artefact;
use crate::policy::fleet::access::{Missing, get_all, json};
use crate::policy::fleet::chunks;
use crate::policy::fleet::follow::{Here, Taken, here, stops_the_others};
use crate::policy::fleet::plain::plain;
use crate::policy::fleet::report::{HostReport, Saying, Step};
use crate::policy::fleet::turn::{Known, Turn, turn};
use crate::policy::fleet::wanted::{Mark, NOTE_MAX, Stopped, Wanted};
use crate::policy::rollout::{Status, Turned};
use crate::store::StoreError;

/// The first pause after the bytes of a policy could not be had, and what it doubles up to. A push
/// of them again is a new order, and waits for no pause.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
const FETCH_PAUSE_MAX: Duration = Duration::from_secs(30);

/// A fetch that failed.
pub(super) struct Retry {
    mark: Mark,
    why: String,
    at: Instant,
    pause: Duration,
}

impl<H: Host> Member<H> {
    /// Does this host's part in an order, and tells how far it is.
    pub(super) async fn follow(
        &mut self,
        wanted: &Wanted,
        raw: &[u8],
        seen: &Seen,
    ) -> Result<Saying, StoreError> {
        let status = self.withdraw(wanted);
        let (mark, digest) = (wanted.mark(), wanted.policy.digest);
        let here = here(mark, digest, &status, self.taken.as_ref());
        if matches!(here, Here::Serves | Here::UnderWay(_)) {
            self.taken = Some(Taken::note(self.taken.take(), mark, digest, &status));
        }
        let is_under_way = matches!(here, Here::UnderWay(_) | Here::Begun);
        self.pause(wanted.paused.is_some() && is_under_way);
        match here {
            Here::Serves => {
                let serving = &status.serving;
                let why = if serving.on_probation {
                    "on probation"
                } else {
                    ""
                };
                Ok(Saying::new(Step::Active, why).with_evidence(&serving.evidence))
            }
            Here::UnderWay(candidate) => {
                let paused = wanted.paused.as_ref();
                let why = paused
                    .map(|by| format!("paused by {by}"))
                    .unwrap_or_default();
                let saying = Saying::new(candidate.stage.into(), why);
                let saying = saying.with_evidence(&candidate.evidence);
                Ok(Saying {
                    compared: candidate.comparison.compared,
                    differences: candidate.comparison.differences,
                    ..saying
                })
            }
            Here::Begun => Ok(Saying::new(Step::Digest, "")),
            Here::Replaced(why) => Ok(Saying::new(Step::Replaced, why)),
            Here::Turned(turned) => {
                self.stop_the_others(wanted, raw, &turned).await?;
                let step = if turned.rolled_back {
                    Step::RolledBack
                } else {
                    Step::Refused
                };
                let why = format!("at {}: {}", turned.stage, turned.why);
                Ok(Saying::new(step, why).with_evidence(&turned.evidence))
            }
            Here::NotTaken => self.take(wanted, &status, seen).await,
        }
    }

    /// Stops a candidate of the fleet's that the fleet does not want any more, or that another
    /// host has stopped: paused, it would go on to decide a share of the calls. Answers the
    /// host's status then.
    fn withdraw(&mut self, wanted: &Wanted) -> Status {
        let status = self.host.status();
        let candidate = status
            .candidate
            .as_ref()
            .filter(|one| one.origin == chunks::ORIGIN);
        let Some(candidate) = candidate else {
            return status;
        };
        let why = match &wanted.stopped {
            _ if candidate.digest != wanted.policy.digest => {
                format!("the fleet is to run {}", wanted.policy.title())
            }
            Some(stopped) if wanted.is_held() => format!("{} {}", stopped.host, stopped.why),
            _ => return status,
        };
        self.host.withdraw(&why);
        // As if this host had never begun: its turn comes with the next order.
        self.taken = None;
        // It may be seen for a moment longer, and counts as gone.
        Status {
            candidate: None,
            ..status
        }
    }

    /// What is wanted is not here: takes it where it is this host's turn.
    async fn take(
        &mut self,
        wanted: &Wanted,
        status: &Status,
        seen: &Seen,
    ) -> Result<Saying, StoreError> {
        let others = self.others(seen).await?;
        let decided = turn(&Known {
            wanted,
            me: &self.instance,
            is_new: self.found == Some(Some(wanted.mark())),
            others: &others,
            now_ms: self.store.now_ms(),
        });
        let how = match decided {
            Turn::Wait(why) => return Ok(Saying::new(Step::Waiting, why)),
            Turn::Leave(why) => return Ok(Saying::new(Step::Held, why)),
            Turn::Take(how) => how,
        };
        match self.fetch(wanted).await {
            Ok(artefact) => {
                let (mark, digest) = (wanted.mark(), wanted.policy.digest);
                self.taken = Some(Taken::new(mark, digest, status));
                self.host.offer(artefact, how);
                Ok(Saying::new(Step::Digest, ""))
            }
            Err(why) => Ok(Saying::new(Step::Fetching, why)),
        }
    }

    /// The reports of the other live hosts.
    async fn others(&self, seen: &Seen) -> Result<Vec<HostReport>, StoreError> {
        let others = seen.hosts.iter().filter(|host| **host != self.instance);
        let keys: Vec<String> = others.map(|host| self.keys.host(host)).collect();
        let reports = get_all(&self.store, keys).await?;
        let readable = |report: Vec<u8>| HostReport::read(&report).ok();
        Ok(reports.into_iter().flatten().filter_map(readable).collect())
    }

    /// Fetches a policy's bytes. An error is a sentence; the next attempt is made after a pause.
    async fn fetch(&mut self, wanted: &Wanted) -> Result<Artefact, String> {
        let mark = wanted.mark();
        let before = self.retry.take().filter(|retry| retry.mark == mark);
        if let Some(retry) = before.as_ref().filter(|retry| Instant::now() < retry.at) {
            let why = retry.why.clone();
            self.retry = before;
            return Err(why);
        }
        let fetched = chunks::fetch(&self.store, &self.keys, &wanted.policy, self.largest).await;
        fetched.map_err(|missing: Missing| {
            let pause = before.map_or(FETCH_PAUSE, |retry| retry.pause * 2);
            let pause = pause.min(FETCH_PAUSE_MAX);
            let (why, at) = (missing.to_string(), Instant::now() + pause);
            self.retry = Some(Retry {
                mark,
                why: why.clone(),
                at,
                pause,
            });
            why
        })
    }

    /// Holds the host's candidate where it is, or lets it go on. An operator may have paused it on
    /// this host alone, so that only what this has paused is let go on by this.
    fn pause(&mut self, paused: bool) {
        if self.pausing != paused {
            self.host.pause(paused);
            self.pausing = paused;
        }
    }

    /// Has the others leave a policy that met real calls here and failed. Where somebody else was
    /// faster to change the record, the next look tries again.
    async fn stop_the_others(
        &self,
        wanted: &Wanted,
        raw: &[u8],
        turned: &Turned,
    ) -> Result<(), StoreError> {
        if wanted.urgent || wanted.stopped.is_some() || !stops_the_others(turned) {
            return Ok(());
        }
        let why = if turned.rolled_back {
            format!("rolled it back: {}", turned.why)
        } else {
            format!("stopped it at {}: {}", turned.stage, turned.why)
        };
        let stopped = Stopped {
            host: self.instance.clone(),
            why: plain(&why, NOTE_MAX),
            at_ms: self.store.now_ms(),
        };
        let held = Wanted {
            stopped: Some(stopped),
            ..wanted.clone()
        };
        let Ok(held) = json(&held) else {
            // It would be longer than a value may be: then the reports have to do.
            return Ok(());
        };
        let key = self.keys.wanted();
        self.store
            .swap(key, Some(raw.to_vec()), Some(held), 0)
            .wait()
            .await?;
        Ok(())
    }
}
