//! `get` and `swap`: order, absence, any bytes, the other kind.

use super::probe::{LONG_MS, Probe, require, require_eq, tally};
use crate::store::{StoreError, VALUE_MAX_BYTES};

pub(super) async fn get_answers_one_value_a_key_in_order(probe: Probe) -> Result<(), String> {
    probe.put("a", b"of a", LONG_MS).await?;
    probe.put("b", b"of b", LONG_MS).await?;
    let (a, b) = (Some(b"of a".to_vec()), Some(b"of b".to_vec()));
    require_eq!(
        probe.gets(&["b", "none", "a", "b"]).await?,
        vec![b.clone(), None, a, b],
        "reading b, an absent key, a, and b again"
    );
    require_eq!(probe.gets(&[]).await?, Vec::new(), "reading no keys");
    Ok(())
}

pub(super) async fn a_value_is_any_bytes(probe: Probe) -> Result<(), String> {
    let every: Vec<u8> = (0..=255).collect();
    for (name, value) in [
        ("every", &every[..]),
        ("nul", b"\0"),
        ("lines", b"a\r\nb\n"),
        ("utf-16", b"\xff\xfe\0\xd8"),
    ] {
        probe.put(name, value, LONG_MS).await?;
        require_eq!(
            probe.get(name).await?,
            Some(value.to_vec()),
            "reading {value:?} back"
        );
        let longer = [value, b"\0"].concat();
        require!(
            !probe.swap(name, Some(&longer), None, 0).await?,
            "{value:?} was taken for {longer:?}"
        );
        require!(
            probe
                .swap(name, Some(value), Some(&longer), LONG_MS)
                .await?,
            "{value:?} was not taken for itself"
        );
        require_eq!(probe.get(name).await?, Some(longer), "swapping {value:?}");
    }
    Ok(())
}

pub(super) async fn an_empty_value_is_not_an_absent_one(probe: Probe) -> Result<(), String> {
    require!(
        !probe.swap("k", Some(b""), Some(b"x"), LONG_MS).await?,
        "an absent value was taken for an empty one"
    );
    probe.put("k", b"", LONG_MS).await?;
    require_eq!(
        probe.get("k").await?,
        Some(Vec::new()),
        "reading an empty value"
    );
    require!(
        !probe.swap("k", None, Some(b"x"), LONG_MS).await?,
        "an empty value was taken for an absent one"
    );
    require!(
        probe.swap("k", Some(b""), Some(b"x"), LONG_MS).await?,
        "an empty value was not taken for itself"
    );
    Ok(())
}

pub(super) async fn a_value_of_64_kib_comes_back_whole(probe: Probe) -> Result<(), String> {
    let pattern = |salt: usize| -> Vec<u8> {
        (0..VALUE_MAX_BYTES)
            .map(|i| (i.wrapping_mul(31) ^ (i >> 8) ^ salt) as u8)
            .collect()
    };
    let (first, second) = (pattern(0), pattern(1));
    probe.put("k", &first, LONG_MS).await?;
    require!(
        probe.get("k").await?.as_ref() == Some(&first),
        "another value came back"
    );
    require!(
        !probe.swap("k", Some(&second), Some(b""), LONG_MS).await?,
        "it was taken for another of the same length"
    );
    require!(
        probe
            .swap("k", Some(&first), Some(&second), LONG_MS)
            .await?,
        "it was not taken for itself"
    );
    require!(
        probe.get("k").await?.as_ref() == Some(&second),
        "another value came back after a swap"
    );
    Ok(())
}

pub(super) async fn a_swap_replaces_only_what_is_expected(probe: Probe) -> Result<(), String> {
    require!(
        !probe.swap("k", Some(b"a"), Some(b"b"), LONG_MS).await?,
        "an absent value was taken for \"a\""
    );
    require_eq!(probe.get("k").await?, None, "after a refused swap");
    probe.put("k", b"a", LONG_MS).await?;
    for wrong in [None, Some(&b"b"[..]), Some(b"A"), Some(b"aa"), Some(b"")] {
        for replacement in [None, Some(&b"c"[..])] {
            require!(
                !probe.swap("k", wrong, replacement, LONG_MS).await?,
                "\"a\" was taken for {wrong:?}"
            );
            require_eq!(
                probe.get("k").await?,
                Some(b"a".to_vec()),
                "after a refused swap for {replacement:?}"
            );
        }
    }
    require!(
        probe.swap("k", Some(b"a"), Some(b"b"), LONG_MS).await?,
        "\"a\" was not taken for itself"
    );
    require_eq!(probe.get("k").await?, Some(b"b".to_vec()), "after a swap");
    Ok(())
}

pub(super) async fn a_swap_for_nothing_removes_the_key(probe: Probe) -> Result<(), String> {
    probe.put("k", b"a", LONG_MS).await?;
    require!(
        probe.swap("k", Some(b"a"), None, 0).await?,
        "\"a\" was not taken for itself"
    );
    require_eq!(probe.get("k").await?, None, "after its removal");
    probe.put("k", b"b", LONG_MS).await
}

pub(super) async fn the_other_kind_of_key_is_refused_and_stays_as_it_is(
    probe: Probe,
) -> Result<(), String> {
    fn is_refused<T>(answer: &Result<T, StoreError>) -> bool {
        matches!(answer, Err(StoreError::Refused(_)))
    }
    let add = probe.adding("counter", 0, &[("failure", 3)]);
    probe.count(add).await?;
    require!(
        is_refused(&probe.try_get("counter").await),
        "`get` of a counter was not refused"
    );
    for expected in [None, Some(&b"x"[..])] {
        for replacement in [None, Some(&b"y"[..])] {
            let swapped = probe
                .try_swap("counter", expected, replacement, LONG_MS)
                .await;
            require!(
                is_refused(&swapped),
                "`swap` of {expected:?} for {replacement:?} on a counter was not refused"
            );
        }
    }
    require_eq!(
        probe.count(probe.window("counter")).await?,
        tally(1, &[("failure", 3)]),
        "the counter, after what was refused"
    );

    probe.put("value", b"x", LONG_MS).await?;
    let add = probe.adding("value", 0, &[("failure", 1)]);
    for window in [add, probe.window("value")] {
        let counted = probe.try_count(window.clone()).await;
        require!(
            is_refused(&counted),
            "`count` of {window:?} on a value was not refused"
        );
    }
    require_eq!(
        probe.get("value").await?,
        Some(b"x".to_vec()),
        "the value, after what was refused"
    );
    Ok(())
}
