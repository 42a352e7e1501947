//! Many clients at once.

use std::future::Future;

use tokio::task::JoinSet;

use super::probe::{LONG_MS, Probe, require, require_eq, tally};
use crate::store::Window;

/// How many clients there are, and how often each does its thing. Few, as a store far away
/// answers slowly; enough for one that is not atomic to be caught.
const CLIENTS: u64 = 8;
const TIMES: u64 = 20;

/// What each of the clients, which begin together, comes to.
async fn all<T, F>(client: impl Fn(u64) -> F) -> Result<Vec<T>, String>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let mut clients: JoinSet<_> = (0..CLIENTS).map(client).collect();
    let mut outcomes = Vec::new();
    while let Some(joined) = clients.join_next().await {
        outcomes.push(joined.map_err(|error| format!("a client failed: {error}"))??);
    }
    Ok(outcomes)
}

pub(super) async fn of_many_who_create_a_value_one_wins(probe: Probe) -> Result<(), String> {
    for round in 0..TIMES {
        let name = format!("k{round}");
        let won = all(|client| {
            let (probe, name) = (probe.clone(), name.clone());
            async move {
                let mine = client.to_string();
                let won = probe
                    .swap(&name, None, Some(mine.as_bytes()), LONG_MS)
                    .await?;
                Ok(won.then_some(mine))
            }
        })
        .await?;
        let winners: Vec<String> = won.into_iter().flatten().collect();
        require!(
            winners.len() == 1,
            "{} of {CLIENTS} clients created one value",
            winners.len()
        );
        require_eq!(
            probe.get(&name).await?,
            winners.first().map(|winner| winner.clone().into_bytes()),
            "reading the winner's value"
        );
    }
    Ok(())
}

pub(super) async fn no_update_by_swap_is_lost(probe: Probe) -> Result<(), String> {
    probe.put("k", b"0", LONG_MS).await?;
    let raise = |_| {
        let probe = probe.clone();
        async move {
            for _ in 0..TIMES {
                loop {
                    let seen = probe.get("k").await?.unwrap_or_default();
                    let text = String::from_utf8_lossy(&seen);
                    let count: u64 = text.parse().map_err(|_| format!("{text:?} was read"))?;
                    let next = (count + 1).to_string();
                    if probe
                        .swap("k", Some(&seen), Some(next.as_bytes()), LONG_MS)
                        .await?
                    {
                        break;
                    }
                }
            }
            Ok(())
        }
    };
    all(raise).await?;
    require_eq!(
        probe.get("k").await?,
        Some((CLIENTS * TIMES).to_string().into_bytes()),
        "counting up by swaps, {CLIENTS} clients {TIMES} times each"
    );
    Ok(())
}

pub(super) async fn no_add_is_lost(probe: Probe) -> Result<(), String> {
    let add = |client| {
        let probe = probe.clone();
        async move {
            let mut last = 0;
            for i in 0..TIMES {
                let seen = probe.count(probe.adding("k", client, &[("a", 1)])).await?;
                let sum = seen.amount("a");
                require!(
                    sum > last && sum > i,
                    "after its add number {i} a client saw {sum}, and {last} before it"
                );
                last = sum;
            }
            Ok(())
        }
    };
    all(add).await?;
    require_eq!(
        probe.count(probe.window("k")).await?,
        tally(1, &[("a", CLIENTS * TIMES)]),
        "{CLIENTS} clients that added 1, {TIMES} times each"
    );
    Ok(())
}

pub(super) async fn a_take_over_is_whole(probe: Probe) -> Result<(), String> {
    for round in 0..TIMES {
        let name = format!("k{round}");
        all(|client| {
            let (probe, name) = (probe.clone(), name.clone());
            async move {
                let mine = Window {
                    epoch: client,
                    ..probe.adding(&name, 0, &[("a", 1), ("b", 1)])
                };
                let seen = probe.count(mine).await?;
                require!(
                    seen.epoch > client || seen == tally(client, &[("a", 1), ("b", 1)]),
                    "the one add of epoch {client} was answered {seen:?}"
                );
                Ok(())
            }
        })
        .await?;
        let newest = Window {
            epoch: CLIENTS - 1,
            ..probe.window(&name)
        };
        require_eq!(
            probe.count(newest).await?,
            tally(CLIENTS - 1, &[("a", 1), ("b", 1)]),
            "the newest of {CLIENTS} epochs that took over at once"
        );
    }
    Ok(())
}
