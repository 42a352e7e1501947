//! The policy that a gateway starts with, and what may replace it.

use std::path::PathBuf;
use std::sync::Arc;

use super::config::Config;
use super::reload::{self, Reload};
use super::server::StartError;
use crate::engine::Engine;
use crate::guard::Guard;
use crate::policy::file::{self, LOOK_EVERY, Watched};
use crate::policy::fleet::{self, Fleet};
use crate::policy::folder::Folder;
use crate::policy::rollout::{Options, Serving};
use crate::policy::{Artefact, Cache, Refused, Rollout, Terms, vet};

/// The policy that a gateway starts with.
pub(super) struct Policy {
    serving: Serving,
    options: Options,
    /// What was configured, where that is a file.
    file: Option<(PathBuf, Option<Artefact>)>,
}

impl Policy {
    /// The configured policy; where it does not come through the stages, the last good one.
    ///
    /// # Errors
    /// Neither can be loaded.
    pub(super) async fn load(config: &Config) -> Result<Self, StartError> {
        let rollout = &config.rollout;
        let terms = Terms {
            trust: rollout.trust.clone(),
            configuration: config.policy.json.clone(),
            limits: rollout.limits,
            largest: rollout.largest,
            scenarios: rollout.scenarios.clone(),
            cache: rollout.folder.as_ref().and_then(|folder| {
                Cache::open(&folder.join("compiled"))
                    .inspect_err(|error| tracing::warn!("compiled code is not kept: {error}"))
                    .ok()
                    .map(Arc::new)
            }),
        };
        let kept = rollout.folder.clone().map(Folder::new);
        let kept = kept.and_then(|folder| {
            folder
                .read(rollout.largest)
                .inspect_err(|error| tracing::warn!("the last good policy cannot be read: {error}"))
                .ok()
                .flatten()
        });
        let configured = match &config.policy.component {
            Some(path) => Artefact::read(path, rollout.largest).map_err(|error| error.to_string()),
            None => Ok(Artefact::built_in()),
        };
        let component = config.policy.component.clone();
        let file = component.map(|path| (path, configured.clone().ok()));
        let vetted = match configured {
            Ok(artefact) => come_through(artefact, &terms).await,
            Err(why) => Err(why),
        };
        let (serving, before) = match (vetted, kept) {
            (Ok(serving), Some(kept)) if kept.digest() != serving.artefact.digest() => {
                let before = come_through(kept, &terms).await;
                let before = before.inspect_err(|why| {
                    tracing::warn!("the last good policy is of no use any more: {why}");
                });
                (serving, before.ok())
            }
            (Ok(serving), _) => (serving, None),
            (Err(why), Some(kept)) => {
                tracing::error!("the configured policy cannot be loaded: {why}");
                let serving = come_through(kept, &terms).await.map_err(|kept| {
                    StartError::Policy(format!("{why}; and the last good one neither: {kept}"))
                })?;
                tracing::warn!(
                    policy = %serving.artefact.digest().short(),
                    "starting with the last good policy instead"
                );
                (serving, None)
            }
            (Err(why), None) => return Err(StartError::Policy(why)),
        };
        let options = Options {
            terms,
            shadow: rollout.shadow,
            canary: rollout.canary,
            probation: rollout.probation,
            linger: rollout.linger,
            folder: rollout.folder.clone(),
            before,
        };
        Ok(Self {
            serving,
            options,
            file,
        })
    }

    pub(super) fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.serving.engine) as Arc<dyn Engine>
    }

    /// Begins to look for other policies, where that is configured.
    pub(super) fn begin(self, guard: &Guard, config: &Config) -> Replacing {
        let largest = config.rollout.largest;
        let rollout = Rollout::begin(guard, self.serving, self.options);
        let watched = self.file.filter(|_| config.rollout.watch);
        let watched = watched.map(|(path, offered)| {
            file::watch(rollout.clone(), path, largest, LOOK_EVERY, offered.as_ref())
        });
        let source = config.source.clone().filter(|_| config.rollout.watch);
        let reload = source.map(|source| {
            reload::watch(rollout.clone(), source, config.policy.clone(), LOOK_EVERY)
        });
        let fleet = config.rollout.fleet.then(|| {
            let options = fleet::Options {
                largest,
                ..fleet::Options::default()
            };
            Fleet::join(rollout.clone(), Arc::clone(guard.store()), options)
        });
        Replacing {
            rollout,
            _watched: watched,
            _reload: reload,
            _fleet: fleet,
        }
    }
}

/// What looks for other policies. Dropping it ends that.
pub(super) struct Replacing {
    pub(super) rollout: Rollout,
    _watched: Option<Watched>,
    _reload: Option<Reload>,
    _fleet: Option<Fleet>,
}

async fn come_through(artefact: Artefact, terms: &Terms) -> Result<Serving, String> {
    let origin = artefact.origin().to_owned();
    let vetted = vet(artefact, terms, |evidence| {
        tracing::debug!(stage = %evidence.stage, passed = evidence.passed, "{}", evidence.found);
    });
    match vetted.await {
        Ok(vetted) => Ok(vetted.into()),
        Err(Refused { stage, why, .. }) => Err(format!("{origin}: refused at {stage}: {why}")),
    }
}
