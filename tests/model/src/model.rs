//! What comes of what happens.

use std::rc::Rc;

use crate::bounds::Bounds;
use crate::call::{Call, End, Next, Request, Told};
use crate::core::Core;
use crate::learn::LONG_OPEN;
use crate::promises::{self, Broken};
use crate::state::{Attempt, Instance, State};
use crate::step::{How, Step, Who};
use crate::store::{Answer, Held, Op, Slot, Slots, perform_on, record_of};
use crate::text::{FAR, Forms, NEVER, Phase, Text};

/// What came of a step.
pub(crate) struct After {
    pub(crate) state: State,
    /// What was told on the way, in a word each.
    pub(crate) events: Vec<String>,
}

pub(crate) struct Model {
    pub(crate) bounds: Bounds,
    pub(crate) core: Core,
}

impl Model {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let core = Core::new(&bounds.config, bounds.domains, bounds.skews.len());
        Self { bounds, core }
    }

    pub(crate) fn start(&mut self) -> State {
        let mut state = State::start(self.bounds.skews.len());
        if self.bounds.starts_open {
            let text = self.core.forms.record(LONG_OPEN);
            for domain in 0..self.bounds.domains {
                let held = Held { text, dies: FAR };
                *state.store.at_mut(record_of(domain)) = Slot::Record(held);
            }
            state.settle_down(&self.bounds, &self.core);
        }
        state
    }

    /// Takes a step.
    ///
    /// # Errors
    /// A promise that the step has broken.
    pub(crate) fn take(&mut self, before: &State, step: Step) -> Result<After, Broken> {
        let mut state = before.clone();
        let mut events = Vec::new();
        match step {
            Step::TimePasses => state.pass(self.bounds.tick, &self.bounds, &self.core.forms),
            Step::Asks {
                instance,
                lot,
                lag,
                how,
            } => {
                let call = Call {
                    request: Request::Admit(before.free_bits(lot, &self.core.forms)),
                    instance,
                    now: self.bounds.skews[usize::from(instance)] - lag,
                    answers: Vec::new(),
                };
                self.go_on(&mut state, call, how, &mut events)?;
            }
            Step::Tells {
                instance,
                attempt,
                end,
                lag,
                how,
            } => {
                let attempts = &mut state.instances[usize::from(instance)].attempts;
                let Attempt::Made { permit, .. } = attempts.remove(attempt.into()) else {
                    unreachable!("what is told was made");
                };
                let call = Call {
                    request: Request::Settle(permit, end),
                    instance,
                    now: self.bounds.skews[usize::from(instance)] - lag,
                    answers: Vec::new(),
                };
                self.go_on(&mut state, call, how, &mut events)?;
            }
            Step::Answered { who, how } => {
                let call = match who {
                    Who::Operator => state.operator.take(),
                    Who::Instance(instance, attempt) => {
                        let attempts = &mut state.instances[usize::from(instance)].attempts;
                        attempts.remove(attempt.into()).call().cloned()
                    }
                };
                let call = call.expect("what is answered was asked");
                self.go_on(&mut state, call, how, &mut events)?;
            }
            Step::Forgotten { instance, attempt } => {
                state.instances[usize::from(instance)]
                    .attempts
                    .remove(attempt.into());
            }
            Step::Crashes { instance } => {
                state.instances[usize::from(instance)] = Instance::default();
            }
            Step::Orders(order) => {
                let call = Call {
                    request: Request::Order(order),
                    instance: state.instances.len() as u8,
                    now: 0,
                    answers: Vec::new(),
                };
                self.go_on(&mut state, call, How::Well, &mut events)?;
            }
            Step::Loses(key) => *state.store.at_mut(key) = Slot::Empty,
        }
        promises::of_a_state(self, &state)?;
        state.settle_down(&self.bounds, &self.core);
        Ok(After { state, events })
    }

    /// Performs the operation that a call waits for, and puts the call back where it then stands.
    /// A call that has none to wait for ends at once.
    fn go_on(
        &mut self,
        state: &mut State,
        mut call: Call,
        how: How,
        events: &mut Vec<String>,
    ) -> Result<(), Broken> {
        let mut next = self.core.next(&call);
        if let Next::Ask(op) = &*next
            && !op.is_own()
        {
            self.operate(state, &mut call, op, how)?;
            next = self.core.next(&call);
            // A swap that came too late changes nothing, and comes as late if it comes later: so
            // what the call does then is done in the same step.
            if let Next::Ask(op) = &*next
                && call.answers.last() == Some(&Answer::Swapped(false))
            {
                self.operate(state, &mut call, op, How::Well)?;
                next = self.core.next(&call);
            }
        }
        // What is the instance's own is answered at once.
        while let Next::Ask(op) = &*next
            && op.is_own()
        {
            self.operate(state, &mut call, op, How::Well)?;
            next = self.core.next(&call);
        }
        self.put_back(state, call, &next, events)
    }

    fn operate(
        &mut self,
        state: &mut State,
        call: &mut Call,
        op: &Op,
        how: How,
    ) -> Result<(), Broken> {
        let before = state.store.clone();
        let mut nobodys = Slots::default();
        let own = state.instances.get_mut(usize::from(call.instance));
        let own = own.map_or(&mut nobodys, |instance| &mut instance.own);
        let answer = match how {
            How::Undone => Answer::Unavailable,
            How::Well | How::Done => perform_on(
                &mut state.store,
                own,
                self.bounds.perform,
                op,
                &self.core.forms,
            ),
        };
        promises::of_an_operation(self, state, &before, call, op, &answer)?;
        call.answers.push(match how {
            How::Done => Answer::Unavailable,
            How::Well | How::Undone => answer,
        });
        tidy(call, &self.bounds, &self.core);
        self.core.forget_lost_race(call);
        Ok(())
    }

    fn put_back(
        &mut self,
        state: &mut State,
        call: Call,
        next: &Rc<Next>,
        events: &mut Vec<String>,
    ) -> Result<(), Broken> {
        let at = usize::from(call.instance);
        let done = match &**next {
            Next::Done(done) => done,
            Next::Ask(_) => {
                match call.request {
                    Request::Admit(_) => state.instances[at].attempts.push(Attempt::Asking(call)),
                    Request::Settle(..) => {
                        state.instances[at].attempts.push(Attempt::Telling(call))
                    }
                    Request::Order(_) => state.operator = Some(call),
                }
                return Ok(());
            }
        };
        events.extend(done.events.iter().cloned());
        match done.outcome {
            Told::Allowed { permit, probe } => {
                let ends = call.now - self.bounds.skews[at] + self.bounds.lease;
                events.push(
                    if probe {
                        "admitted as the probe"
                    } else {
                        "admitted"
                    }
                    .into(),
                );
                state.instances[at].attempts.push(Attempt::Made {
                    permit,
                    probing: Some(ends).filter(|ends| probe && *ends > 0),
                });
            }
            Told::Refused => {
                promises::of_a_refusal(self, &state.store, &call)?;
                let again = call.answers.contains(&Answer::Swapped(false));
                events.push(
                    if again {
                        "refused after a lost race"
                    } else {
                        "refused"
                    }
                    .into(),
                );
            }
            Told::Nothing => {}
        }
        Ok(())
    }

    /// Whether a step is one that a healthy fleet takes with some traffic: time passes, attempts
    /// are made and pass, and the store answers. `cut_off`: but those who may be cut off are.
    pub(crate) fn is_healthy(&self, step: Step, cut_off: bool) -> bool {
        let (instance, how) = match step {
            Step::TimePasses => return true,
            Step::Asks { instance, how, .. } => (instance, how),
            Step::Tells {
                end: End::Passed,
                instance,
                how,
                ..
            } => (instance, how),
            Step::Answered {
                who: Who::Instance(instance, _),
                how,
            } => (instance, how),
            Step::Answered { how, .. } => return how == How::Well,
            _ => return false,
        };
        match cut_off && self.bounds.is_cut_off(instance.into()) {
            true => how == How::Undone,
            false => how == How::Well,
        }
    }

    /// Whether every domain's breaker in this store is closed.
    pub(crate) fn is_closed(&self, slots: &Slots) -> bool {
        (0..self.bounds.domains).all(|domain| {
            let record = slots.at(record_of(domain)).text();
            record.is_none_or(|record| {
                let expires = self.core.forms.field(&record, "expires");
                let is_over = expires.is_some_and(|at| at != NEVER && at <= 0);
                is_over || self.core.forms.phase(&record) == Phase::Closed
            })
        })
    }

    /// Whether an operator's order stands until it is cleared.
    pub(crate) fn has_standing_order(&self, state: &State) -> bool {
        let ends = |text: Text| self.core.forms.field(&text, "override.until");
        let stands = |slot: &Slot| slot.text().and_then(ends) == Some(NEVER);
        state.store.0.iter().any(stands)
    }
}

/// What makes no difference in the answers to a call, before it goes on from them: the same as in
/// the canonical form of states.
fn tidy(call: &mut Call, bounds: &Bounds, core: &Core) {
    let Some(Answer::Counted(tallies)) = call.answers.last_mut() else {
        return;
    };
    for (_, lanes) in tallies {
        lanes.retain_mut(|(lane, amount)| {
            *amount = (*amount).min(bounds.enough(core.lane(*lane)));
            *amount > 0
        });
    }
}

/// The store in words, for the way to a broken promise.
pub(crate) fn in_words(slots: &Slots, forms: &Forms) -> String {
    let words = slots.0.iter().filter_map(|slot| match slot {
        Slot::Empty => None,
        Slot::Record(held) => Some(format!("{} for {} ms", forms.fill(&held.text), held.dies)),
        Slot::Counter(c) => {
            let cells: Vec<String> = c
                .cells
                .iter()
                .map(|c| format!("{} at {}", c.amount, c.bucket))
                .collect();
            Some(format!(
                "counter of epoch {}: {} for {} ms",
                c.epoch,
                cells.join(", "),
                c.dies
            ))
        }
    });
    words.collect::<Vec<_>>().join("\n      ")
}
