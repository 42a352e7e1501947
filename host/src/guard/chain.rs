//! A whole logical call over a chain of providers.
//!
//! Each attempt is admitted and settled by itself, so a breaker that opens stops the retries
//! under way. What happens next is the policy's word; one policy's, whatever replaces it meanwhile.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use fusewire_core::{
    Observation, Outcome, Progress, Refusal, RefusalReason, Step, Target, TransportFailure,
    Verdict, Wanted,
};

use super::{Admitted, CallFacts, Guard};

/// One provider of a chain.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Whom to ask.
    pub target: Target,
    /// The longest that one attempt may last.
    pub limit: Duration,
}

/// One attempt that is to be made now.
#[derive(Debug, Clone)]
pub struct Try {
    /// Which candidate, from zero.
    pub candidate: usize,
    /// Which attempt at it, from one.
    pub attempt: u32,
    /// Whether it is the fleet's probe.
    pub probe: bool,
    /// The longest that it may last: the candidate's limit, or less where the policy says so, as of
    /// a probe.
    pub limit: Duration,
    /// What to gather of it: [`Guard::wanted`].
    pub wanted: Arc<Wanted>,
}

/// What became of an attempt.
#[derive(Debug)]
pub struct Attempt<T> {
    /// What was seen.
    pub observation: Observation,
    /// The answer, where there is one to pass on.
    pub value: Option<T>,
    /// Whether the answer is still coming, so that more will be seen of it: where it is passed
    /// on it is not settled, and the caller settles it with what the end shows.
    pub still_coming: bool,
}

/// Why a provider did not give the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The breaker refused it before it was asked.
    Refused(RefusalReason),
    /// It was asked, and failed.
    ProviderError,
    /// The caller's deadline was over, or left it too little time: no fault of its own.
    Deadline,
}

impl SkipReason {
    /// The reason's name, as in headers and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused(RefusalReason::Open) => "breaker-open",
            Self::Refused(reason) => reason.name(),
            Self::ProviderError => "provider-error",
            Self::Deadline => "deadline",
        }
    }
}

/// A provider that did not give the answer.
#[derive(Debug, Clone)]
pub struct Skip {
    /// Which candidate, from zero.
    pub candidate: usize,
    /// Why.
    pub reason: SkipReason,
    /// When it is worth asking again, in ms from now, as far as anybody said.
    pub retry_after_ms: Option<u64>,
    /// As a sentence a person can read.
    pub detail: String,
    /// How often it was asked.
    pub attempts: u32,
}

/// The answer that is to be passed on.
pub struct Given<T> {
    /// The answer.
    pub value: T,
    /// Which candidate gave it, from zero.
    pub candidate: usize,
    /// What it means.
    pub verdict: Verdict,
    /// The permit of an answer that is still coming, to be settled when it has ended.
    pub unsettled: Option<Admitted>,
}

/// What became of a logical call.
pub struct Called<T> {
    /// The answer, where there is one.
    pub given: Option<Given<T>>,
    /// The providers that were passed over, in order.
    pub skipped: Vec<Skip>,
    /// Attempts made in all.
    pub attempts: u32,
}

impl Guard {
    /// Makes one logical call: asks the candidates in order, each as often as the policy says,
    /// until one gives an answer that is to be passed on. Dropping it drops the attempt under
    /// way, which is reported as such.
    pub async fn call<T, F, A>(
        &self,
        chain: &[Candidate],
        facts: &CallFacts,
        mut attempt: F,
    ) -> Called<T>
    where
        F: FnMut(Try) -> A,
        A: Future<Output = Attempt<T>>,
    {
        let mut called = Called {
            given: None,
            skipped: Vec::new(),
            attempts: 0,
        };
        let Some(first) = chain.first() else {
            return called;
        };
        let guard = self.pinned(&first.target.provider);
        for (index, candidate) in chain.iter().enumerate() {
            let left = chain.len() - index - 1;
            match guard
                .ask_candidate(
                    index,
                    candidate,
                    left,
                    facts,
                    &mut called.attempts,
                    &mut attempt,
                )
                .await
            {
                Asked::Given(given) => {
                    called.given = Some(given);
                    return called;
                }
                Asked::Skipped { skip, give_up } => {
                    called.skipped.push(skip);
                    if give_up {
                        return called;
                    }
                }
            }
        }
        called
    }

