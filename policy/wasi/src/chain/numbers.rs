//! Buckets whose numbers end in different ways, and what is made of each.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Chain;
use crate::bucket::{Bucket, Failure};
use crate::register::Register;

/// What an increment past the largest number does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    /// It fails and changes nothing; the numbers have 64 bits.
    Fails,
    /// It fails and changes nothing; the numbers have 63 bits and a sign.
    FailsSigned,
    /// It begins at zero again.
    Wraps,
    /// It stays at the largest.
    Saturates,
    /// It fails and leaves the largest.
    FailsAtTheTop,
    /// There is no end: it fails always.
    NeverCounts,
}

struct Memory {
    past: Past,
    values: RefCell<BTreeMap<String, Vec<u8>>>,
    ids: Cell<u64>,
    steps: Cell<u32>,
}

impl Memory {
    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    fn put(&self, key: &str, value: &[u8]) {
        self.values.borrow_mut().insert(key.into(), value.to_vec());
    }
}

impl Bucket for &Memory {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.step();
        Ok(self.values.borrow().get(key).cloned())
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), Failure> {
        self.step();
        self.put(key, value);
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        self.step();
        self.values.borrow_mut().remove(key);
        Ok(())
    }

    fn increment(&self, key: &str, by: u64) -> Result<u64, Failure> {
        self.step();
        let held = self.values.borrow().get(key).cloned();
        let held = held.unwrap_or(b"0".to_vec());
        let held: u64 = std::str::from_utf8(&held).unwrap().parse().unwrap();
        let largest = match self.past {
            Past::FailsSigned => i64::MAX as u64,
            Past::NeverCounts => 0,
            _ => u64::MAX,
        };
        let fits = held.checked_add(by).filter(|sum| *sum <= largest);
        let (kept, answer) = match (fits, self.past) {
            (Some(sum), _) => (sum, Ok(sum)),
            (None, Past::Wraps) => (held.wrapping_add(by), Ok(held.wrapping_add(by))),
            (None, Past::Saturates) => (largest, Ok(largest)),
            (None, Past::FailsAtTheTop) => (largest, Err(Failure::Unavailable)),
            (None, _) => return Err(Failure::Unavailable),
        };
        self.put(key, kept.to_string().as_bytes());
        answer
    }

    fn random(&self) -> u64 {
        self.ids.set(self.ids.get() + 1);
        // All bits set but a few: ids have fewer, which the chain has to see to.
        u64::MAX - self.ids.get()
    }
}

fn memory(past: Past) -> Memory {
    Memory {
        past,
        values: RefCell::default(),
        ids: Cell::new(0),
        steps: Cell::new(0),
    }
}

#[test]
fn a_bucket_whose_numbers_fail_at_their_end_can_compare_and_swap() {
    for past in [Past::Fails, Past::FailsSigned] {
        let memory = memory(past);
        let (one, other) = (Chain::new(&memory), Chain::new(&memory));
        let (held, seen) = one.read("k").unwrap();
        assert_eq!(held, None);
        let (_, late) = other.read("k").unwrap();
        assert!(one.replace("k", seen, b"a").unwrap(), "{past:?}");
        assert!(!other.replace("k", late, b"b").unwrap(), "{past:?}");
        for value in [&b"c"[..], b"d", b"e"] {
            let (_, seen) = other.read("k").unwrap();
            let (_, late) = one.read("k").unwrap();
            assert!(other.replace("k", seen, value).unwrap(), "{past:?}");
            assert!(!one.replace("k", late, b"b").unwrap(), "{past:?}");
            assert_eq!(one.read("k").unwrap().0.as_deref(), Some(value), "{past:?}");
        }
        // Four versions and two losers on: one version with its places, and what was tried out.
        assert_eq!(memory.values.borrow().len(), 6, "{past:?}");
    }
}

#[test]
fn a_bucket_whose_numbers_end_in_another_way_is_refused_before_anything_is_written() {
    for past in [Past::Wraps, Past::Saturates, Past::FailsAtTheTop] {
        let memory = memory(past);
        let chain = Chain::new(&memory);
        let (_, seen) = chain.read("k").unwrap();
        let replaced = chain.replace("k", seen, b"a");
        assert!(
            matches!(&replaced, Err(Failure::Refused(why)) if why.contains("largest number")),
            "{past:?}: {replaced:?}"
        );
        assert!(memory.values.borrow().is_empty(), "{past:?}");
    }
}

#[test]
fn a_bucket_that_does_not_count_at_all_is_out_of_reach() {
    let memory = memory(Past::NeverCounts);
    let chain = Chain::new(&memory);
    let (_, seen) = chain.read("k").unwrap();
    assert_eq!(chain.replace("k", seen, b"a"), Err(Failure::Unavailable));
}

#[test]
fn a_bucket_that_has_lost_part_of_a_value_says_so_and_does_not_go_in_circles() {
    for lost in [".value", ".next", ".at."] {
        let memory = memory(Past::Fails);
        let chain = Chain::new(&memory);
        for value in [b"a", b"b"] {
            let (_, seen) = chain.read("k").unwrap();
            assert!(chain.replace("k", seen, value).unwrap());
        }
        memory
            .values
            .borrow_mut()
            .retain(|key, _| !key.contains(lost));
        let Err(Failure::Refused(why)) = chain.read("k").map(|(held, _)| held) else {
            panic!("without its `{lost}` a value is there");
        };
        assert!(why.contains("has lost"), "{why}");
    }
    // Where its beginning is lost all of it is, and another can be put there.
    let memory = memory(Past::Fails);
    let chain = Chain::new(&memory);
    for value in [b"a", b"b"] {
        let (held, seen) = chain.read("k").unwrap();
        assert_eq!(held, None);
        assert!(chain.replace("k", seen, value).unwrap());
        assert_eq!(chain.read("k").unwrap().0.as_deref(), Some(&value[..]));
        memory.values.borrow_mut().remove("k#first");
    }
}

/// As `README.md` says: each may be a round trip.
#[test]
fn a_value_is_read_in_five_steps_and_replaced_in_eight_more() {
    let memory = memory(Past::Fails);
    let chain = Chain::new(&memory);
    let taken = || memory.steps.replace(0);
    for value in [b"a", b"b"] {
        let (_, seen) = chain.read("k").unwrap();
        assert!(chain.replace("k", seen, value).unwrap());
    }
    taken();
    assert_eq!(chain.read("absent").unwrap().0, None);
    assert_eq!(taken(), 1);
    let (_, seen) = chain.read("k").unwrap();
    assert_eq!(taken(), 5);
    assert!(chain.replace("k", seen, b"c").unwrap());
    assert_eq!(taken(), 8);
}
