//! Stores with a fault, to see that each promise can be broken and that it is noticed.

use crate::bounds::Bounds;
use crate::store::{Answer, Op, Perform, Slot, Slots, perform};
use crate::text::{Forms, Ms, Phase, Text};

/// What a store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It keeps leases for half of their time.
    ForgetsLeases,
    /// It lets nobody take over a lease that has expired.
    KeepsLeases,
    /// It replaces a record by an opening without looking at what is there.
    OpensBlindly,
    /// It counts for whoever comes, whatever epoch the counter is of.
    CountsForAnybody,
    /// A swap that came too late renews the lifetime of what is there.
    RenewsForTheRefused,
}

impl Bounds {
    /// The same fleet, with a store that has this fault.
    #[must_use]
    pub fn with(self, fault: Fault) -> Self {
        let perform: Perform = match fault {
            Fault::ForgetsLeases => |slots, op, forms| with_leases_until(1_000, slots, op, forms),
            Fault::KeepsLeases => keeping_leases,
            Fault::OpensBlindly => opening_blindly,
            Fault::CountsForAnybody => counting_for_anybody,
            Fault::RenewsForTheRefused => renewing_for_the_refused,
        };
        Self { perform, ..self }
    }
}

fn with_leases_until(end: Ms, slots: &mut Slots, op: &Op, forms: &Forms) -> Answer {
    let mut op = op.clone();
    if let Op::Swap {
        replacement: Some(text),
        ..
    } = &mut op
    {
        forms.set(text, "lease.expires", end);
    }
    perform(slots, &op, forms)
}

fn keeping_leases(slots: &mut Slots, op: &Op, forms: &Forms) -> Answer {
    let has_lease = |text: &Option<Text>| {
        let text = text.as_ref();
        text.is_some_and(|text| forms.has(text, "lease.expires"))
    };
    match op {
        Op::Swap {
            expected,
            replacement,
            ..
        } if has_lease(expected) && has_lease(replacement) => Answer::Swapped(false),
        _ => perform(slots, op, forms),
    }
}

fn opening_blindly(slots: &mut Slots, op: &Op, forms: &Forms) -> Answer {
    let mut op = op.clone();
    if let Op::Swap {
        key,
        expected,
        replacement: Some(text),
        ..
    } = &mut op
        && forms.phase(text) == Phase::Open
    {
        *expected = slots.at(*key).text();
    }
    perform(slots, &op, forms)
}

fn counting_for_anybody(slots: &mut Slots, op: &Op, forms: &Forms) -> Answer {
    let mut op = op.clone();
    if let Op::Count(windows) = &mut op {
        for window in windows {
            if let Slot::Counter(counter) = slots.at(window.key) {
                window.epoch = window.epoch.max(counter.epoch);
            }
        }
    }
    perform(slots, &op, forms)
}

fn renewing_for_the_refused(slots: &mut Slots, op: &Op, forms: &Forms) -> Answer {
    let answer = perform(slots, op, forms);
    if let (Op::Swap { key, ttl, .. }, Answer::Swapped(false)) = (op, &answer)
        && let Slot::Record(held) = slots.at_mut(*key)
    {
        held.dies = *ttl;
    }
    answer
}
