//! A small fleet at one moment.

use crate::bounds::Bounds;
use crate::call::{Call, Request};
use crate::learn::LOTS;
use crate::store::{Answer, Slot, Slots};
use crate::text::{FAR, Forms, Kind, Ms, NEVER, Text};

/// What an instance has to do with one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Attempt {
    /// May it be made?
    Asking(Call),
    /// It was admitted, and its outcome is not told yet. `probing`: until when it is a live probe.
    Made { permit: Text, probing: Option<Ms> },
    /// Its outcome is being told.
    Telling(Call),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Instance {
    pub(crate) attempts: Vec<Attempt>,
    /// What it keeps to itself, until it crashes.
    pub(crate) own: Slots,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct State {
    pub(crate) store: Slots,
    pub(crate) instances: Vec<Instance>,
    /// The operator's call, where one is under way.
    pub(crate) operator: Option<Call>,
}

impl Attempt {
    pub(crate) fn call(&self) -> Option<&Call> {
        match self {
            Self::Asking(call) | Self::Telling(call) => Some(call),
            Self::Made { .. } => None,
        }
    }

    pub(crate) fn call_mut(&mut self) -> Option<&mut Call> {
        match self {
            Self::Asking(call) | Self::Telling(call) => Some(call),
            Self::Made { .. } => None,
        }
    }
}

impl State {
    pub(crate) fn start(instances: usize) -> Self {
        Self {
            instances: vec![Instance::default(); instances],
            ..Self::default()
        }
    }

    pub(crate) fn attempts(&self) -> impl Iterator<Item = (usize, &Attempt)> {
        let each = self.instances.iter().enumerate();
        each.flat_map(|(at, i)| i.attempts.iter().map(move |a| (at, a)))
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        let of_instances = self.attempts().filter_map(|(_, a)| a.call());
        of_instances.chain(&self.operator)
    }

    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        let attempts = self.instances.iter_mut().flat_map(|i| &mut i.attempts);
        let of_instances = attempts.filter_map(Attempt::call_mut);
        of_instances.chain(&mut self.operator)
    }

    /// What the fleet shares, and what each instance keeps to itself.
    pub(crate) fn slots_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        let own = self.instances.iter_mut().flat_map(|i| &mut i.own.0);
        self.store.0.iter_mut().chain(own)
    }

    /// Every text there is, in a fixed order.
    pub(crate) fn texts_mut(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        for slot in self.slots_mut() {
            if let Slot::Record(held) = slot {
                visit(&mut held.text);
            }
        }
        for attempt in self.instances.iter_mut().flat_map(|i| &mut i.attempts) {
            match attempt {
                Attempt::Made { permit, .. } => visit(permit),
                Attempt::Asking(call) | Attempt::Telling(call) => call.texts_mut(visit),
            }
        }
        if let Some(call) = &mut self.operator {
            call.texts_mut(visit);
        }
    }

    /// Every epoch outside of texts.
    pub(crate) fn epochs_mut(&mut self, visit: &mut dyn FnMut(&mut Ms)) {
        for slot in self.slots_mut() {
            if let Slot::Counter(counter) = slot {
                visit(&mut counter.epoch);
            }
        }
        for call in self.calls_mut() {
            for answer in &mut call.answers {
                if let Answer::Counted(tallies) = answer {
                    tallies.iter_mut().for_each(|(epoch, _)| visit(epoch));
                }
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Ms, bounds: &Bounds, forms: &Forms) {
        let earlier = |time: &mut Ms| {
            if *time != NEVER && *time != FAR {
                *time -= span;
            }
        };
        self.texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if matches!(kind, Kind::Epoch | Kind::Until) {
                    earlier(hole);
                }
            }
        });
        self.epochs_mut(&mut |epoch| earlier(epoch));
        for slot in self.slots_mut() {
            match slot {
                Slot::Empty => {}
                Slot::Record(held) => earlier(&mut held.dies),
                Slot::Counter(counter) => {
                    earlier(&mut counter.dies);
                    counter
                        .cells
                        .iter_mut()
                        .for_each(|c| earlier(&mut c.bucket));
                }
            }
        }
        self.store.expire();
        self.instances.iter_mut().for_each(|i| i.own.expire());
        for call in self.calls_mut() {
            earlier(&mut call.now);
        }
        for (at, instance) in self.instances.iter_mut().enumerate() {
            let given_up = |call: &Call| call.now - bounds.skews[at] < -bounds.patience;
            instance
                .attempts
                .retain(|a| !a.call().is_some_and(given_up));
            for attempt in &mut instance.attempts {
                if let Attempt::Made { probing, .. } = attempt {
                    *probing = probing.map(|ends| ends - span).filter(|ends| *ends > 0);
                }
            }
        }
        self.operator.take_if(|call| call.now < -bounds.patience);
    }

    /// Random bits of this lot that nobody has.
    pub(crate) fn free_bits(&self, lot: u8, forms: &Forms) -> u8 {
        // Canonical, so they are numbered without a gap.
        let mut next = 0;
        let each = forms.tokens.each as Ms;
        let lots = Ms::from(LOTS);
        self.clone().texts_mut(&mut |text| {
            for (kind, hole) in forms.of(text).kinds.iter().zip(&mut text.holes) {
                if *kind == Kind::Token {
                    next = next.max(*hole / each / lots + 1);
                }
            }
        });
        for call in self.calls() {
            if let Request::Admit(bits) = call.request {
                next = next.max(Ms::from(bits / LOTS) + 1);
            }
        }
        (next * lots) as u8 + lot
    }
}

impl Call {
    pub(crate) fn texts_mut(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        if let Request::Settle(permit, _) = &mut self.request {
            visit(permit);
        }
        for answer in &mut self.answers {
            if let Answer::Got(texts) = answer {
                texts
                    .iter_mut()
                    .filter_map(|(_, text)| text.as_mut())
                    .for_each(&mut *visit);
            }
        }
    }
}
