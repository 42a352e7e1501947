//! Compare and swap, from a bucket that can only increment.
//!
//! # The difficulty
//!
//! Reading, writing and adding are not enough to have several clients agree on one of them, when
//! any of them may stop at any moment: increments that always succeed have the consensus number two
//! (Herlihy, *Wait-free synchronization*, 1991). The first of many to increment a counter learns
//! that it was the first; the others learn only that somebody was, and where that one dies before it
//! has said who it is, they can do nothing but wait for a time and hope. So a compare and swap made
//! of such increments has to believe in clocks.
//!
//! # The way out
//!
//! An increment that would pass the largest number *fails and changes nothing*. So whoever adds more
//! than half of the largest number to nothing is the first, nobody after it can add as much again,
//! **and the number that stays says who it was**. Such a number is decided once, by one client, in
//! one step, and read by all. That is consensus among any number of clients, without a clock.
//!
//! `wasi:keyvalue` does not promise it. So it is tried out, once a bucket, before anything is
//! written ([`Chain`]); a bucket that adds otherwise is refused.
//!
//! # The construction
//!
//! The value under a key is a chain of versions. Each has an id of 61 random bits, a value which
//! never changes, and a number which decides the id of the version after it. The keys in the bucket,
//! for a key `k`, with ids in hexadecimal:
//!
//! | key | what it holds | written by |
//! |---|---|---|
//! | `k#first` | the decision on the first version | increment |
//! | `k#<id>.value` | a version's value | its author, before it proposes it |
//! | `k#<id>.next` | 1; later the decision on its successor | its author, likewise; then increment |
//! | `k#<first>.count` | how many versions were announced | increment by one |
//! | `k#<first>.at.<n>` | the id of version n | those that announce n or a later version |
//!
//! *To read*: from `first` (absent: there is no value), or from version `count` where there is a
//! count, follow `next` until it is still 1. That version is the present one.
//!
//! *To replace*: write a version of one's own, and increment the `next` of the version that was read
//! (or `first`) by the decision for it. Where that answers the decision plus 1, the value was
//! replaced. Where it answers the decision alone, the version that was read is long gone (4), and the
//! number is removed again. Where it fails, what is there now says who won. In both of the latter
//! cases one's own version is removed, and nobody has ever seen it.
//!
//! *Afterwards*, to keep it short, and not necessary for anything: write `at` for the versions up to
//! one's own, increment `count`, and where that is n now, remove version n - 1.
//!
//! # Why it is right
//!
//! 1. *A decision is final.* `next` is 1 or, plus 1, one decision; two decisions do not fit.
//! 2. *What is decided is readable.* A version's value and `next` are there before it is proposed,
//!    so there is nothing to wait for where its author died.
//! 3. *Versions are one chain*, since each has at most one successor and nobody proposes a version
//!    twice. A swap takes effect when it is decided; a read, or a swap that finds another value than
//!    it expects, when it finds `next` to be 1: at that moment that version is the present one.
//! 4. *Nobody mistakes what was removed for what is undecided.* `next` begins as 1, so an increment
//!    of a `next` that was removed answers an even number, and nothing was replaced. `first` has no
//!    such mark, and is never removed.
//! 5. *A failure of the bucket itself is told from a lost vote.* Where an increment fails and the
//!    number is still 1, the bucket has failed, and whether the value was replaced is not known.
//!    Where the version that was read is gone by then, others have come after whoever won; so either
//!    one's own `next` is gone or decided, and one has won, or it is 1, and one has lost.
//! 6. *`count` is never ahead.* It is incremented once a version at most, and the versions are
//!    distinct, so the newest that was announced is `count` or later; and whoever announced it wrote
//!    `at` from the count it had read up to itself. So `at.<count>` was written, and is removed by
//!    the one client that brings `count` to the number after it.
//! 7. *What is removed was left behind.* Version n is removed when `count` is above n. Who began to
//!    read before that finds something missing, and begins again, from the new count. It does so as
//!    often as others announce, and no more: where `count` is the same as before, the bucket has lost
//!    something, and says so.
//!
//! So it is linearisable, and lock-free: a client begins again only where another has succeeded. A
//! client that dies at any step costs nobody a wait. What it can leave behind is its own version,
//! the one that it should have removed, or a count that stays one behind, which is one step more
//! for each reader. The tests of this crate try all interleavings of up to three clients, with
//! deaths at every step.

#[cfg(test)]
mod interleavings;
mod keys;
#[cfg(test)]
mod numbers;

use std::cell::Cell;

use self::keys::{at, count, first, next, value};
use crate::bucket::{Bucket, Failure};
use crate::register::Register;

