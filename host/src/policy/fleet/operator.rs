//! What an operator does with a fleet's policies: push, pause, resume, roll back.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::access::{FleetError, Missing, Unreadable, get, get_all, json, replace};
use super::chunks;
use super::keys::Keys;
use super::overview::Overview;
use super::plain::{id, plain};
use super::pushing;
use super::report::{HostReport, read_list};
use super::wanted::{Canary, HISTORY_MAX, NAME_MAX, NOTE_MAX, Named, SIGNATURE_MAX_BYTES, Wanted};
use crate::policy::{Artefact, Digest, LARGEST};
use crate::store::{Store, StoreError};

/// The fewest digits of a digest that name one of the few in the history.
const DIGITS_MIN: usize = 4;

/// Who orders, and how.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// Who.
    pub by: String,
    /// What there is to say of it, for the other operators.
    pub note: Option<String>,
    /// Which hosts are first; `None`: all at the same time.
    pub canary: Option<Canary>,
}

/// How far a push is: this many pieces of so many are in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pieces that are in the store.
    pub written: u64,
    /// All of them.
    pub of: u64,
}

/// What a push came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushed {
    /// What is wanted now.
    pub wanted: Wanted,
    /// Why bytes that no host wants any more are still in the store, where they are. The next push
    /// removes those of pushes that broke off.
    pub left_over: Option<FleetError>,
}

/// A fleet's policies, as an operator has them. None of what it does is undone where it is dropped
/// half-way; each is done or not, but that a push may leave pieces, which a later one removes.
pub struct Operator {
    store: Arc<dyn Store>,
    keys: Keys,
}

