//! A windowed counter, and which of it the fleet was told.
//!
//! What this Envoy counts is `pending` until the fleet is told, `told` while it is being told, and
//! in `fleet` when the fleet has answered with its own sums, this Envoy's part in them. The
//! counter's tally is the sum of the three. Without a fleet everything stays pending.

use fusewire_core::Window;

use super::group::Bytes;
use super::slices::{Name, Slices, Sums};

/// The most buckets that are told at once.
const TOLD_AT_ONCE: usize = 32;

/// One key's counter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counter {
    /// Whose counts these are.
    pub epoch: u64,
    /// Since when the policy last asked, and for which bucket.
    pub since: u64,
    /// See [`Counter::since`].
    pub bucket: u64,
    /// How long the policy last wanted it to live, in ms.
    pub ttl_ms: u64,
    /// The exchange by which `told` is on its way; zero: none is.
    pub exchange: u64,
    /// What the fleet has, this Envoy's part included.
    pub fleet: Slices,
    /// What the fleet was not told.
    pub pending: Slices,
    /// What the fleet is being told.
    pub told: Slices,
}

impl Counter {
    /// A counter without anything in it.
    #[must_use]
    pub fn of(epoch: u64) -> Self {
        Self {
            epoch,
            ..Self::default()
        }
    }

    /// Adds what a window adds, and drops what is before it.
    pub fn add(&mut self, window: &Window, lanes: &[(Name, u64)]) {
        for (name, amount) in lanes {
            self.pending.add(window.bucket, *name, *amount);
        }
        for slices in [&mut self.fleet, &mut self.pending, &mut self.told] {
            slices.drop_before(window.since);
        }
        self.since = window.since;
        self.bucket = window.bucket;
        self.ttl_ms = window.ttl_ms;
    }

    /// The sum of each lane from this moment on.
    #[must_use]
    pub fn sums(&self, since: u64) -> Sums {
        let mut sums = Sums::default();
        for slices in [&self.fleet, &self.pending, &self.told] {
            slices.sum_since(since, &mut sums);
        }
        sums
    }

    /// What was being told is pending again, after what became of that exchange is not known.
    pub fn untell(&mut self) {
        let told = std::mem::take(&mut self.told);
        self.pending.add_all(&told);
        self.exchange = 0;
    }

    /// What is pending is being told by this exchange from now on: its latest buckets, where it
    /// has more than one exchange takes.
    pub fn tell(&mut self, exchange: u64) {
        self.untell();
        if !self.pending.is_empty() {
            self.told = self.pending.take_latest(TOLD_AT_ONCE);
            self.exchange = exchange;
        }
    }

    /// Writes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = [&self.fleet, &self.pending, &self.told];
        let size = parts
            .iter()
            .fold(5 * 8, |sum, slices| slices.size().saturating_add(sum));
        let mut bytes = Vec::with_capacity(size);
        for number in [
            self.epoch,
            self.since,
            self.bucket,
            self.ttl_ms,
            self.exchange,
        ] {
            bytes.extend(number.to_le_bytes());
        }
        for slices in parts {
            slices.write(&mut bytes);
        }
        bytes
    }

    /// Reads it; `None` where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = Bytes(bytes);
        let counter = Self {
            epoch: at.u64()?,
            since: at.u64()?,
            bucket: at.u64()?,
            ttl_ms: at.u64()?,
            exchange: at.u64()?,
            fleet: Slices::read(&mut at)?,
            pending: Slices::read(&mut at)?,
            told: Slices::read(&mut at)?,
        };
        at.0.is_empty().then_some(counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_counter_that_was_written_is_read_back(
            numbers: [u64; 5], amounts in proptest::collection::vec((0..3usize, 0..40u64, 0..4usize, 0..=u64::MAX), 0..60),
        ) {
            let names = ["success", "failure", "slow", "a-16-byte-long-1"].map(|n| Name::new(n).unwrap());
            let [epoch, since, bucket, ttl_ms, exchange] = numbers;
            let mut counter = Counter { epoch, since, bucket, ttl_ms, exchange, ..Counter::default() };
            for (part, bucket, name, amount) in amounts {
                let parts = [&mut counter.fleet, &mut counter.pending, &mut counter.told];
                parts.into_iter().nth(part).unwrap().add(bucket, names[name], amount);
            }
            prop_assert_eq!(Counter::read(&counter.to_bytes()), Some(counter));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let _ = Counter::read(&bytes);
        }
    }
}
