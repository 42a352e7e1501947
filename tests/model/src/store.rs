//! The store as a model: a few keys, each operation of the contract one step.

use crate::text::{FAR, Forms, Ms, NEVER, Text, near};

/// A key, by its place: each domain's record and counter, and then again for an instance's own
/// breaker.
pub(crate) type Key = u8;

/// How many keys the fleet shares.
const SHARED: Key = 4;

/// The keys of one domain's record and counter.
pub(crate) const fn record_of(domain: usize) -> Key {
    (domain * 2) as Key
}

pub(crate) const fn counter_of(domain: usize) -> Key {
    (domain * 2 + 1) as Key
}

/// The key of the same for an instance's own breaker.
pub(crate) const fn own(key: Key) -> Key {
    SHARED + key
}

pub(crate) const fn is_own(key: Key) -> bool {
    key >= SHARED
}

/// An amount in one lane of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) bucket: Ms,
    /// The place of the lane's name among those that the core has named.
    pub(crate) lane: u8,
    pub(crate) amount: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Counter {
    pub(crate) epoch: Ms,
    /// In order.
    pub(crate) cells: Vec<Cell>,
    pub(crate) dies: Ms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) text: Text,
    /// When the store forgets it.
    pub(crate) dies: Ms,
}

/// What is under a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) enum Slot {
    #[default]
    Empty,
    Record(Held),
    Counter(Counter),
}

/// All keys of one store. Those that were never written may be missing at the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Slots(pub(crate) Vec<Slot>);

/// One window of a `count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) key: Key,
    pub(crate) epoch: Ms,
    pub(crate) bucket: Ms,
    pub(crate) since: Ms,
    pub(crate) add: Vec<(u8, u8)>,
    pub(crate) ttl: Ms,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    Get(Vec<Key>),
    Swap {
        key: Key,
        expected: Option<Text>,
        replacement: Option<Text>,
        ttl: Ms,
    },
    Count(Vec<Window>),
}

/// What an operation was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    Got(Vec<(Key, Option<Text>)>),
    Swapped(bool),
    /// The owner's epoch and the amounts of the lanes.
    Counted(Vec<(Ms, Vec<(u8, u8)>)>),
    Unavailable,
}

impl Slot {
    pub(crate) fn text(&self) -> Option<Text> {
        match self {
            Self::Record(held) => Some(held.text),
            _ => None,
        }
    }

    fn dies(&self) -> Ms {
        match self {
            Self::Empty => FAR,
            Self::Record(held) => held.dies,
            Self::Counter(counter) => counter.dies,
        }
    }
}

impl Slots {
    pub(crate) fn at(&self, key: Key) -> &Slot {
        const EMPTY: &Slot = &Slot::Empty;
        self.0.get(usize::from(key)).unwrap_or(EMPTY)
    }

    pub(crate) fn at_mut(&mut self, key: Key) -> &mut Slot {
        let at = usize::from(key);
        if self.0.len() <= at {
            self.0.resize(at + 1, Slot::Empty);
        }
        &mut self.0[at]
    }

    /// Forgets what has come to the end of its life.
    pub(crate) fn expire(&mut self) {
        for slot in &mut self.0 {
            if slot.dies() <= 0 {
                *slot = Slot::Empty;
            }
        }
        self.trim();
    }

    pub(crate) fn trim(&mut self) {
        while self.0.last() == Some(&Slot::Empty) {
            self.0.pop();
        }
    }
}

impl Op {
    fn keys(&self) -> Vec<Key> {
        match self {
            Self::Get(keys) => keys.clone(),
            Self::Swap { key, .. } => vec![*key],
            Self::Count(windows) => windows.iter().map(|w| w.key).collect(),
        }
    }

    /// Whether it concerns an instance's own keys alone: its host answers those at once.
    pub(crate) fn is_own(&self) -> bool {
        self.keys().iter().all(|key| is_own(*key))
    }

