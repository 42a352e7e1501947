//! The policy that serves: put in place, watched, taken back.

use std::sync::Arc;
use std::time::Duration;

use super::{Deployed, Keeper};
use crate::guard::Generation;
use crate::guard::generation::Lineup;
use crate::policy::folder::Folder;
use crate::policy::rollout::Serving;
use crate::policy::rollout::probation::Watched;
use crate::policy::rollout::status::Turned;
use crate::policy::rollout::trial::{At, Trial};
use crate::policy::shadow::{Comparison, Shadow};
use crate::policy::{Digest, Evidence, Stage};

impl Keeper {
    /// The candidate takes the place of the serving policy.
    pub(super) fn activate(&mut self) {
        let Some(live) = self.live.take() else { return };
        let Trial {
            artefact,
            configuration,
            engine,
            generation,
            ..
        } = live.trial;
        let generation =
            generation.unwrap_or_else(|| self.guard.generations().make(Arc::clone(&engine) as _));
        let candidate = self.status.borrow().candidate.clone();
        let mut evidence = candidate.map(|c| c.evidence).unwrap_or_default();
        evidence.push(Evidence::of(
            Stage::Active,
            Ok(format!("generation {}", generation.number())),
            Duration::ZERO,
        ));
        let serving = Serving {
            artefact,
            engine,
            evidence,
        };
        let next = Deployed::new(serving, configuration, generation.number(), &self.guard);
        let predecessor = match self.options.probation.span.is_zero() {
            true => None,
            false => self.ask_predecessor(&generation),
        };
        let replaced = self.serving.served.words();
        // Where the one before is on probation itself, the last good one stays the one to go back to.
        let was_good = self.probation.is_none();
        let before = self.put_in_place(next, generation, predecessor);
        if was_good || self.previous.is_none() {
            self.previous = Some(before);
        }
        tracing::info!(
            policy = %self.serving.served.words(),
            generation = self.serving.served.generation,
            "a policy serves in place of {replaced}"
        );
        self.publish(|status| {
            status.candidate = None;
            status.activations += 1;
        });
    }

    /// Lets a policy serve, watched; answers the one before.
    pub(super) fn put_in_place(
        &mut self,
        next: Deployed,
        generation: Arc<Generation>,
        predecessor: Option<Arc<Shadow>>,
    ) -> Deployed {
        let before = std::mem::replace(&mut self.serving, next);
        let replaced = self.guard.generations().active();
        self.guard.generations().set(Lineup {
            active: Arc::clone(&generation),
            canary: None,
            watchers: Vec::new(),
        });
        self.put_on_probation(generation, predecessor);
        self.line_up();
        self.lingering.replaced(replaced);
        before
    }

    pub(super) fn put_on_probation(
        &mut self,
        of: Arc<Generation>,
        predecessor: Option<Arc<Shadow>>,
    ) {
        let limits = self.options.probation;
        let is_watched = !limits.span.is_zero();
        self.serving.served.on_probation = is_watched;
        self.probation_shadow.clone_from(&predecessor);
        self.probation = is_watched.then(|| Watched::new(limits, of, predecessor));
        self.publish(|_| {});
        if !is_watched {
            self.keep();
        }
    }

    pub(super) fn look_at_serving(&mut self) {
        let Some(probation) = &self.probation else {
            return;
        };
        let comparison = probation.comparison();
        match probation.verdict() {
            Err(why) if self.previous.is_some() => {
                if let Err(error) = self.take_back(&why, comparison) {
                    tracing::error!("the serving policy is not taken back: {error}");
                    self.acquit();
                }
            }
            Err(why) => {
                tracing::error!("there is no policy to go back to, and {why}");
                self.acquit();
            }
            Ok(found) if probation.is_over() => {
                tracing::info!(
                    policy = %self.serving.served.words(),
                    "the policy has passed its probation: {found}"
                );
                self.acquit();
                self.keep();
            }
            Ok(_) => {}
        }
    }

    /// The serving policy is watched no longer.
    pub(super) fn acquit(&mut self) {
        self.probation = None;
        self.probation_shadow = None;
        self.serving.served.on_probation = false;
        self.line_up();
        self.publish(|_| {});
    }

    /// Keeps the serving policy on disk as a good one.
    pub(super) fn keep(&self) {
        let Some(folder) = self.options.folder.clone() else {
            return;
        };
        let artefact = self.serving.artefact.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = Folder::new(folder).keep(&artefact) {
                tracing::warn!("the policy is not kept on disk: {error}");
            }
        });
    }

    pub(super) fn rollback(&mut self, why: &str) -> Result<Digest, String> {
        if self.status.borrow().candidate.is_some() {
            self.stop_candidate(Some("it was told to stop"), why);
            return Ok(self.serving.served.digest);
        }
        let comparison = self.probation.as_ref().map(Watched::comparison);
        self.take_back(why, comparison.unwrap_or_default())
    }

    /// Puts the policy before the serving one back in its place.
    pub(super) fn take_back(
        &mut self,
        why: &str,
        comparison: Comparison,
    ) -> Result<Digest, String> {
        let Some(previous) = self.previous.take() else {
            return Err("there is no policy to go back to".into());
        };
        // Its instances were given up when it was replaced.
        let engine = match previous.engine.with_configuration(&previous.configuration) {
            Ok(engine) => Arc::new(engine),
            Err(error) => {
                let why = format!("the policy to go back to does not start: {error}");
                self.previous = Some(previous);
                return Err(why);
            }
        };
        let generation = self.guard.generations().make(Arc::clone(&engine) as _);
        let serving = Serving {
            artefact: previous.artefact,
            engine,
            evidence: previous.served.evidence,
        };
        let configuration = previous.configuration;
        self.options.terms.configuration.clone_from(&configuration);
        let number = generation.number();
        let next = Deployed::new(serving, configuration, number, &self.guard);
        let bad = self.put_in_place(next, generation, None);
        self.probation = None;
        self.serving.served.on_probation = false;
        let turned = Turned {
            digest: bad.served.digest,
            name: bad.served.name.clone(),
            version: bad.served.version.clone(),
            stage: Stage::Active,
            why: why.to_owned(),
            at_ms: self.guard.now_ms(),
            evidence: bad.served.evidence.clone(),
            rolled_back: true,
            comparison,
        };
        tracing::error!(
            policy = %self.serving.served.words(),
            "{} is taken back: {why}",
            bad.served.words()
        );
        self.publish(|status| {
            status.refused = Some(turned);
            status.rollbacks += 1;
        });
        // What was compared with the one that is gone begins anew with the one that is back.
        if let Some(live) = &mut self.live {
            live.trial.at = At::Waiting(Stage::Shadow);
            self.advance();
            self.line_up();
        }
        Ok(self.serving.served.digest)
    }
}
