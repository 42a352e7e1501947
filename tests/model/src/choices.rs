//! All that can happen next.

use crate::call::End;
use crate::model::Model;
use crate::state::{Attempt, Instance, State};
use crate::step::{How, Step, Who};
use crate::store::{Key, Slot};
use crate::text::{Ms, Stamp};

impl Model {
    /// All that can happen next.
    pub(crate) fn steps(&self, state: &State) -> Vec<Step> {
        let bounds = &self.bounds;
        let mut steps = vec![Step::TimePasses];
        let under_way = state.attempts().count();
        for (at, instance) in state.instances.iter().enumerate() {
            let number = at as u8;
            let is_like_the_one_before = at > 0
                && bounds.class(at - 1) == bounds.class(at)
                && instance.attempts.is_empty()
                && state.instances[at - 1] == *instance;
            if under_way < bounds.attempts
                && instance.attempts.len() < bounds.attempts_each
                && !is_like_the_one_before
            {
                for lot in 0..bounds.lots {
                    steps.extend(self.begins(at).map(|(lag, how)| Step::Asks {
                        instance: number,
                        lot,
                        lag,
                        how,
                    }));
                }
            }
            for (place, attempt) in instance.attempts.iter().enumerate() {
                self.steps_of(attempt, number, place as u8, &mut steps);
            }
            if *instance != Instance::default() {
                steps.push(Step::Crashes { instance: number });
            }
        }
        if state.operator.is_some() {
            steps.push(Step::Answered {
                who: Who::Operator,
                how: How::Well,
            });
        } else {
            steps.extend(bounds.orders.iter().map(|&order| Step::Orders(order)));
        }
        let there = |key: &&Key| *state.store.at(**key) != Slot::Empty;
        steps.extend(
            bounds
                .lost
                .iter()
                .filter(there)
                .map(|&key| Step::Loses(key)),
        );
        steps
    }

    /// How an operation of this instance can go.
    fn hows(&self, instance: usize) -> &'static [How] {
        if self.bounds.is_cut_off(instance) {
            &[How::Well, How::Undone, How::Done]
        } else {
            &[How::Well]
        }
    }

    /// How long before its first operation a call can have begun, and how that can go.
    fn begins(&self, instance: usize) -> impl Iterator<Item = (Ms, How)> {
        let (tick, hows) = (self.bounds.tick, self.hows(instance));
        let lags = (0..=self.bounds.lag / tick).map(move |n| n * tick);
        lags.flat_map(move |lag| hows.iter().map(move |how| (lag, *how)))
    }

    fn steps_of(&self, attempt: &Attempt, instance: u8, number: u8, steps: &mut Vec<Step>) {
        let permit = match attempt {
            Attempt::Asking(_) | Attempt::Telling(_) => {
                let who = Who::Instance(instance, number);
                steps.extend(
                    self.hows(instance.into())
                        .iter()
                        .map(|&how| Step::Answered { who, how }),
                );
                return;
            }
            Attempt::Made { permit, .. } => permit,
        };
        let tells = |end, (lag, how)| Step::Tells {
            instance,
            attempt: number,
            end,
            lag,
            how,
        };
        let form = self.core.forms.of(permit);
        let has = |stamp: fn(&Stamp) -> bool| form.counts_alone || form.stamps.iter().any(stamp);
        if !has(|stamp| *stamp != Stamp::None) {
            // It counts nowhere, however it ends.
            steps.push(tells(End::Passed, (0, How::Well)));
            return;
        }
        steps.push(Step::Forgotten {
            instance,
            attempt: number,
        });
        // One that was dropped and is no probe says nothing.
        let is_probe = has(|stamp| matches!(stamp, Stamp::Lease(_)));
        for &end in &self.bounds.ends {
            if is_probe || end != End::Dropped {
                steps.extend(self.begins(instance.into()).map(|begin| tells(end, begin)));
            }
        }
    }
}
