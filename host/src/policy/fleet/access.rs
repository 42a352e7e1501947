//! Reading records, replacing them, and what can go wrong with that.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::plain::plain;
use crate::policy::Digest;
use crate::store::{Store, StoreError, VALUE_MAX_BYTES};

/// How often a record is read anew and tried again that others replace at the same time. Each try
/// is lost to one that was won, so that a fleet of hosts settles in a few.
const TRIES: usize = 32;

/// Why something that an operator wants of the fleet cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// The store does not do its part; what was tried.
    #[error("cannot {0}: {1}")]
    Store(&'static str, StoreError),
    /// Nothing is wanted.
    #[error("no policy was ever pushed to this fleet: `fusewire policy push FILE` does")]
    NothingPushed,
    /// A record of the fleet cannot be used.
    #[error("what the fleet is to run cannot be read: {0}")]
    Unreadable(#[from] Unreadable),
    /// There is nothing to go back to.
    #[error("{0}")]
    NothingBefore(String),
    /// The policy cannot be pushed.
    #[error("{0}")]
    Unfit(String),
    /// Others replace the record all the time.
    #[error("others change what the fleet is to run at the same time: try again")]
    Contended,
    /// The bytes of a policy are not in the store.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// Why a record cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is of a newer schema.
    #[error("it is of schema {0}, and this fusewire knows schema {known}: update it", known = super::wanted::SCHEMA)]
    Newer(u64),
    /// It is no such record.
    #[error("it is damaged ({0}): push a policy again")]
    Damaged(String),
}

/// Why the bytes of a policy cannot be had from the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A piece is not there.
    #[error("chunk {at} of {of} is not in the store: push it again")]
    Chunk {
        /// Which, counted from one.
        at: u64,
        /// Of how many.
        of: u64,
    },
    /// The bytes are others than those that were named.
    #[error("the bytes in the store are not those of {digest}: push it again", digest = .0.short())]
    Altered(Digest),
    /// What is named cannot be: more bytes than a policy may have, or in other pieces.
    #[error("{0}")]
    Impossible(String),
    /// The store does not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A record as JSON, where a store takes it.
pub(super) fn json(record: &impl Serialize) -> Result<Vec<u8>, FleetError> {
    let bytes = serde_json::to_vec(record)
        .map_err(|error| FleetError::Unfit(format!("the record cannot be written: {error}")))?;
    if bytes.len() > VALUE_MAX_BYTES {
        let long = bytes.len();
        return Err(FleetError::Unfit(format!(
            "the record would have {long} bytes, and a store takes {VALUE_MAX_BYTES}"
        )));
    }
    Ok(bytes)
}

/// Reads a record of at most this schema.
pub(super) fn read_json<T: DeserializeOwned>(bytes: &[u8], schema: u32) -> Result<T, Unreadable> {
    /// What every record has, whatever its schema.
    #[derive(serde::Deserialize)]
    struct Head {
        schema: u64,
    }
    if bytes.len() > VALUE_MAX_BYTES {
        let long = bytes.len();
        return Err(Unreadable::Damaged(format!("it has {long} bytes")));
    }
    let damaged = |error: serde_json::Error| Unreadable::Damaged(plain(&error.to_string(), 120));
    let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
    if head.schema > u64::from(schema) {
        return Err(Unreadable::Newer(head.schema));
    }
    serde_json::from_slice(bytes).map_err(damaged)
}

/// Reads one value.
pub(super) async fn get(
    store: &Arc<dyn Store>,
    key: String,
) -> Result<Option<Vec<u8>>, StoreError> {
    let values = store.get(vec![key]).wait().await?;
    Ok(values.into_iter().next().flatten())
}

/// Reads reports of hosts, a few in one round trip: a store within a short time limit answers for
/// these, and not for a whole fleet's.
pub(super) async fn get_all(
    store: &Arc<dyn Store>,
    keys: Vec<String>,
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    /// A report has a few KiB.
    const AT_ONCE: usize = 32;
    let mut values = Vec::with_capacity(keys.len());
    for keys in keys.chunks(AT_ONCE) {
        values.extend(store.get(keys.to_vec()).wait().await?);
    }
    Ok(values)
}

/// Replaces a value by what is made of it, and makes it anew where somebody else was faster.
/// `make` answers the new value, and what the caller gets; a new value that is the old one is not
/// written.
pub(super) async fn replace<T>(
    store: &Arc<dyn Store>,
    key: &str,
    what: &'static str,
    mut make: impl FnMut(Option<&[u8]>) -> Result<(Option<Vec<u8>>, T), FleetError>,
) -> Result<T, FleetError> {
    let told = |error| FleetError::Store(what, error);
    for _ in 0..TRIES {
        let before = get(store, key.to_owned()).await.map_err(told)?;
        let (after, answer) = make(before.as_deref())?;
        if after == before {
            return Ok(answer);
        }
        let swapped = store.swap(key.to_owned(), before, after, 0).wait().await;
        if swapped.map_err(told)? {
            return Ok(answer);
        }
    }
    Err(FleetError::Contended)
}
