//! The store on `wasi:keyvalue` 0.2.0-draft2, which can compare and swap.
//!
//! The host's handle remembers what was read, in its own way, and a swap with it fails where
//! anything came between. A removed value stays as an entry that says so: the interface can swap a
//! value for another, and not for nothing.

use super::bindings::wasi::keyvalue0_2_0_draft2::{atomics, store};
use crate::bucket::Failure;
use crate::register::Register;

/// Values that can be compared and swapped, in the host's bucket.
pub(super) struct Values(store::Bucket);

pub(super) fn values(bucket: store::Bucket) -> Values {
    Values(bucket)
}

impl Register for Values {
    type Seen = atomics::Cas;

    fn read(&self, key: &str) -> Result<(Option<Vec<u8>>, Self::Seen), Failure> {
        let seen = atomics::Cas::new(&self.0, key).map_err(super::failure)?;
        let held = seen.current().map_err(super::failure)?;
        Ok((held, seen))
    }

    fn replace(&self, _key: &str, seen: Self::Seen, value: &[u8]) -> Result<bool, Failure> {
        match atomics::swap(seen, value) {
            Ok(()) => Ok(true),
            Err(atomics::CasError::CasFailed(_)) => Ok(false),
            Err(atomics::CasError::StoreError(error)) => Err(super::failure(error)),
        }
    }
}