/// The largest number that is not a decision.
const UNDECIDED_MAX: u64 = (1 << 62) - 1;
/// What marks a number as one that has not been removed.
const PRESENT: u64 = 1;
/// How many versions a count may be behind. Each client that died in one certain step makes it one
/// more, so this is no chain of ours: somebody else's writing may lead round in a circle.
const BEHIND_MAX: usize = 1_000;
/// The bits that decisions of whole buckets may have; the first for numbers of 64 bits, the second
/// for numbers of 63 bits and a sign.
const TOPS: [u32; 2] = [63, 62];
/// Where a bucket says which of them is its own. No key of a policy is empty, so none is before this
/// `#`.
const CHECKED: &str = "#checked";

/// Compare and swap on a bucket. See the [module](self).
pub struct Chain<B> {
    bucket: B,
    /// The bit that makes a number a decision here; none: not known yet.
    top: Cell<Option<u32>>,
}

/// What was read: where in the chain a successor goes.
pub struct Seen(Option<Place>);

/// A version, and how it was found.
struct Place {
    /// The id of the first version, which names the chain.
    first: u64,
    /// The count when it was read.
    announced: u64,
    /// The number of the first of `ids`.
    from: u64,
    /// The ids on the way, the version's own the last.
    ids: Vec<u64>,
}

/// What became of a proposal.
enum Vote {
    Won,
    Lost,
}

