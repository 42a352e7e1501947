//! A candidate under traffic: in the shadow, and deciding a share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Keeper, next};
use crate::engine::Engine;
use crate::guard::Generation;
use crate::policy::rollout::How;
use crate::policy::rollout::probation::Watched;
use crate::policy::rollout::trial::{At, Verdict, shadowed};
use crate::policy::shadow::{Role, Shadow};
use crate::policy::{Evidence, Stage};

impl Keeper {
    /// Takes the candidate on, as far as it waits for nothing but its turn.
    pub(super) fn advance(&mut self) {
        while let Some(live) = &self.live {
            let At::Waiting(stage) = live.trial.at else {
                return;
            };
            self.status.send_modify(|status| {
                if let Some(candidate) = &mut status.candidate {
                    candidate.stage = stage;
                }
            });
            if self.status.borrow().paused {
                return;
            }
            match stage {
                Stage::Shadow => self.begin_shadow(),
                Stage::Canary => self.begin_canary(),
                _ => return self.activate(),
            }
        }
    }

    pub(super) fn begin_shadow(&mut self) {
        let options = self.options.shadow;
        let Some(live) = &mut self.live else { return };
        let off = left_out(live.how, options.share, options.span);
        if let Some(why) = off {
            return self.passed(Stage::Shadow, why.into(), Duration::ZERO);
        }
        let shadow = Shadow::begin(
            &self.guard.generations().active(),
            Arc::clone(&live.trial.engine) as Arc<dyn Engine>,
            Arc::clone(self.guard.store()),
            self.guard.prefix(),
            Role::Successor {
                share: options.share,
            },
        );
        match shadow {
            Ok(shadow) => {
                live.trial.at = At::Shadow(shadow, Instant::now());
                self.line_up();
            }
            Err(error) => self.turned(Stage::Shadow, format!("no thread to ask it on: {error}")),
        }
    }

    pub(super) fn begin_canary(&mut self) {
        let options = self.options.canary;
        let Some(live) = &mut self.live else { return };
        let off = left_out(live.how, options.share, options.span);
        if let Some(why) = off {
            return self.passed(Stage::Canary, why.into(), Duration::ZERO);
        }
        let generations = self.guard.generations();
        let engine = &live.trial.engine;
        // It has one already where it was a canary when the serving policy was taken back.
        let generation = live.trial.generation.get_or_insert_with(|| {
            let engine = Arc::clone(engine);
            generations.make(engine)
        });
        let generation = Arc::clone(generation);
        let predecessor = self.ask_predecessor(&generation);
        let watched = Watched::new(self.options.probation, generation, predecessor);
        if let Some(live) = &mut self.live {
            live.trial.at = At::Canary(watched);
        }
        self.line_up();
    }

    /// Has the serving policy asked what it thinks of the refusals of another one: a copy of it, with
    /// instances of its own, for it may be replaced meanwhile.
    pub(super) fn ask_predecessor(&self, of: &Generation) -> Option<Arc<Shadow>> {
        let copy = self
            .serving
            .engine
            .with_configuration(&self.serving.configuration)
            .inspect_err(|error| tracing::warn!("refusals are not compared: {error}"))
            .ok()?;
        let begun = Shadow::begin(
            of,
            Arc::new(copy),
            Arc::clone(self.guard.store()),
            self.guard.prefix(),
            Role::Predecessor,
        );
        begun
            .inspect_err(|error| tracing::warn!("refusals are not compared: {error}"))
            .ok()
    }

    /// The candidate has passed a stage under traffic, and waits for the next one.
    pub(super) fn passed(&mut self, stage: Stage, found: String, took: Duration) {
        let evidence = Evidence::of(stage, Ok(found), took);
        tracing::debug!(%stage, "{}", evidence.found);
        self.status.send_modify(|status| {
            if let Some(candidate) = &mut status.candidate {
                candidate.evidence.push(evidence);
            }
        });
        if let Some(live) = &mut self.live {
            live.trial.at = At::Waiting(next(stage));
        }
    }

    pub(super) fn look_at_candidate(&mut self) {
        let Some(live) = &self.live else { return };
        let (stage, comparison, lasted, verdict) = match &live.trial.at {
            At::Waiting(_) => return,
            At::Shadow(shadow, since) => {
                let (comparison, lasted) = (shadow.comparison(), since.elapsed());
                let verdict = shadowed(&self.options.shadow, &comparison, lasted);
                (Stage::Shadow, Some(comparison), lasted, verdict)
            }
            At::Canary(watched) => {
                let lasted = watched.lasted();
                let verdict = match watched.verdict() {
                    Err(why) => Verdict::Stop(why),
                    Ok(found) if lasted >= self.options.canary.span => Verdict::GoOn(found),
                    Ok(_) => Verdict::NotYet,
                };
                (Stage::Canary, None, lasted, verdict)
            }
        };
        if let Some(comparison) = comparison {
            self.status.send_if_modified(|status| {
                let Some(candidate) = &mut status.candidate else {
                    return false;
                };
                let changed = candidate.comparison != comparison;
                candidate.comparison = comparison;
                changed
            });
        }
        match verdict {
            Verdict::NotYet => {}
            Verdict::Stop(why) => self.turned(stage, why),
            Verdict::GoOn(found) => {
                self.passed(stage, found, lasted);
                self.advance();
                self.line_up();
            }
        }
    }
}

/// Why a stage under traffic is left out, where it is.
fn left_out(how: How, share: f64, span: Duration) -> Option<&'static str> {
    match how {
        How::AtOnce => Some("left out: it is to serve at once"),
        How::Staged if share <= 0.0 || span.is_zero() => Some("left out: it is switched off"),
        How::Staged => None,
    }
}
