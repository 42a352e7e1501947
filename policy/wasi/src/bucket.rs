//! What the construction asks of a bucket of `wasi:keyvalue`: single steps, each atomic.

/// Why a bucket did not do its part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It could not be reached, or failed. Whether the step took effect is not known.
    Unavailable,
    /// It will not, or cannot be used: for the operator.
    Refused(String),
}

/// A bucket. Each step takes effect at once, between its call and its answer, and is seen by every
/// later step of any client.
pub trait Bucket {
    /// Reads a value.
    ///
    /// # Errors
    /// See [`Failure`].
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure>;

    /// Writes a value over whatever is there.
    ///
    /// # Errors
    /// See [`Failure`].
    fn set(&self, key: &str, value: &[u8]) -> Result<(), Failure>;

    /// Removes a value, where there is one.
    ///
    /// # Errors
    /// See [`Failure`].
    fn delete(&self, key: &str) -> Result<(), Failure>;

    /// Adds to a number, an absent one being zero, and answers the sum.
    ///
    /// # Errors
    /// See [`Failure`]; also where the sum would be larger than the bucket's numbers can be. The
    /// number then stays as it is.
    fn increment(&self, key: &str, by: u64) -> Result<u64, Failure>;

    /// 64 fresh random bits.
    fn random(&self) -> u64;
}
