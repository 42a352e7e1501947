//! The bytes of a policy, in pieces that a store takes.

use std::sync::Arc;

use super::access::{Missing, get};
use super::keys::Keys;
use super::wanted::Named;
use crate::policy::{Artefact, Digest};
use crate::store::{Store, StoreError};

/// The bytes of one piece: below what a store takes, so that a store that keeps something along
/// with a value takes it as well.
pub(super) const CHUNK_BYTES: usize = 48 << 10;

/// Where hosts say that such a policy came from.
pub(super) const ORIGIN: &str = "the fleet's store";

/// In how many pieces so many bytes are.
pub(super) fn count(size: u64) -> u64 {
    size.div_ceil(CHUNK_BYTES as u64)
}

/// Writes all pieces of these bytes. `written` is told of each: which, counted from one. One that
/// is there already is left; one that is there with other bytes is put right.
pub(super) async fn write(
    store: &Arc<dyn Store>,
    keys: &Keys,
    artefact: &Artefact,
    mut written: impl FnMut(u64),
) -> Result<(), StoreError> {
    for (at, chunk) in (0..).zip(artefact.bytes().chunks(CHUNK_BYTES)) {
        let key = keys.chunk(artefact.digest(), at);
        // Until it is there: another push of the same bytes may be faster.
        loop {
            let before = get(store, key.clone()).await?;
            if before.as_deref() == Some(chunk) {
                break;
            }
            let swapped = store.swap(key.clone(), before, Some(chunk.to_vec()), 0);
            if swapped.wait().await? {
                break;
            }
        }
        written(at + 1);
    }
    Ok(())
}

/// Reads the bytes of a policy, one piece at a time: a store within a short time limit answers for
/// one. They are those that were named, or this is an error. At most `largest` bytes are read.
pub(super) async fn fetch(
    store: &Arc<dyn Store>,
    keys: &Keys,
    named: &Named,
    largest: usize,
) -> Result<Artefact, Missing> {
    let too_large = || {
        let size = named.size;
        Missing::Impossible(format!(
            "it has {size} bytes, and this host takes {largest} at most"
        ))
    };
    let size = usize::try_from(named.size).map_err(|_| too_large())?;
    if size > largest {
        return Err(too_large());
    }
    if named.chunks != count(named.size) {
        let (chunks, right) = (named.chunks, count(named.size));
        return Err(Missing::Impossible(format!(
            "it is said to be in {chunks} chunks, and {size} bytes are in {right}: push it again"
        )));
    }
    let mut bytes = Vec::with_capacity(size);
    for at in 0..named.chunks {
        let Some(chunk) = get(store, keys.chunk(named.digest, at)).await? else {
            let (at, of) = (at.saturating_add(1), named.chunks);
            return Err(Missing::Chunk { at, of });
        };
        if bytes.len().saturating_add(chunk.len()) > size {
            return Err(Missing::Altered(named.digest));
        }
        bytes.extend_from_slice(&chunk);
    }
    let artefact = Artefact::new(bytes, named.signature.clone(), ORIGIN);
    if artefact.digest() != named.digest {
        return Err(Missing::Altered(named.digest));
    }
    Ok(artefact)
}