impl Operator {
    /// The fleet that shares this store, whose policies' keys begin with `prefix`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: &str) -> Self {
        Self {
            store,
            keys: Keys::new(prefix),
        }
    }

    /// Puts a policy into the store, and then names it wanted. What nobody can go back to any more
    /// is removed. `name` and `version` are what the policy says of itself.
    ///
    /// # Errors
    /// The store does not do its part (then nothing is wanted that was not before, unless the
    /// store did not answer for the very last step), the policy is too large for a fleet, or its
    /// record is of a newer schema.
    pub async fn push(
        &self,
        artefact: &Artefact,
        (name, version): (&str, &str),
        order: &Order,
        mut progress: impl FnMut(Progress),
    ) -> Result<Pushed, FleetError> {
        let size = artefact.bytes().len();
        if size > LARGEST {
            let why = format!("it has {size} bytes, and hosts take {LARGEST} at most");
            return Err(FleetError::Unfit(why));
        }
        let signature = artefact.signature().map(str::to_owned);
        if signature
            .as_ref()
            .is_some_and(|text| text.len() > SIGNATURE_MAX_BYTES)
        {
            let why = format!("its signature is longer than {SIGNATURE_MAX_BYTES} bytes");
            return Err(FleetError::Unfit(why));
        }
        let size = size as u64;
        let named = Named {
            digest: artefact.digest(),
            size,
            chunks: chunks::count(size),
            name: plain(name, NAME_MAX),
            version: plain(version, NAME_MAX),
            signature,
            withdrawn: false,
        };
        // Before the bytes are sent: a fleet whose record cannot be replaced takes none.
        self.record().await?;
        let (digest, of) = (named.digest, named.chunks);
        pushing::begin(&self.store, &self.keys, &named).await?;
        let told = |written| progress(Progress { written, of });
        let written = chunks::write(&self.store, &self.keys, artefact, told).await;
        written.map_err(|error| FleetError::Store("put the policy into the store", error))?;

        let (before, wanted) = self
            .change("name the policy wanted", |before| {
                let now_ms = self.store.now_ms();
                let named = named.clone();
                let wanted = match before {
                    Some(before) => before.followed_by(named, &order.by, now_ms),
                    None => Wanted::first(named, &order.by, now_ms),
                };
                Ok(Wanted {
                    canary: order.canary,
                    note: order.note.as_deref().map(|note| plain(note, NOTE_MAX)),
                    ..wanted
                })
            })
            .await?;
        let left_over = self.tidy(before.as_ref(), &wanted, digest).await.err();
        Ok(Pushed { wanted, left_over })
    }

    /// Has no host go on to the next stage that meets real calls.
    ///
    /// # Errors
    /// Nothing is wanted, its record cannot be read, or the store does not do its part.
    pub async fn pause(&self, by: &str) -> Result<Wanted, FleetError> {
        self.change_wanted("pause", |wanted| {
            let paused = wanted.paused.clone().or_else(|| Some(id(by)));
            Ok(Wanted { paused, ..wanted })
        })
        .await
    }

    /// Lets hosts go on: after a pause, and after one of them stopped it. Those that turned it away
    /// try it again.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub async fn resume(&self) -> Result<Wanted, FleetError> {
        self.change_wanted("resume", |wanted| {
            Ok(Wanted {
                revision: wanted.revision.saturating_add(1),
                paused: None,
                stopped: None,
                ..wanted
            })
        })
        .await
    }

    /// Names an earlier policy wanted, which all hosts take at once: the last before that was not
    /// itself rolled back from, or the one of the history whose digest begins with `to`.
    ///
    /// # Errors
    /// There is no such policy, its bytes are not in the store, or as [`Self::pause`].
    pub async fn rollback(&self, to: Option<&str>, order: &Order) -> Result<Wanted, FleetError> {
        let target = earlier(&self.existing().await?, to)?;
        chunks::fetch(&self.store, &self.keys, &target, LARGEST)
            .await
            .map_err(|missing| match missing {
                Missing::Store(error) => FleetError::Store("read the policy's bytes", error),
                other => FleetError::Missing(other),
            })?;
        self.change_wanted("roll back", |left| {
            let policy = Named {
                withdrawn: false,
                ..earlier(&left, to)?
            };
            let mut wanted = left.followed_by(policy, &order.by, self.store.now_ms());
            for named in &mut wanted.history {
                named.withdrawn |= named.digest == left.policy.digest;
            }
            wanted.note = order.note.as_deref().map(|note| plain(note, NOTE_MAX));
            wanted.urgent = true;
            Ok(wanted)
        })
        .await
    }

    /// The fleet at this moment.
    ///
    /// # Errors
    /// The store does not do its part.
    pub async fn overview(&self) -> Result<Overview, FleetError> {
        let told = |error| FleetError::Store("read the fleet's status", error);
        let keys = vec![self.keys.wanted(), self.keys.hosts()];
        let values = self.store.get(keys).wait().await.map_err(told)?;
        let mut values = values.into_iter();
        let (wanted, listed) = (values.next().flatten(), values.next().flatten());
        let hosts = read_list(listed.as_deref());
        let keys = hosts.iter().map(|host| self.keys.host(host)).collect();
        let reports = get_all(&self.store, keys).await.map_err(told)?;
        Ok(Overview::new(
            wanted.as_deref().map(Wanted::read),
            hosts
                .into_iter()
                .zip(reports)
                .map(|(host, report)| (host, report.map(|report| HostReport::read(&report)))),
            self.store.now_ms(),
        ))
    }

    /// What is wanted. A damaged record counts as none: it can be replaced.
    async fn record(&self) -> Result<Option<Wanted>, FleetError> {
        let bytes = get(&self.store, self.keys.wanted()).await;
        let bytes = bytes.map_err(|error| FleetError::Store("read what is wanted", error))?;
        readable(bytes.as_deref())
    }

    /// What is wanted.
    async fn existing(&self) -> Result<Wanted, FleetError> {
        let bytes = get(&self.store, self.keys.wanted()).await;
        let bytes = bytes.map_err(|error| FleetError::Store("read what is wanted", error))?;
        Ok(Wanted::read(&bytes.ok_or(FleetError::NothingPushed)?)?)
    }

    /// Replaces what is wanted by what is made of it. Answers what was there and what is now.
    async fn change(
        &self,
        what: &'static str,
        mut make: impl FnMut(Option<&Wanted>) -> Result<Wanted, FleetError>,
    ) -> Result<(Option<Wanted>, Wanted), FleetError> {
        replace(&self.store, &self.keys.wanted(), what, |bytes| {
            let before = readable(bytes)?;
            let after = make(before.as_ref())?;
            Ok((Some(json(&after)?), (before, after)))
        })
        .await
    }

    /// As [`Self::change`], where something has to be wanted.
    async fn change_wanted(
        &self,
        what: &'static str,
        mut make: impl FnMut(Wanted) -> Result<Wanted, FleetError>,
    ) -> Result<Wanted, FleetError> {
        replace(&self.store, &self.keys.wanted(), what, |bytes| {
            let wanted = Wanted::read(bytes.ok_or(FleetError::NothingPushed)?)?;
            let after = make(wanted)?;
            Ok((Some(json(&after)?), after))
        })
        .await
    }

    /// Removes the bytes of what cannot be gone back to any more, and of pushes that broke off.
    async fn tidy(
        &self,
        before: Option<&Wanted>,
        wanted: &Wanted,
        pushed: Digest,
    ) -> Result<(), FleetError> {
        let kept: BTreeSet<Digest> = wanted.named().map(|named| named.digest).collect();
        let left = before.into_iter().flat_map(Wanted::named);
        let mut left: Vec<(Digest, u64)> = left.map(|named| (named.digest, named.chunks)).collect();
        left.extend(pushing::end(&self.store, &self.keys, pushed).await?);
        for (digest, count) in left
            .into_iter()
            .filter(|(digest, _)| !kept.contains(digest))
        {
            let removed = chunks::remove(&self.store, &self.keys, digest, count).await;
            removed.map_err(|error: StoreError| FleetError::Store("remove a policy", error))?;
        }
        Ok(())
    }
}

