//! From an offer to a vetted candidate, and what becomes of one that does not make it.

use std::sync::Arc;
use std::time::Duration;

use super::{Came, Keeper, Live, News, Vetting, next};
use crate::engine::Engine;
use crate::policy::rollout::How;
use crate::policy::rollout::status::{Candidate, Turned};
use crate::policy::rollout::trial::{At, Trial};
use crate::policy::shadow::Comparison;
use crate::policy::{Artefact, Digest, Evidence, Stage, Vetted, vet};

impl Keeper {
    /// Whether this policy with this configuration is the candidate already.
    pub(super) fn is_candidate(&self, digest: Digest, configuration: &str) -> bool {
        let vetting = self.vetting.as_ref().is_some_and(|vetting| {
            vetting.artefact.digest() == digest && vetting.configuration == configuration
        });
        vetting
            || self.live.as_ref().is_some_and(|live| {
                live.trial.artefact.digest() == digest && live.trial.configuration == configuration
            })
    }

    pub(super) fn offer(&mut self, artefact: Artefact, how: How, configuration: String) {
        let digest = artefact.digest();
        if self.is_candidate(digest, &configuration) {
            return;
        }
        let serves =
            self.serving.served.digest == digest && self.serving.configuration == configuration;
        self.options.terms.configuration.clone_from(&configuration);
        let superseded = match serves {
            true => "the serving policy was offered again",
            false => "another policy was offered",
        };
        self.stop_candidate(None, superseded);
        if serves {
            return;
        }
        tracing::info!(policy = %digest.short(), origin = artefact.origin(), "a policy is offered");
        self.vettings += 1;
        let (number, news) = (self.vettings, self.news.clone());
        let (terms, offered) = (self.options.terms.clone(), artefact.clone());
        let task = tokio::spawn(async move {
            let seen = |evidence: &Evidence| {
                // The keeper may have ended.
                let _ = news.send(News(number, Came::Seen(evidence.clone())));
            };
            let went = vet(offered, &terms, seen).await;
            let _ = news.send(News(number, Came::Done(Box::new(went))));
        });
        let candidate = Candidate {
            digest,
            name: String::new(),
            version: String::new(),
            stage: Stage::Digest,
            since_ms: self.guard.now_ms(),
            origin: artefact.origin().to_owned(),
            evidence: Vec::new(),
            comparison: Comparison::default(),
        };
        self.vetting = Some(Vetting {
            number,
            how,
            artefact,
            configuration,
            task: task.abort_handle(),
        });
        self.status
            .send_modify(|status| status.candidate = Some(candidate));
    }

    /// Something came back from the vetting under way.
    pub(super) fn vetted(&mut self, came: Came) {
        match came {
            Came::Seen(evidence) => {
                tracing::debug!(stage = %evidence.stage, passed = evidence.passed, "{}", evidence.found);
                self.status.send_modify(|status| {
                    if let Some(candidate) = &mut status.candidate {
                        candidate.stage = match evidence.passed {
                            true => next(evidence.stage),
                            false => evidence.stage,
                        };
                        candidate.evidence.push(evidence);
                    }
                });
            }
            Came::Done(went) => {
                let Some(vetting) = self.vetting.take() else {
                    return;
                };
                match *went {
                    Ok(vetted) => self.begin(&vetting, vetted),
                    Err(refused) => {
                        self.status.send_modify(|status| {
                            if let Some(candidate) = &mut status.candidate {
                                candidate.evidence = refused.evidence;
                            }
                        });
                        self.turned(refused.stage, refused.why);
                    }
                }
            }
        }
    }

    /// A candidate is vetted, and now begins to meet traffic.
    pub(super) fn begin(&mut self, vetting: &Vetting, vetted: Vetted) {
        self.status.send_modify(|status| {
            if let Some(candidate) = &mut status.candidate {
                candidate.is_called(vetted.engine.describe());
                candidate.evidence = vetted.evidence;
            }
        });
        self.live = Some(Live {
            trial: Trial {
                artefact: vetted.artefact,
                configuration: vetting.configuration.clone(),
                engine: Arc::new(vetted.engine),
                generation: None,
                at: At::Waiting(Stage::Shadow),
            },
            how: vetting.how,
        });
        self.advance();
    }

    /// Stops the candidate under way, where one is, for this reason.
    pub(super) fn stop_candidate(&mut self, what: Option<&str>, why: &str) {
        let Some(stage) = self.status.borrow().candidate.as_ref().map(|c| c.stage) else {
            return;
        };
        let why = match what {
            Some(what) => format!("{what}: {why}"),
            None => why.to_owned(),
        };
        self.turned(stage, why);
    }

    /// The candidate does not make it.
    pub(super) fn turned(&mut self, stage: Stage, why: String) {
        self.vetting = None;
        if let Some(live) = self.live.take() {
            self.line_up();
            if let Some(generation) = live.trial.generation {
                self.lingering.replaced(generation);
            }
        }
        let Some(candidate) = self.status.borrow().candidate.clone() else {
            return;
        };
        tracing::warn!(policy = %candidate.words(), %stage, "a policy is refused: {why}");
        let mut evidence = candidate.evidence;
        if evidence.last().is_none_or(|last| last.passed) {
            evidence.push(Evidence::of(stage, Err(why.clone()), Duration::ZERO));
        }
        let turned = Turned {
            digest: candidate.digest,
            name: candidate.name,
            version: candidate.version,
            stage,
            why,
            at_ms: self.guard.now_ms(),
            evidence,
            rolled_back: false,
            comparison: candidate.comparison,
        };
        self.publish(|status| {
            status.candidate = None;
            status.refused = Some(turned);
            status.refusals += 1;
        });
    }
}