/// Removes all pieces of a policy.
pub(super) async fn remove(
    store: &Arc<dyn Store>,
    keys: &Keys,
    digest: Digest,
    chunks: u64,
) -> Result<(), StoreError> {
    /// A record may say any number; no policy has more pieces than 16 MiB are in, four times over.
    const MOST: u64 = 2_048;
    for at in 0..chunks.min(MOST) {
        let key = keys.chunk(digest, at);
        let before = get(store, key.clone()).await?;
        if before.is_some() {
            // Whoever replaced it meanwhile is pushing the very same bytes, and wants them.
            store.swap(key, before, None, 0).wait().await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn named(artefact: &Artefact) -> Named {
        let size = artefact.bytes().len() as u64;
        Named {
            digest: artefact.digest(),
            size,
            chunks: count(size),
            name: String::new(),
            version: String::new(),
            signature: artefact.signature().map(str::to_owned),
            withdrawn: false,
        }
    }

    /// Bytes in three pieces, the last of them short, in a store.
    async fn stored() -> (Arc<dyn Store>, Keys, Artefact) {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 2 + 17)
            .map(|at| (at % 251) as u8)
            .collect();
        let artefact = Artefact::new(bytes, Some("signature".into()), "a test");
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let keys = Keys::new("fusewire");
        let mut told = Vec::new();
        write(&store, &keys, &artefact, |at| told.push(at))
            .await
            .expect("memory");
        assert_eq!(told, [1, 2, 3]);
        (store, keys, artefact)
    }

    async fn put(store: &Arc<dyn Store>, key: String, value: Option<&[u8]>) {
        let before = get(store, key.clone()).await.expect("memory");
        let value = value.map(<[u8]>::to_vec);
        assert!(
            store
                .swap(key, before, value, 0)
                .wait()
                .await
                .expect("memory")
        );
    }

    #[tokio::test]
    async fn what_was_put_into_the_store_comes_out_of_it_with_its_signature() {
        let (store, keys, artefact) = stored().await;
        let fetched = fetch(&store, &keys, &named(&artefact), 1 << 20)
            .await
            .expect("it is there");
        assert_eq!(fetched.bytes(), artefact.bytes());
        assert_eq!(fetched.signature(), Some("signature"));
    }

    #[tokio::test]
    async fn a_chunk_that_is_missing_is_named_and_a_push_puts_it_back() {
        let (store, keys, artefact) = stored().await;
        put(&store, keys.chunk(artefact.digest(), 1), None).await;
        let named = named(&artefact);
        let missing = fetch(&store, &keys, &named, 1 << 20)
            .await
            .expect_err("missing");
        assert_eq!(
            missing.to_string(),
            "chunk 2 of 3 is not in the store: push it again"
        );
        write(&store, &keys, &artefact, |_| {})
            .await
            .expect("memory");
        fetch(&store, &keys, &named, 1 << 20)
            .await
            .expect("it is back");
    }

    #[tokio::test]
    async fn bytes_that_were_changed_in_the_store_are_not_taken_for_the_policy() {
        let (store, keys, artefact) = stored().await;
        let key = keys.chunk(artefact.digest(), 0);
        let whole = get(&store, key.clone())
            .await
            .expect("memory")
            .expect("there");
        let mut flipped = whole.clone();
        flipped[100] ^= 1;
        let longer = [whole.as_slice(), b"more"].concat();
        for changed in [flipped.as_slice(), &whole[1..], b"", &longer] {
            put(&store, key.clone(), Some(changed)).await;
            let fetched = fetch(&store, &keys, &named(&artefact), 1 << 20).await;
            assert_eq!(
                fetched.map(|_| ()),
                Err(Missing::Altered(artefact.digest()))
            );
        }
        write(&store, &keys, &artefact, |_| {})
            .await
            .expect("memory");
        fetch(&store, &keys, &named(&artefact), 1 << 20)
            .await
            .expect("put right");
    }

    #[tokio::test]
    async fn sizes_that_cannot_be_are_refused_before_anything_is_read() {
        let (store, keys, artefact) = stored().await;
        let good = named(&artefact);
        for (size, chunks) in [
            (u64::MAX, u64::MAX),
            (good.size, u64::MAX),
            (good.size, 0),
            (1 << 40, 1),
        ] {
            let named = Named {
                size,
                chunks,
                ..good.clone()
            };
            let fetched = fetch(&store, &keys, &named, 1 << 20).await;
            assert!(
                matches!(fetched, Err(Missing::Impossible(_))),
                "{fetched:?}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_removed_is_gone_as_a_whole() {
        let (store, keys, artefact) = stored().await;
        remove(&store, &keys, artefact.digest(), 3)
            .await
            .expect("memory");
        for at in 0..3 {
            let key = keys.chunk(artefact.digest(), at);
            assert_eq!(get(&store, key).await, Ok(None));
        }
    }
}
