//! The store on `wasi:keyvalue` 0.2.0-draft, which can increment.

use super::bindings::wasi::keyvalue0_2_0_draft::{atomics, store};
use super::bindings::wasi::random::random::get_random_u64;
use crate::bucket::{Bucket, Failure};
use crate::chain::Chain;

/// Values that can be compared and swapped, in the host's bucket.
pub(super) type Values = Chain<HostBucket>;

pub(super) fn values(bucket: store::Bucket) -> Values {
    Chain::new(HostBucket(bucket))
}

/// A bucket that the host has opened.
pub(super) struct HostBucket(store::Bucket);

impl Bucket for HostBucket {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.0.get(key).map_err(super::failure)
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), Failure> {
        self.0.set(key, value).map_err(super::failure)
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        self.0.delete(key).map_err(super::failure)
    }

    fn increment(&self, key: &str, by: u64) -> Result<u64, Failure> {
        atomics::increment(&self.0, key, by).map_err(super::failure)
    }

    fn random(&self) -> u64 {
        get_random_u64()
    }
}
