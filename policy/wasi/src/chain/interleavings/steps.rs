//! The bucket as a model, and an operation played up to its next step.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fusewire_core::store::StoreError;

use super::monitor::{Answer, Op};
use crate::bucket::{Bucket, Failure};
use crate::chain::{Chain, TOPS};
use crate::keyvalue::KeyValue;

/// One step on a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Get(String),
    Set(String, Vec<u8>),
    Delete(String),
    Increment(String, u64),
}

/// What a step was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    Held(Option<Vec<u8>>),
    Done,
    Sum(u64),
    Failed,
}

/// What a bucket holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Contents(pub(super) BTreeMap<String, Vec<u8>>);

impl Contents {
    pub(super) fn take(&mut self, step: &Step) -> Reply {
        match step {
            Step::Get(key) => Reply::Held(self.0.get(key).cloned()),
            Step::Set(key, value) => {
                self.0.insert(key.clone(), value.clone());
                Reply::Done
            }
            Step::Delete(key) => {
                self.0.remove(key);
                Reply::Done
            }
            Step::Increment(key, by) => {
                let held = self.0.get(key).map_or("0", |held| text(held));
                match held
                    .parse::<u64>()
                    .ok()
                    .and_then(|held| held.checked_add(*by))
                {
                    Some(sum) => {
                        self.0.insert(key.clone(), sum.to_string().into_bytes());
                        Reply::Sum(sum)
                    }
                    None => Reply::Failed,
                }
            }
        }
    }
}

fn text(held: &[u8]) -> &str {
    std::str::from_utf8(held).expect("numbers are text")
}

/// How far an operation comes.
pub(super) enum Played {
    /// It needs this step to be taken.
    Wants(Step),
    Over(Result<Answer, StoreError>),
}

/// Plays an operation with the replies that it has had. `salt` makes its ids its own.
pub(super) fn play(op: &Op, salt: u64, replies: &[Reply]) -> Played {
    let wanted = RefCell::new(None);
    let tape = Tape {
        replies,
        at: Cell::new(0),
        wanted: &wanted,
        salt: Cell::new(salt),
    };
    let chain = Chain {
        bucket: tape,
        top: Cell::new(Some(TOPS[0])),
    };
    let store = KeyValue::new(chain, || 0);
    let played = catch_unwind(AssertUnwindSafe(|| op.perform(&store)));
    match (played, wanted.take()) {
        (Ok(answer), None) => Played::Over(answer),
        (Err(_), Some(step)) => Played::Wants(step),
        (Err(panic), None) => resume_unwind(panic),
        (Ok(answer), Some(step)) => panic!("{answer:?}, and {step:?} was wanted"),
    }
}

/// A bucket that answers from a tape, and stops the operation at its end.
struct Tape<'a> {
    replies: &'a [Reply],
    at: Cell<usize>,
    wanted: &'a RefCell<Option<Step>>,
    salt: Cell<u64>,
}

impl Tape<'_> {
    fn take(&self, step: impl FnOnce() -> Step) -> Result<Reply, Failure> {
        let at = self.at.get();
        self.at.set(at + 1);
        match self.replies.get(at) {
            Some(Reply::Failed) => Err(Failure::Unavailable),
            Some(reply) => Ok(reply.clone()),
            None => {
                *self.wanted.borrow_mut() = Some(step());
                // Not a panic, which would be told.
                resume_unwind(Box::new(()))
            }
        }
    }
}

impl Bucket for Tape<'_> {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        match self.take(|| Step::Get(key.to_owned()))? {
            Reply::Held(held) => Ok(held),
            other => panic!("{other:?} to a get"),
        }
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), Failure> {
        self.take(|| Step::Set(key.to_owned(), value.to_vec()))
            .map(drop)
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        self.take(|| Step::Delete(key.to_owned())).map(drop)
    }

    fn increment(&self, key: &str, by: u64) -> Result<u64, Failure> {
        match self.take(|| Step::Increment(key.to_owned(), by))? {
            Reply::Sum(sum) => Ok(sum),
            other => panic!("{other:?} to an increment"),
        }
    }

    fn random(&self) -> u64 {
        let salt = self.salt.get();
        self.salt.set(salt + 1);
        salt
    }
}
