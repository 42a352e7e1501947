//! One question to a policy, while it is asked.

use std::sync::Arc;

use super::Guard;
use super::generation::{self, Asked, Decided, Generation, Kind, Watcher};
use crate::engine::{Answer, Call, Engine, Fault, Tape, ask_on};

impl Guard {
    pub(super) async fn ask(&self, call: &Call) -> Result<Answer, Fault> {
        let inner = &self.inner;
        let mut question = self.question(call);
        let answer = match &question.engine {
            Some(engine) => ask_on(&**engine, &mut question.tape, inner.patience, call).await,
            None => Err(Fault::Retired),
        };
        question.answered(call, answer)
    }

    /// Asks without waiting. `None`: the store does not answer at once.
    pub(super) fn ask_at_once(&self, call: &Call) -> Option<Result<Answer, Fault>> {
        let mut question = self.question(call);
        let answer = match &question.engine {
            Some(engine) => engine.run(call, &mut question.tape),
            None => Err(Fault::Retired),
        };
        match answer {
            Ok(Ok(answer)) => Some(question.answered(call, Ok(answer))),
            Ok(Err(_suspended)) => None,
            Err(fault) => Some(question.answered(call, Err(fault))),
        }
    }

    fn question(&self, call: &Call) -> Question {
        let inner = &self.inner;
        let provider = match call {
            Call::Admit(target, _) | Call::Inspect(target, _) => &*target.provider,
            Call::Settle(permit, ..) | Call::Overdue(permit, ..) => &*permit.target.provider,
            Call::Order(domain, ..) | Call::Explain(domain, ..) => provider_of(domain),
            Call::Next(progress, ..) => &*progress.target.provider,
        };
        let generation = self.generation(provider);
        let bits = || inner.entropy.next();
        let watchers = inner
            .generations
            .watchers(&generation, Kind::of(call), bits);
        let (store, prefix) = (Arc::clone(&inner.store), Arc::clone(&inner.prefix));
        Question {
            engine: generation.engine(),
            tape: match watchers.is_empty() {
                true => Tape::new(store, prefix),
                false => Tape::recorded(store, prefix),
            },
            generation,
            watchers,
        }
    }
}
/// The provider of a domain's name, as far as it is one.
fn provider_of(domain: &str) -> &str {
    domain.split(['@', '/']).next().unwrap_or_default()
}

/// A question to the policy, while it is asked.
struct Question {
    generation: Arc<Generation>,
    /// `None`: it was taken away.
    engine: Option<Arc<dyn Engine>>,
    tape: Tape,
    /// Who is to be told of it.
    watchers: Vec<Arc<dyn Watcher>>,
}

impl Question {
    fn answered(self, call: &Call, answer: Result<Answer, Fault>) -> Result<Answer, Fault> {
        self.generation.asked(&answer, self.tape.refused());
        generation::tell(&self.watchers, || Decided {
            generation: self.generation.number(),
            asked: Asked::Call(call.clone(), answer.clone(), self.tape.into_recording()),
        });
        answer
    }
}