    async fn ask_candidate<T, F, A>(
        &self,
        index: usize,
        candidate: &Candidate,
        left: usize,
        facts: &CallFacts,
        attempts_in_all: &mut u32,
        attempt: &mut F,
    ) -> Asked<T>
    where
        F: FnMut(Try) -> A,
        A: Future<Output = Attempt<T>>,
    {
        let facts = CallFacts {
            limit: Some(candidate.limit),
            ..facts.clone()
        };
        let mut attempts = 0;
        loop {
            if facts.deadline_ms.is_some_and(|at| at <= self.now_ms()) {
                return Asked::too_late(index, attempts);
            }
            let admitted = match self.admit(&candidate.target, &facts).await {
                Ok(admitted) => admitted,
                Err(refusal) => return Asked::refused(index, attempts, refusal),
            };
            attempts += 1;
            *attempts_in_all += 1;
            let probe = admitted.is_probe();
            let Attempt {
                observation,
                value,
                still_coming,
            } = attempt(Try {
                candidate: index,
                attempt: attempts,
                probe,
                limit: admitted.limit(candidate.limit),
                wanted: self.wanted(&candidate.target),
            })
            .await;
            let verdict = self.classify(&candidate.target, &observation);
            let progress = Progress {
                target: candidate.target.clone(),
                attempts,
                attempts_in_all: *attempts_in_all,
                providers_left: u32::try_from(left).unwrap_or(u32::MAX),
                probe,
                deadline_ms: facts.deadline_ms,
            };
            // What has been seen is told before anything is waited for. Only an answer that is still
            // coming is held open; a probe's is not, since a caller who reads slowly would keep the
            // lease beyond its time: what has come so far is what it was to show.
            let unsettled = if still_coming && value.is_some() && !probe {
                Some(admitted)
            } else {
                admitted.settle_seen(verdict.clone(), &observation);
                None
            };
            let step = self.next(progress, verdict.clone(), &facts).await;
            if let (Step::Done, Some(value)) = (&step, value) {
                let unsettled = unsettled.map(Admitted::left_to_its_caller);
                return Asked::Given(Given {
                    value,
                    candidate: index,
                    verdict,
                    unsettled,
                });
            }
            let retry_after_ms = verdict
                .retry_after_ms
                .or((verdict.min_delay_ms > 0).then_some(verdict.min_delay_ms));
            let detail = verdict.reason.clone();
            let reason = reason(&observation, &verdict);
            if let Some(admitted) = unsettled {
                admitted.settle_seen(verdict, &observation);
            }
            if let Step::Retry(delay_ms) = step {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                continue;
            }
            let skip = Skip {
                candidate: index,
                reason,
                retry_after_ms,
                detail,
                attempts,
            };
            return Asked::Skipped {
                skip,
                // Done without an answer is the end as well: no other provider would have one.
                give_up: step != Step::NextProvider,
            };
        }
    }
}

/// Why an attempt that was made gave no answer.
fn reason(observation: &Observation, verdict: &Verdict) -> SkipReason {
    use TransportFailure::{CallerDeadline, DeadlineBeforeSend};
    match observation.failure {
        Some(CallerDeadline | DeadlineBeforeSend) if verdict.outcome == Outcome::Cancelled => {
            SkipReason::Deadline
        }
        _ => SkipReason::ProviderError,
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one a call, and it is taken apart at once"
)]
enum Asked<T> {
    Given(Given<T>),
    Skipped { skip: Skip, give_up: bool },
}

impl<T> Asked<T> {
    fn too_late(candidate: usize, attempts: u32) -> Self {
        let skip = Skip {
            candidate,
            reason: SkipReason::Deadline,
            retry_after_ms: None,
            detail: "the caller's deadline was over".into(),
            attempts,
        };
        Self::Skipped {
            skip,
            give_up: true,
        }
    }

    fn refused(candidate: usize, attempts: u32, refusal: Refusal) -> Self {
        let skip = Skip {
            candidate,
            // Refused after a failed attempt: the breaker opened under it.
            reason: if attempts > 0 {
                SkipReason::ProviderError
            } else {
                SkipReason::Refused(refusal.reason)
            },
            retry_after_ms: Some(refusal.retry_after_ms),
            detail: refusal.detail,
            attempts,
        };
        Self::Skipped {
            skip,
            give_up: false,
        }
    }
}
