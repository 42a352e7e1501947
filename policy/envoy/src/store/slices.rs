//! Amounts by bucket and lane.

use fusewire_core::Lane;

use super::group::Bytes;

/// The largest amount that a lane can hold (`wit/keyvalue.wit`).
pub const AMOUNT_MAX: u64 = (1 << 53) - 1;

/// The longest name of a lane, in bytes (`wit/keyvalue.wit`).
const NAME_MAX_BYTES: usize = 16;

/// A lane's name, without a place in memory of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    // Zeros after the name, which no name has in it: so the order of the arrays is that of the
    // names.
    bytes: [u8; NAME_MAX_BYTES],
}

impl Name {
    /// Reads a name: 1 to 16 bytes of a-z, `-` and digits.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        Self::of(name.as_bytes())
    }

    fn of(name: &[u8]) -> Option<Self> {
        let is_one = !name.is_empty()
            && name
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-');
        let mut bytes = [0; NAME_MAX_BYTES];
        bytes
            .get_mut(..name.len())
            .filter(|_| is_one)?
            .copy_from_slice(name);
        Some(Self { bytes })
    }

    /// The name as text.
    #[must_use]
    pub fn text(&self) -> String {
        self.used().iter().map(|b| char::from(*b)).collect()
    }

    fn used(&self) -> &[u8] {
        let end = self
            .bytes
            .iter()
            .position(|b| *b == 0)
            .unwrap_or(NAME_MAX_BYTES);
        self.bytes.get(..end).unwrap_or_default()
    }
}

/// Sums by lane, in order of the names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums(Vec<(Name, u64)>);

impl Sums {
    /// Adds to a lane, at most up to [`AMOUNT_MAX`].
    pub fn add(&mut self, name: Name, amount: u64) {
        // Few lanes, so that looking at each is the fastest way.
        let at = self.0.iter().position(|(held, _)| *held >= name);
        match at.and_then(|at| self.0.get_mut(at)) {
            Some((held, sum)) if *held == name => {
                *sum = sum.saturating_add(amount).min(AMOUNT_MAX);
            }
            _ => {
                let at = at.unwrap_or(self.0.len());
                self.0.insert(at, (name, amount.min(AMOUNT_MAX)));
            }
        }
    }

    /// As the policy wants them.
    #[must_use]
    pub fn into_lanes(self) -> Vec<Lane> {
        let lane = |(name, amount): (Name, u64)| Lane {
            name: name.text(),
            amount,
        };
        self.0.into_iter().map(lane).collect()
    }
}

/// Amounts by bucket and lane.
///
/// One flat list in order of buckets and names, written as it is: a counter is read and written
/// for each outcome, so it must cost no more than copying its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slices(Vec<Row>);

/// An amount of a bucket and lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    bucket: u64,
    name: Name,
    amount: u64,
}

impl Row {
    const BYTES: usize = 8 + NAME_MAX_BYTES + 8;

    fn place(&self) -> (u64, Name) {
        (self.bucket, self.name)
    }
}

impl Slices {
    /// Adds to a lane of a bucket, at most up to [`AMOUNT_MAX`].
    pub fn add(&mut self, bucket: u64, name: Name, amount: u64) {
        if amount == 0 {
            return;
        }
        let row = Row {
            bucket,
            name,
            amount: amount.min(AMOUNT_MAX),
        };
        match self.0.binary_search_by_key(&row.place(), Row::place) {
            Ok(at) => {
                if let Some(held) = self.0.get_mut(at) {
                    held.amount = held.amount.saturating_add(amount).min(AMOUNT_MAX);
                }
            }
            Err(at) => self.0.insert(at, row),
        }
    }

    /// Adds all of another.
    pub fn add_all(&mut self, other: &Self) {
        for row in &other.0 {
            self.add(row.bucket, row.name, row.amount);
        }
    }

    /// Drops the buckets before this moment.
    pub fn drop_before(&mut self, since: u64) {
        self.0.retain(|row| row.bucket >= since);
    }

    /// Takes the latest buckets out, at most so many.
    #[must_use]
    pub fn take_latest(&mut self, count: usize) -> Self {
        let mut buckets: Vec<u64> = self.0.iter().map(|row| row.bucket).collect();
        buckets.dedup();
        let Some(first) = buckets.iter().rev().take(count).next_back() else {
            return Self::default();
        };
        let at = self.0.partition_point(|row| row.bucket < *first);
        Self(self.0.split_off(at))
    }

    /// Adds the sums of the buckets from this moment on.
    pub fn sum_since(&self, since: u64, into: &mut Sums) {
        for row in self.0.iter().filter(|row| row.bucket >= since) {
            into.add(row.name, row.amount);
        }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each amount with its bucket and lane.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Name, u64)> + '_ {
        self.0.iter().map(|row| (row.bucket, row.name, row.amount))
    }

    /// How many bytes it is written in.
    pub(super) fn size(&self) -> usize {
        self.0.len().saturating_mul(Row::BYTES).saturating_add(4)
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(
            u32::try_from(self.0.len())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        );
        for row in &self.0 {
            bytes.extend(row.bucket.to_le_bytes());
            bytes.extend(row.name.bytes);
            bytes.extend(row.amount.to_le_bytes());
        }
    }

    pub(super) fn read(at: &mut Bytes<'_>) -> Option<Self> {
        let count = usize::try_from(u32::from_le_bytes(at.array()?)).ok()?;
        let bytes = at.take(count.checked_mul(Row::BYTES)?)?;
        let mut rows: Vec<Row> = Vec::with_capacity(count.saturating_add(2));
        for row in bytes.chunks_exact(Row::BYTES) {
            let mut at = Bytes(row);
            let row = Row {
                bucket: at.u64()?,
                name: Name { bytes: at.array()? },
                amount: at.u64()?.min(AMOUNT_MAX),
            };
            if rows
                .last()
                .is_some_and(|before| before.place() >= row.place())
            {
                return None;
            }
            rows.push(row);
        }
        Some(Self(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lanes_name_has_1_to_16_bytes_of_letters_digits_and_hyphens() {
        for name in ["a", "z9-", "abcdefghijklmnop"] {
            assert_eq!(Name::new(name).unwrap().text(), name);
        }
        for name in ["", "A", "a b", "ü", "abcdefghijklmnopq", "a\0"] {
            assert_eq!(Name::new(name), None, "{name:?}");
        }
    }

    #[test]
    fn lanes_come_in_the_order_of_their_names() {
        let mut sums = Sums::default();
        for name in ["slow", "a-1", "a", "z9", "success"] {
            sums.add(Name::new(name).unwrap(), 1);
        }
        let names: Vec<String> = sums.into_lanes().into_iter().map(|l| l.name).collect();
        assert_eq!(names, ["a", "a-1", "slow", "success", "z9"]);
    }
}
