//! Pushes under way, so that one that broke off leaves nothing for good: its bytes are under keys
//! that nobody could guess.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::access::{FleetError, json, read_json, replace};
use super::keys::Keys;
use super::wanted::Named;
use crate::policy::Digest;
use crate::store::Store;

const SCHEMA: u32 = 1;
/// After this time a push has broken off, in ms: far longer than one takes.
const BROKEN_OFF_MS: u64 = 600_000;
/// How many are remembered.
const MOST: usize = 64;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pushing {
    schema: u32,
    pushes: Vec<Push>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Push {
    digest: Digest,
    chunks: u64,
    at_ms: u64,
}

/// Notes a push before the first of its bytes is written.
pub(super) async fn begin(
    store: &Arc<dyn Store>,
    keys: &Keys,
    named: &Named,
) -> Result<(), FleetError> {
    let push = Push {
        digest: named.digest,
        chunks: named.chunks,
        at_ms: store.now_ms(),
    };
    change(store, keys, |pushes| {
        pushes.retain(|other| other.digest != push.digest);
        pushes.insert(0, push.clone());
        pushes.truncate(MOST);
    })
    .await
}

/// Notes the end of a push. Answers those that broke off: what they are of, and in how many
/// pieces.
pub(super) async fn end(
    store: &Arc<dyn Store>,
    keys: &Keys,
    digest: Digest,
) -> Result<Vec<(Digest, u64)>, FleetError> {
    let mut broken_off = Vec::new();
    change(store, keys, |pushes| {
        let now_ms = store.now_ms();
        let is_over = |push: &Push| push.at_ms.saturating_add(BROKEN_OFF_MS) < now_ms;
        pushes.retain(|push| push.digest != digest);
        broken_off = pushes
            .iter()
            .filter(|push| is_over(push))
            .cloned()
            .collect();
        pushes.retain(|push| !is_over(push));
    })
    .await?;
    let broken_off = broken_off.into_iter();
    Ok(broken_off
        .map(|push: Push| (push.digest, push.chunks))
        .collect())
}

async fn change(
    store: &Arc<dyn Store>,
    keys: &Keys,
    mut make: impl FnMut(&mut Vec<Push>),
) -> Result<(), FleetError> {
    replace(store, &keys.pushing(), "note the push", |bytes| {
        // One that cannot be read is begun again: all that is lost is what it would have removed.
        let read = bytes.and_then(|bytes| read_json::<Pushing>(bytes, SCHEMA).ok());
        let mut pushes = read.map(|read| read.pushes).unwrap_or_default();
        make(&mut pushes);
        let schema = SCHEMA;
        let after = (!pushes.is_empty()).then(|| json(&Pushing { schema, pushes }));
        Ok((after.transpose()?, ()))
    })
    .await
}