fn readable(bytes: Option<&[u8]>) -> Result<Option<Wanted>, FleetError> {
    match bytes.map(Wanted::read).transpose() {
        Ok(wanted) => Ok(wanted),
        Err(Unreadable::Damaged(_)) => Ok(None),
        Err(newer) => Err(newer.into()),
    }
}

/// The policy to go back to.
fn earlier(wanted: &Wanted, to: Option<&str>) -> Result<Named, FleetError> {
    let none = |why: String| Err(FleetError::NothingBefore(why));
    let Some(to) = to else {
        let before = wanted.history.iter().find(|named| !named.withdrawn);
        return match (before, wanted.history.is_empty()) {
            (Some(before), _) => Ok(before.clone()),
            (None, true) => {
                let why = "there is nothing to go back to: no other policy was pushed; `fusewire \
                           policy push built-in` gives the fleet the one that its hosts carry";
                none(why.into())
            }
            (None, false) => none(format!(
                "there is nothing to go back to but what was rolled back itself: name one with --to: {}",
                titles(&wanted.history)
            )),
        };
    };
    let digits = to
        .strip_prefix("sha256:")
        .unwrap_or(to)
        .to_ascii_lowercase();
    let is_it = |named: &&Named| named.digest.hex().starts_with(&digits);
    if digits.len() < DIGITS_MIN {
        return none(format!(
            "{to:?} is too short to name a policy: write more of its digest"
        ));
    }
    if is_it(&&wanted.policy) {
        return none(format!(
            "{} is what the fleet is to run",
            wanted.policy.title()
        ));
    }
    match wanted.history.iter().find(is_it) {
        Some(named) => Ok(named.clone()),
        None if wanted.history.is_empty() => none("no other policy was pushed".into()),
        None => none(format!(
            "{to:?} is none of the {HISTORY_MAX} policies before: {}",
            titles(&wanted.history)
        )),
    }
}

fn titles(history: &[Named]) -> String {
    let title = |named: &Named| format!("{} ({})", named.digest.short(), named.title());
    history.iter().map(title).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
