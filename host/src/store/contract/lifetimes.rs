//! What ends when, and what never extends it.

use super::probe::{LONG_MS, Lifetime, Probe, SHORT_MS, require, require_eq, tally};
use crate::store::Window;

pub(super) async fn a_value_lives_as_long_as_it_was_given(probe: Probe) -> Result<(), String> {
    let lifetime = Lifetime::of(SHORT_MS);
    probe.put("k", b"a", SHORT_MS).await?;
    while lifetime.lasts(probe.get("k").await?.is_some()).await? {}
    require!(
        !probe.swap("k", Some(b"a"), Some(b"b"), LONG_MS).await?,
        "a value whose lifetime is over was expected, and found"
    );
    probe.put("k", b"c", LONG_MS).await
}

pub(super) async fn a_counter_lives_as_long_as_it_was_given(probe: Probe) -> Result<(), String> {
    let short = Window {
        ttl_ms: SHORT_MS,
        ..probe.adding("k", 0, &[("a", 1)])
    };
    let lifetime = Lifetime::of(SHORT_MS);
    probe.count(short).await?;
    let read = probe.window("k");
    while lifetime
        .lasts(probe.count(read.clone()).await?.epoch > 0)
        .await?
    {}
    require_eq!(
        probe.count(probe.adding("k", 0, &[("b", 1)])).await?,
        tally(1, &[("b", 1)]),
        "adding to a counter whose lifetime is over"
    );
    Ok(())
}

pub(super) async fn a_new_value_brings_its_own_lifetime(probe: Probe) -> Result<(), String> {
    probe.put("shorter", b"a", LONG_MS).await?;
    let lifetime = Lifetime::of(SHORT_MS);
    probe.put("longer", b"a", SHORT_MS).await?;
    let swapped = probe
        .swap("longer", Some(b"a"), Some(b"b"), LONG_MS)
        .await?;
    require!(swapped, "a value was not taken for itself");
    let swapped = probe
        .swap("shorter", Some(b"a"), Some(b"b"), SHORT_MS)
        .await?;
    require!(swapped, "a value was not taken for itself");
    while lifetime
        .lasts(probe.get("shorter").await?.is_some())
        .await?
    {}
    lifetime.past().await;
    require_eq!(
        probe.get("longer").await?,
        Some(b"b".to_vec()),
        "a value that was given a longer lifetime than the one before it"
    );
    Ok(())
}

pub(super) async fn a_lifetime_of_zero_has_no_end(probe: Probe) -> Result<(), String> {
    let lifetime = Lifetime::of(SHORT_MS);
    probe.put("k", b"a", SHORT_MS).await?;
    let swapped = probe.swap("k", Some(b"a"), Some(b"b"), 0).await?;
    require!(swapped, "a value was not taken for itself");
    lifetime.past().await;
    require_eq!(
        probe.get("k").await?,
        Some(b"b".to_vec()),
        "a value without an end, after the end of the one before it"
    );
    // What has no end is not left behind.
    let removed = probe.swap("k", Some(b"b"), None, 0).await?;
    require!(removed, "a value was not taken for itself");
    Ok(())
}

pub(super) async fn an_add_renews_the_lifetime(probe: Probe) -> Result<(), String> {
    let short = Window {
        ttl_ms: SHORT_MS,
        ..probe.adding("k", 0, &[("a", 1)])
    };
    let lifetime = Lifetime::of(SHORT_MS);
    probe.count(short).await?;
    probe.count(probe.adding("k", 0, &[("a", 1)])).await?;
    lifetime.past().await;
    require_eq!(
        probe.count(probe.window("k")).await?,
        tally(1, &[("a", 2)]),
        "a counter that was added to, after its first lifetime"
    );
    Ok(())
}

pub(super) async fn a_refused_swap_never_touches_a_lifetime(probe: Probe) -> Result<(), String> {
    probe.put("long", b"a", LONG_MS).await?;
    let lifetime = Lifetime::of(SHORT_MS);
    probe.put("short", b"a", SHORT_MS).await?;
    // At least once, however long this machine takes to come here.
    loop {
        for replacement in [None, Some(&b"c"[..])] {
            let swapped = probe
                .swap("short", Some(b"b"), replacement, LONG_MS)
                .await?;
            require!(!swapped, "\"a\" was taken for \"b\"");
        }
        let swapped = probe.swap("long", None, Some(b"b"), 1).await?;
        require!(!swapped, "\"a\" was taken for an absent value");
        if !lifetime.lasts(probe.get("short").await?.is_some()).await? {
            break;
        }
    }
    lifetime.past().await;
    require_eq!(
        probe.get("long").await?,
        Some(b"a".to_vec()),
        "a value, after refused swaps with a lifetime of 1 ms"
    );
    Ok(())
}

pub(super) async fn a_refused_add_never_extends_a_lifetime(probe: Probe) -> Result<(), String> {
    let short = Window {
        epoch: 2,
        ttl_ms: SHORT_MS,
        ..probe.adding("k", 0, &[("a", 1)])
    };
    let lifetime = Lifetime::of(SHORT_MS);
    probe.count(short).await?;
    // Once the counter is gone, this add is no longer of an older epoch.
    let older = probe.adding("k", 0, &[("a", 1)]);
    while lifetime
        .lasts(probe.count(older.clone()).await?.epoch == 2)
        .await?
    {}
    Ok(())
}

pub(super) async fn a_read_never_extends_a_lifetime(probe: Probe) -> Result<(), String> {
    let short = Window {
        ttl_ms: SHORT_MS,
        ..probe.adding("counter", 0, &[("a", 1)])
    };
    let lifetime = Lifetime::of(SHORT_MS);
    probe.count(short).await?;
    probe.put("value", b"a", SHORT_MS).await?;
    let read = probe.window("counter");
    while lifetime
        .lasts(probe.count(read.clone()).await?.epoch > 0)
        .await?
    {}
    while lifetime.lasts(probe.get("value").await?.is_some()).await? {}
    Ok(())
}