    fn is_shared(&self) -> bool {
        self.keys().iter().all(|key| !is_own(*key))
    }
}

/// Does one operation on the fleet's store and an instance's own.
pub(crate) fn perform_on(
    shared: &mut Slots,
    own: &mut Slots,
    perform: Perform,
    op: &Op,
    forms: &Forms,
) -> Answer {
    if op.is_shared() {
        let answer = perform(shared, op, forms);
        shared.trim();
        return answer;
    }
    let mut both = std::mem::take(shared);
    both.0.resize(SHARED.into(), Slot::Empty);
    both.0.append(&mut own.0);
    let answer = perform(&mut both, op, forms);
    own.0 = both.0.split_off(SHARED.into());
    *shared = both;
    shared.trim();
    own.trim();
    answer
}

/// How a store does one operation: [`perform`], or that with a fault.
pub(crate) type Perform = fn(&mut Slots, &Op, &Forms) -> Answer;

/// Does one operation, as `wit/keyvalue.wit` has it.
pub(crate) fn perform(slots: &mut Slots, op: &Op, _: &Forms) -> Answer {
    match op {
        Op::Get(keys) => Answer::Got(keys.iter().map(|k| (*k, slots.at(*k).text())).collect()),
        Op::Swap {
            key,
            expected,
            replacement,
            ttl,
        } => {
            let slot = slots.at_mut(*key);
            let is_as_expected = slot.text() == *expected;
            if is_as_expected {
                *slot = match replacement {
                    Some(text) => Slot::Record(Held {
                        text: *text,
                        dies: near(*ttl),
                    }),
                    None => Slot::Empty,
                };
            }
            Answer::Swapped(is_as_expected)
        }
        Op::Count(windows) => Answer::Counted(windows.iter().map(|w| count(slots, w)).collect()),
    }
}

fn count(slots: &mut Slots, window: &Window) -> (Ms, Vec<(u8, u8)>) {
    let slot = slots.at_mut(window.key);
    let owner = match slot {
        Slot::Counter(counter) => counter.epoch,
        _ => NEVER,
    };
    if owner > window.epoch {
        return (owner, Vec::new());
    }
    if window.add.is_empty() {
        let Slot::Counter(counter) = slot else {
            return (NEVER, Vec::new());
        };
        if owner < window.epoch {
            return (NEVER, Vec::new());
        }
        return (owner, sums(counter, window.since));
    }
    let fresh = Counter {
        epoch: window.epoch,
        cells: Vec::new(),
        dies: 0,
    };
    let mut counter = match std::mem::take(slot) {
        Slot::Counter(counter) if counter.epoch == window.epoch => counter,
        _ => fresh,
    };
    counter.cells.retain(|cell| cell.bucket >= window.since);
    for (lane, amount) in &window.add {
        let same = |c: &&mut Cell| c.bucket == window.bucket && c.lane == *lane;
        match counter.cells.iter_mut().find(same) {
            Some(cell) => cell.amount = cell.amount.saturating_add(*amount),
            None => counter.cells.push(Cell {
                bucket: window.bucket,
                lane: *lane,
                amount: *amount,
            }),
        }
    }
    counter.cells.sort_unstable();
    counter.dies = near(window.ttl);
    let tally = (counter.epoch, sums(&counter, window.since));
    *slot = Slot::Counter(counter);
    tally
}

/// The sum of each lane, in order of the lanes.
fn sums(counter: &Counter, since: Ms) -> Vec<(u8, u8)> {
    let mut sums: Vec<(u8, u8)> = Vec::new();
    for cell in counter.cells.iter().filter(|cell| cell.bucket >= since) {
        match sums.iter_mut().find(|(lane, _)| *lane == cell.lane) {
            Some((_, sum)) => *sum = sum.saturating_add(cell.amount),
            None => sums.push((cell.lane, cell.amount)),
        }
    }
    sums.sort_unstable();
    sums
}
