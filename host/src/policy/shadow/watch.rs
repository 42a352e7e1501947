//! Chooses what is compared, and asks the other policy, off the caller's path.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::comparison::{self, Comparison, Said, Tally};
use super::openings::Openings;
use super::permits::Permits;
use super::view::{Aside, View};
use crate::engine::evidence::{Kept, unsaid};
use crate::engine::{Answer, Engine, Tape, ask_on};
use crate::guard::generation::{Asked, Decided, Generation, Kind, Watcher, is_below};
use crate::store::Store;
use fusewire_core::{Decision, EventKind, Target, Wanted};

/// How many questions may wait to be compared. What comes beyond is left out: a comparison never
/// slows calls down.
const QUEUE: usize = 1024;
/// How long the other policy's store is waited for. It mostly answers at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which questions are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// The other policy is to take the place of the serving one: this share of all questions.
    Successor {
        /// From 0 to 1.
        share: f64,
    },
    /// The serving policy has taken the place of the other: the calls that it refuses, and the
    /// breakers that it opens.
    Predecessor,
}

/// A comparison that is going on. It ends when this is dropped.
pub struct Shadow {
    /// The generation whose decisions are compared.
    of: u64,
    role: Role,
    queue: mpsc::Sender<Question>,
    /// What the other policy looks at, by target.
    looks_at: Arc<Kept>,
    tally: Arc<Mutex<Tally>>,
    over: Arc<AtomicBool>,
}

/// What the other policy is asked.
enum Question {
    /// What the first one was.
    Decided(Arc<Decided>),
    /// What it looks at.
    Wanted(Target),
}

impl Shadow {
    /// Begins to compare the decisions of a generation with what another policy would decide. Its
    /// reads go to this store, where the serving policy has not read the same.
    ///
    /// The other policy is asked on a thread of its own: one that loops holds up nobody else.
    ///
    /// # Errors
    /// There is no thread to be had.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn begin(
        of: &Generation,
        other: Arc<dyn Engine>,
        store: Arc<dyn Store>,
        prefix: &str,
        role: Role,
    ) -> io::Result<Arc<Self>> {
        let (queue, mut questions) = mpsc::channel::<Question>(QUEUE);
        let tally = Arc::new(Mutex::new(Tally::default()));
        let over = Arc::new(AtomicBool::new(false));
        let looks_at = Arc::new(Kept::default());
        let asking = Asking {
            is_of_one_kind: of.describe().name == other.describe().name,
            other,
            aside: Arc::new(Aside::new(store)),
            prefix: prefix.into(),
            looks_at: Arc::clone(&looks_at),
            tally: Arc::clone(&tally),
            openings: Mutex::default(),
            permits: Mutex::default(),
        };
        let (runtime, ended) = (Handle::current(), Arc::clone(&over));
        std::thread::Builder::new()
            .name("fusewire-shadow".into())
            .spawn(move || {
                while let Some(question) = questions.blocking_recv() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    match question {
                        Question::Decided(decided) => {
                            runtime.block_on(asking.compare(&decided.asked));
                        }
                        Question::Wanted(target) => asking.learn_wanted(&target),
                    }
                }
            })?;
        Ok(Arc::new(Self {
            of: of.number(),
            role,
            queue,
            looks_at,
            tally,
            over,
        }))
    }

    /// What it has come to so far.
    #[must_use]
    pub fn comparison(&self) -> Comparison {
        lock(&self.tally).snapshot()
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Watcher for Shadow {
    fn wants(&self, generation: &Generation, kind: Kind, bits: u64) -> bool {
        generation.number() == self.of
            && match self.role {
                Role::Successor { share } => kind != Kind::Operator && is_below(bits, share),
                Role::Predecessor => matches!(kind, Kind::Admit | Kind::Overdue | Kind::Settle),
            }
    }

    /// The other policy is asked on its own thread: until it has answered, nothing is gathered for it.
    fn wanted(&self, target: &Target) -> Option<Arc<Wanted>> {
        if !matches!(self.role, Role::Successor { .. }) {
            // No judgement of an attempt is compared.
            return None;
        }
        let known = self.looks_at.get(target);
        if known.is_none() {
            // Before it is asked for, so that the answer is what stays.
            self.looks_at.put(target, &nothing());
            let asked = self.queue.try_send(Question::Wanted(target.clone()));
            if asked.is_err() {
                self.looks_at.forget(target);
            }
        }
        known
    }

    fn decided(&self, decided: &Arc<Decided>) {
        if self.role == Role::Predecessor && !is_against_calls(&decided.asked) {
            return;
        }
        if let Err(TrySendError::Full(_)) =
            self.queue.try_send(Question::Decided(Arc::clone(decided)))
        {
            lock(&self.tally).left_out();
        }
    }
}

fn nothing() -> Arc<Wanted> {
    Arc::new(Wanted {
        body_bytes: 0,
        headers: Some(Vec::new()),
        trailers: false,
    })
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a call was refused, or a breaker was opened.
fn is_against_calls(asked: &Asked) -> bool {
    match asked {
        Asked::Call(_, Ok(Answer::Admission(admission)), _) => {
            matches!(admission.decision, Decision::Refused(_))
        }
        Asked::Call(_, Ok(Answer::Settled(events)), _) => events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Transition(_) | EventKind::Alone(_))),
        _ => false,
    }
}

