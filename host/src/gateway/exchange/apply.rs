//! Doing an exchange on the store.

use futures_util::future::{join, join_all};

use super::wire::{Answer, Bytes, Counter, CounterAnswer, Exchange, Record, RecordAnswer};
use crate::store::{Lane, Store, StoreError, Tally, Window};

/// Tells the store what a runtime has changed, and the runtime what the fleet has.
///
/// What the store refuses is told of that one item: a key that somebody uses for something else
/// must not keep the others from being exchanged.
///
/// # Errors
/// The store is out of reach. What was told may have been done or not.
pub(super) async fn apply(store: &dyn Store, exchange: Exchange) -> Result<Answer, StoreError> {
    tracing::trace!(
        instance = exchange.instance,
        records = exchange.records.len(),
        counters = exchange.counters.len(),
        "exchange"
    );
    let (records, counters) = join(
        records(store, exchange.records),
        join_all(exchange.counters.into_iter().map(|c| counter(store, c))),
    )
    .await;
    Ok(Answer {
        records: records?,
        counters: counters.into_iter().collect::<Result<_, _>>()?,
        now_ms: store.now_ms(),
    })
}

async fn records(store: &dyn Store, records: Vec<Record>) -> Result<Vec<RecordAnswer>, StoreError> {
    let swaps = join_all(records.iter().map(|record| swap(store, record))).await;
    // Read after the swaps, so that a runtime which lost one learns what it lost to.
    let keys = records.iter().map(|record| record.key.clone()).collect();
    let values = store.get(keys).wait().await?;
    let mut answers = Vec::with_capacity(records.len());
    for ((record, swapped), value) in records.into_iter().zip(swaps).zip(values) {
        let (swapped, refused) = match swapped {
            Ok(swapped) => (swapped, None),
            Err(StoreError::Refused(why)) => (None, Some(why)),
            Err(unavailable) => return Err(unavailable),
        };
        let has = match (swapped, record.swap) {
            (Some(true), Some(swap)) => swap.replacement,
            _ => record.have,
        };
        let value = value.map(Bytes);
        answers.push(RecordAnswer {
            key: record.key,
            swapped,
            value: (refused.is_none() && value != has).then_some(value),
            refused,
        });
    }
    Ok(answers)
}

/// Whether the fleet's value was the one that the runtime knew, and is replaced.
async fn swap(store: &dyn Store, record: &Record) -> Result<Option<bool>, StoreError> {
    let Some(swap) = &record.swap else {
        return Ok(None);
    };
    let own = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| bytes.0.clone());
    let swapped = store.swap(
        record.key.clone(),
        own(&record.have),
        own(&swap.replacement),
        swap.ttl_ms,
    );
    swapped.wait().await.map(Some)
}

async fn counter(store: &dyn Store, counter: Counter) -> Result<CounterAnswer, StoreError> {
    let window = |bucket, since, add| Window {
        key: counter.key.clone(),
        epoch: counter.epoch,
        bucket,
        add,
        since,
        ttl_ms: counter.ttl_ms,
    };
    let oldest = counter.since.first().copied().unwrap_or(0);
    let added = counter.add.len();
    let adds = counter.add.iter().map(|add| {
        let lanes = add.lanes.iter().map(|(name, amount)| Lane {
            name: name.clone(),
            amount: *amount,
        });
        window(add.bucket, oldest, lanes.collect())
    });
    let reads = counter.since.iter().map(|at| window(*at, *at, Vec::new()));
    let tallies = match store.count(adds.chain(reads).collect()).wait().await {
        Ok(tallies) => tallies,
        Err(StoreError::Refused(why)) => {
            return Ok(CounterAnswer {
                key: counter.key,
                epoch: counter.epoch,
                tallies: Vec::new(),
                refused: Some(why),
            });
        }
        Err(unavailable) => return Err(unavailable),
    };
    // Where nobody has counted anything, the epoch is zero: that is no older owner's.
    let epoch = tallies.iter().map(|tally| tally.epoch).max();
    Ok(CounterAnswer {
        epoch: epoch.unwrap_or(0).max(counter.epoch),
        tallies: tallies.into_iter().skip(added).map(sums).collect(),
        refused: None,
        key: counter.key,
    })
}

fn sums(tally: Tally) -> std::collections::BTreeMap<String, u64> {
    let lanes = tally.lanes.into_iter();
    lanes.map(|lane| (lane.name, lane.amount)).collect()
}
