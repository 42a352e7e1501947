//! Asking a fleet's policy on its store: listing, looking.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use fusewire::core::Fact;
use fusewire::guard::Guard;
use fusewire::store::redis::Changes;
use fusewire::store::{RedisStore, Store};
use futures_util::{StreamExt, stream};

use super::look::Look;
use super::names::{Wanted, key_begins, of_key, target};
use super::place::{Place, PlaceArgs};
use super::witness::{Trouble, Witness};

/// How long one operation of the store is waited for. An operator waits longer than a call does,
/// and longer than a connection that does not answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many domains are looked at together.
const TOGETHER: usize = 32;
/// The most domains that are listed, so that memory is bounded: some 100 MB.
pub(super) const MOST: usize = 100_000;

/// A fleet's store and policy, at hand.
pub(super) struct Desk {
    pub(super) guard: Guard,
    redis: Arc<RedisStore>,
    trouble: Arc<Trouble>,
    /// What keys of records begin with.
    begins: String,
    /// The providers that its configuration names; none where there is no configuration.
    providers: Vec<String>,
}

/// What was seen of some domains.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) looks: Vec<Look>,
    /// Of each that cannot be told, why.
    pub(super) untold: Vec<String>,
}

/// Names of domains.
pub(super) struct Names {
    pub(super) all: BTreeSet<String>,
    /// There are more than are listed.
    pub(super) cut: bool,
}

impl Desk {
    /// Finds the fleet's store, which must answer, and starts its policy.
    pub(super) async fn open(place: PlaceArgs) -> anyhow::Result<Self> {
        let place = tokio::task::spawn_blocking(move || place.find()).await??;
        let Place {
            url,
            prefix,
            providers,
            policy,
        } = place;
        let redis = Arc::new(RedisStore::connect(&url).await?);
        redis.ping().wait().await?;
        let engine = tokio::task::spawn_blocking(move || policy.start()).await??;
        let trouble = Arc::<Trouble>::default();
        let witness = Witness::new(Arc::clone(&redis) as _, Arc::clone(&trouble));
        let guard = Guard::builder(Arc::new(engine), Arc::new(witness))
            .prefix(&prefix)
            .patience(PATIENCE)
            .observer(Arc::clone(&trouble) as _)
            .build();
        Ok(Self {
            guard,
            redis,
            trouble,
            begins: key_begins(&prefix),
            providers,
        })
    }

    /// The store's address.
    pub(super) fn address(&self) -> &str {
        self.redis.address()
    }

    /// What went wrong with the store or the policy since this was asked last.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.take()
    }

    /// Whether the configuration names providers, and not this one.
    pub(super) fn is_stranger(&self, domain: &str) -> bool {
        let provider = &target(domain).provider;
        !self.providers.is_empty() && !self.providers.contains(provider)
    }

    /// The domains that are named, and those that have a record.
    pub(super) async fn names(&self, wanted: &Wanted) -> anyhow::Result<Names> {
        let mut all = wanted.names().clone();
        let mut cut = false;
        if !wanted.is_by_name() {
            let listed = self.redis.each_key(&self.begins, |key| {
                let name = of_key(&key, &self.begins).filter(|name| wanted.takes(name));
                let Some(name) = name.filter(|name| !all.contains(name)) else {
                    return ControlFlow::Continue(());
                };
                cut = all.len() >= MOST;
                if cut {
                    return ControlFlow::Break(());
                }
                all.insert(name);
                ControlFlow::Continue(())
            });
            listed.await?;
        }
        Ok(Names { all, cut })
    }

    /// Looks at domains, in no order. Those that cannot be told are told of.
    ///
    /// # Errors
    /// The store is out of reach, so that nothing can be told.
    pub(super) async fn looks(
        &self,
        names: impl IntoIterator<Item = String>,
    ) -> anyhow::Result<Seen> {
        let looks = stream::iter(names).map(|name| async move { self.look_at(&name).await });
        let mut looks = pin!(looks.buffer_unordered(TOGETHER));
        let mut seen = Seen::default();
        while let Some(look) = looks.next().await {
            match look {
                Ok(look) => seen.looks.push(look),
                Err(error) => {
                    // One that cannot be read keeps nobody from seeing the others.
                    self.redis.ping().wait().await?;
                    seen.untold.push(error.to_string());
                }
            }
        }
        Ok(seen)
    }

    /// Looks at one domain.
    pub(super) async fn look_at(&self, name: &str) -> anyhow::Result<Look> {
        let states = self.guard.inspect(&target(name)).await;
        let at_ms = self.guard.now_ms();
        let Some(state) = states.into_iter().find(|state| state.domain == name) else {
            match self.trouble() {
                Some(why) => bail!("`{name}` cannot be told: {why}"),
                None => bail!("`{name}` cannot be told: the policy says nothing of it"),
            }
        };
        let look = Look::new(state, at_ms);
        if !look.may_ramp() {
            return Ok(look);
        }
        // A policy that does not explain itself has no ramp that anybody could see.
        let facts = self.facts(name).await.unwrap_or_default();
        Ok(look.ramps(&facts))
    }

    /// What the policy says of a domain, the most important first.
    ///
    /// # Errors
    /// A sentence that says why it does not.
    pub(super) async fn facts(&self, name: &str) -> Result<Vec<Fact>, String> {
        self.guard.explain(name).await
    }

    /// Asks to be told of records that change.
    pub(super) async fn changes(&self) -> anyhow::Result<Changes> {
        Ok(self.redis.changes(&self.begins).await?)
    }

    /// The domains of these keys that are wanted.
    pub(super) fn of_keys(&self, keys: BTreeSet<String>, wanted: &Wanted) -> BTreeSet<String> {
        let names = keys.iter().filter_map(|key| of_key(key, &self.begins));
        names.filter(|name| wanted.takes(name)).collect()
    }
}