struct Asking {
    other: Arc<dyn Engine>,
    aside: Arc<Aside>,
    prefix: Arc<str>,
    looks_at: Arc<Kept>,
    tally: Arc<Mutex<Tally>>,
    openings: Mutex<Openings>,
    permits: Mutex<Permits>,
    /// Whether both are versions of one policy.
    is_of_one_kind: bool,
}

impl Asking {
    fn learn_wanted(&self, target: &Target) {
        let wanted = self.other.wanted(target).unwrap_or_else(|fault| {
            lock(&self.tally).failed(&fault);
            unsaid()
        });
        self.looks_at.put(target, &wanted);
    }

    async fn compare(&self, asked: &Asked) {
        let mut refuses_more = false;
        let (kind, serving, candidate, refused, store) = match asked {
            Asked::Classify(target, observation, verdict) => {
                let other = self.other.classify(target, observation);
                (
                    Kind::Classify,
                    Said::verdict(verdict),
                    Said::verdict(&other),
                    0,
                    None,
                )
            }
            Asked::Call(call, answer, recording) => {
                let Some(asked) = self.permits().translate(call, self.is_of_one_kind) else {
                    return;
                };
                let view = View::new(recording.clone(), Arc::clone(&self.aside));
                let mut tape = Tape::new(Arc::new(view), Arc::clone(&self.prefix));
                let other = ask_on(&*self.other, &mut tape, PATIENCE, &asked).await;
                let mut said = Said::answer(&other);
                if let (Ok(answer), Ok(other)) = (answer, &other) {
                    self.permits().learn(answer, other);
                    refuses_more = self.refuses_more(answer, other);
                    if refuses_more {
                        said.words = "allowed".into();
                    }
                }
                (
                    Kind::of(call),
                    Said::answer(answer),
                    said,
                    tape.refused(),
                    Some(recording),
                )
            }
        };
        // What the serving policy failed at says nothing of the other one.
        if serving.fault.is_some() {
            return;
        }
        let mut tally = lock(&self.tally);
        tally.refused(refused);
        tally.refuses_more(refuses_more);
        tally.take(kind.name(), &serving, &candidate, || {
            comparison::sample(asked, &serving, &candidate, store)
        });
    }

    fn permits(&self) -> MutexGuard<'_, Permits> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the serving policy has refused a call that the other one would have let through: now,
    /// or because of a breaker that it would not have opened.
    fn refuses_more(&self, serving: &Answer, other: &Answer) -> bool {
        let mut openings = self.openings.lock().unwrap_or_else(PoisonError::into_inner);
        match (serving, other) {
            (Answer::Settled(serving), Answer::Settled(other)) => {
                openings.learn(serving, other);
                false
            }
            (Answer::Admission(serving), Answer::Admission(other)) => match &serving.decision {
                Decision::Allowed(_) => false,
                Decision::Refused(refusal) => {
                    matches!(other.decision, Decision::Allowed(_))
                        || openings.is_its_own(&refusal.domain)
                }
            },
            _ => false,
        }
    }
}