impl<B: Bucket> Chain<B> {
    /// Values in this bucket.
    pub fn new(bucket: B) -> Self {
        Self {
            bucket,
            top: Cell::new(None),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        self.bucket
            .get(key)?
            .map(|held| parse(key, &held))
            .transpose()
    }

    /// The present version, from this beginning; none where something on the way was removed.
    fn walk(&self, key: &str, first: u64, announced: u64) -> Result<Option<Place>, Failure> {
        let mut id = first;
        if announced > 0 {
            match self.number(&at(key, first, announced))? {
                Some(found) => id = found,
                None => return Ok(None),
            }
        }
        let mut ids = vec![id];
        while ids.len() < BEHIND_MAX {
            match self.number(&next(key, id))? {
                Some(PRESENT) => {
                    let from = announced.max(1);
                    return Ok(Some(Place {
                        first,
                        announced,
                        from,
                        ids,
                    }));
                }
                Some(number) if number > UNDECIDED_MAX && is_present(number) => {
                    id = decided(number);
                    ids.push(id);
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Votes for a version, as the successor of another or as the first one.
    fn vote(&self, key: &str, before: Option<u64>, bid: u64) -> Result<Vote, Failure> {
        let (ballot, mark) = match before {
            Some(before) => (next(key, before), PRESENT),
            None => (first(key), 0),
        };
        let won = bid.saturating_add(mark);
        let failure = match self.bucket.increment(&ballot, bid) {
            Ok(number) if number == won => return Ok(Vote::Won),
            Ok(number) if number == bid => {
                // What was removed is not to come back.
                self.bucket.delete(&ballot)?;
                return Ok(Vote::Lost);
            }
            Ok(number) => {
                return Err(Failure::Refused(format!(
                    "{ballot:?} became {number} by adding {bid} to it: somebody else writes there"
                )));
            }
            Err(failure) => failure,
        };
        // Another was first, or the bucket has failed, and then it may have added or not.
        match (self.number(&ballot)?, before) {
            (Some(number), _) if number == won => Ok(Vote::Won),
            (Some(number), None) if number > UNDECIDED_MAX => Ok(Vote::Lost),
            (Some(number), _) if number > UNDECIDED_MAX && is_present(number) => Ok(Vote::Lost),
            (Some(PRESENT), _) | (_, None) => Err(failure),
            // The version before is gone, so others came after whoever won: after this version, or
            // this version has not won.
            _ => match self.number(&next(key, decided(bid)))? {
                Some(PRESENT) => Ok(Vote::Lost),
                _ => Ok(Vote::Won),
            },
        }
    }

    /// Tells readers that they can begin at this version, and removes the one before that is not
    /// needed any more.
    fn announce(&self, key: &str, place: &Place) -> Result<(), Failure> {
        let Place {
            first,
            announced,
            from,
            ref ids,
        } = *place;
        let unannounced = || (from..).zip(ids).filter(|(number, _)| *number > announced);
        for (number, id) in unannounced() {
            self.bucket
                .set(&at(key, first, number), id.to_string().as_bytes())?;
        }
        let count = self.bucket.increment(&count(key, first), 1)?;
        let left = count.saturating_sub(1);
        // Where others were faster, they have left these behind already, and removed them.
        for (number, _) in unannounced().filter(|(number, _)| *number < left) {
            self.bucket.delete(&at(key, first, number))?;
        }
        if left == 0 {
            return Ok(());
        }
        let known = (from..).zip(ids).find(|(number, _)| *number == left);
        let id = match known {
            Some((_, id)) => Some(*id),
            None => self.number(&at(key, first, left))?,
        };
        if let Some(id) = id {
            self.forget(key, id)?;
        }
        self.bucket.delete(&at(key, first, left))
    }

    /// Removes a version.
    fn forget(&self, key: &str, id: u64) -> Result<(), Failure> {
        self.bucket.delete(&value(key, id))?;
        self.bucket.delete(&next(key, id))
    }

    /// The bit that makes a number a decision in this bucket, which is found out where nobody has
    /// yet.
    fn top(&self) -> Result<u32, Failure> {
        if let Some(top) = self.top.get() {
            return Ok(top);
        }
        let known = self.number(CHECKED)?;
        let known = known.and_then(|top| TOPS.into_iter().find(|t| u64::from(*t) == top));
        let top = match known {
            Some(top) => top,
            None => {
                let top = self.try_out()?;
                self.bucket.set(CHECKED, top.to_string().as_bytes())?;
                top
            }
        };
        self.top.set(Some(top));
        Ok(top)
    }

    /// Tries out what happens at the end of this bucket's numbers.
    fn try_out(&self) -> Result<u32, Failure> {
        let key = format!("#check.{:x}", self.bucket.random());
        // First that it counts at all: what fails after this fails for its size.
        let mut keeps = self.bucket.increment(&key, 1)? == 1;
        self.bucket.delete(&key)?;
        for top in TOPS {
            let bid = (1 << top) | PRESENT;
            let first = self.bucket.increment(&key, bid);
            let second = self.bucket.increment(&key, bid);
            let held = self.bucket.get(&key)?;
            self.bucket.delete(&key)?;
            keeps = keeps && self.bucket.get(&key)?.is_none();
            if keeps
                && first == Ok(bid)
                && second.is_err()
                && held.as_deref() == Some(bid.to_string().as_bytes())
            {
                return Ok(top);
            }
        }
        Err(Failure::Refused(
            "this wasi:keyvalue does not leave a number as it is where an increment would pass the \
             largest number, and without that no value can be compared and swapped on it; one that \
             can, by an interface of its own (0.2.0-draft2), is what the other adapter is for"
                .into(),
        ))
    }
}

impl<B: Bucket> Register for Chain<B> {
    type Seen = Seen;

    fn read(&self, key: &str) -> Result<(Option<Vec<u8>>, Seen), Failure> {
        let mut before = None;
        loop {
            let Some(number) = self.number(&first(key))? else {
                return Ok((None, Seen(None)));
            };
            let first = decided(number);
            let announced = self.number(&count(key, first))?.unwrap_or(0);
            if before == Some((first, announced)) {
                return Err(Failure::Refused(format!(
                    "the bucket has lost some of what was under {key:?}: remove all keys that begin \
                     with {:?}",
                    format!("{key}#")
                )));
            }
            before = Some((first, announced));
            let Some(place) = self.walk(key, first, announced)? else {
                continue;
            };
            let id = place.ids.last().copied().unwrap_or(first);
            if let Some(held) = self.bucket.get(&value(key, id))? {
                return Ok((Some(held), Seen(Some(place))));
            }
        }
    }

    fn replace(&self, key: &str, seen: Seen, new: &[u8]) -> Result<bool, Failure> {
        let top = self.top()?;
        let id = self.bucket.random() & (UNDECIDED_MAX >> 1);
        let bid = (1 << top) | (id << 1);
        let before = seen.0.as_ref().and_then(|place| place.ids.last()).copied();
        self.bucket.set(&value(key, id), new)?;
        self.bucket
            .set(&next(key, id), PRESENT.to_string().as_bytes())?;
        if matches!(self.vote(key, before, bid)?, Vote::Won) {
            let place = match seen.0 {
                Some(mut place) => {
                    place.ids.push(id);
                    place
                }
                None => Place {
                    first: id,
                    announced: 0,
                    from: 1,
                    ids: vec![id],
                },
            };
            // The value is replaced whether or not the others are told a shorter way to it.
            let _ = self.announce(key, &place);
            return Ok(true);
        }
        self.forget(key, id)?;
        Ok(false)
    }
}

/// Whether the `next` with this number was never removed.
fn is_present(number: u64) -> bool {
    number & PRESENT == PRESENT
}

/// The id that a decision is for.
fn decided(number: u64) -> u64 {
    (number & UNDECIDED_MAX) >> 1
}

fn parse(key: &str, held: &[u8]) -> Result<u64, Failure> {
    let text = std::str::from_utf8(held).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        Failure::Refused(format!(
            "{key:?} holds no number: somebody else writes there"
        ))
    })
}
