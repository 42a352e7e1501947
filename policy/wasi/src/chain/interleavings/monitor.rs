//! Whether what clients were answered can have happened in some order: linearisability.
//!
//! The monitor keeps every state that the value can be in, with which of the operations under way
//! have taken effect, and with what answer. An operation that ends with an answer that none of them
//! allows is a broken promise.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fusewire_core::store::{Lane, StoreError, Tally, Window};

use crate::bucket::Failure;
use crate::keyvalue::KeyValue;
use crate::register::Register;

/// The key that all clients are at.
pub(super) const KEY: &str = "k";

/// One operation of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Get,
    Swap(Option<&'static str>, Option<&'static str>),
    Adds(u64, u64),
}

pub(super) const fn get() -> Op {
    Op::Get
}

pub(super) const fn swap(expected: Option<&'static str>, new: Option<&'static str>) -> Op {
    Op::Swap(expected, new)
}

/// Adds this amount, for this epoch.
pub(super) const fn adds(epoch: u64, amount: u64) -> Op {
    Op::Adds(epoch, amount)
}

/// What an operation was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Answer {
    Held(Option<Vec<u8>>),
    Swapped(bool),
    Tally(u64, Vec<(String, u64)>),
}

impl Op {
    pub(super) fn perform<R: Register, C: Fn() -> u64>(
        &self,
        store: &KeyValue<R, C>,
    ) -> Result<Answer, StoreError> {
        match *self {
            Self::Get => {
                let held = store.get(&[KEY.to_owned()])?;
                Ok(Answer::Held(held.into_iter().next().flatten()))
            }
            Self::Swap(expected, new) => store
                .swap(KEY, expected.map(str::as_bytes), new.map(str::as_bytes), 0)
                .map(Answer::Swapped),
            Self::Adds(epoch, amount) => {
                let tallies = store.count(&[Window {
                    key: KEY.to_owned(),
                    epoch,
                    bucket: 1,
                    add: vec![Lane {
                        name: "a".to_owned(),
                        amount,
                    }],
                    since: 0,
                    ttl_ms: 1,
                }])?;
                let Tally { epoch, lanes } = tallies.into_iter().next().unwrap_or_default();
                let lanes = lanes.into_iter().map(|lane| (lane.name, lane.amount));
                Ok(Answer::Tally(epoch, lanes.collect()))
            }
        }
    }

    /// The operation alone, on this value.
    fn alone(&self, held: &mut Option<Vec<u8>>) -> Answer {
        let register = Alone(RefCell::new(held.take()));
        let store = KeyValue::new(&register, || 0);
        let answer = self.perform(&store).expect("nothing goes wrong alone");
        *held = register.0.into_inner();
        answer
    }
}

/// A register with one client.
struct Alone(RefCell<Option<Vec<u8>>>);

impl Register for &Alone {
    type Seen = ();

    fn read(&self, _key: &str) -> Result<(Option<Vec<u8>>, ()), Failure> {
        Ok((self.0.borrow().clone(), ()))
    }

    fn replace(&self, _key: &str, (): (), value: &[u8]) -> Result<bool, Failure> {
        *self.0.borrow_mut() = Some(value.to_vec());
        Ok(true)
    }
}

/// An operation of a client, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Stands {
    Idle,
    Begun,
    Effective(Answer),
}

/// One way in which things can stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Way {
    held: Option<Vec<u8>>,
    clients: Vec<Stands>,
}

/// Every way in which things can stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Monitor(BTreeSet<Way>);

impl Monitor {
    pub(super) fn new(clients: usize) -> Self {
        Self(BTreeSet::from([Way {
            held: None,
            clients: vec![Stands::Idle; clients],
        }]))
    }

    /// A client begins its next operation.
    pub(super) fn begin(&mut self, client: usize) {
        let ways = std::mem::take(&mut self.0);
        self.0.extend(ways.into_iter().map(|mut way| {
            way.clients[client] = Stands::Begun;
            way
        }));
    }

    /// A client's operation ends with this answer. `ops` are the operations of all clients.
    /// Whether it can have.
    #[must_use]
    pub(super) fn end(&mut self, client: usize, answer: &Answer, ops: &[Option<Op>]) -> bool {
        let mut open: Vec<Way> = self.0.iter().cloned().collect();
        while let Some(way) = open.pop() {
            for (other, op) in ops.iter().enumerate() {
                let (Some(op), Stands::Begun) = (op, &way.clients[other]) else {
                    continue;
                };
                let mut next = way.clone();
                next.clients[other] = Stands::Effective(op.alone(&mut next.held));
                if self.0.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        let ended = Stands::Effective(answer.clone());
        let ways = std::mem::take(&mut self.0);
        self.0.extend(ways.into_iter().filter_map(|mut way| {
            (way.clients[client] == ended).then(|| {
                way.clients[client] = Stands::Idle;
                way
            })
        }));
        !self.0.is_empty()
    }
}
