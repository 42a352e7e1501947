//! One value under each key, which is replaced only where it still is what was read.

use crate::bucket::Failure;

/// Values that can be compared and swapped.
pub trait Register {
    /// What a read remembers, so that a replacement can tell whether anything came between.
    type Seen;

    /// Reads the value under a key; `None` where there never was one.
    ///
    /// # Errors
    /// See [`Failure`].
    fn read(&self, key: &str) -> Result<(Option<Vec<u8>>, Self::Seen), Failure>;

    /// Replaces the value that was read, and answers whether it did: not where any other
    /// replacement came between.
    ///
    /// # Errors
    /// See [`Failure`].
    fn replace(&self, key: &str, seen: Self::Seen, value: &[u8]) -> Result<bool, Failure>;
}
