//! The question whether a call may be made, while the store is waited for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use fusewire_core::{Decision, Limits};

use super::{Admitted, CallFacts, Guard};
use crate::engine::{Answer, Call, Fault};

/// An admission under way. Where the caller goes away before it has its answer, it is asked to its
/// end all the same: the answer may be a probe lease, which would be held by nobody until its time
/// is over.
pub(super) struct Asking {
    guard: Guard,
    facts: CallFacts,
    /// `None`: answered.
    asking: Option<Question>,
}

type Question = Pin<Box<dyn Future<Output = Result<Answer, Fault>> + Send>>;

impl Asking {
    pub(super) fn new(guard: &Guard, call: Call, facts: &CallFacts) -> Self {
        let asked = guard.clone();
        Self {
            guard: guard.clone(),
            facts: facts.clone(),
            asking: Some(Box::pin(async move { asked.ask(&call).await })),
        }
    }
}

impl Future for Asking {
    type Output = Result<Answer, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(asking) = &mut self.asking else {
            return Poll::Pending;
        };
        let answer = asking.as_mut().poll(context);
        if answer.is_ready() {
            self.asking = None;
        }
        answer
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some(asking) = self.asking.take() else {
            return;
        };
        let (guard, facts) = (self.guard.clone(), self.facts.clone());
        let settling = &self.guard.inner.settling;
        let Some(runtime) = settling.runtime() else {
            return;
        };
        settling.tell(&runtime, async move {
            let Ok(Answer::Admission(admission)) = asking.await else {
                return;
            };
            guard.events(&admission.events);
            if let Decision::Allowed(permit) = admission.decision {
                // Nobody makes the call, so it has no limits.
                drop(Admitted::new(guard, permit, facts, Limits::default()));
            }
        });
    }
}
