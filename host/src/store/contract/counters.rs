//! `count`: lanes, buckets, epochs, limits.

use super::probe::{LONG_MS, Probe, lanes, require_eq, tally};
use crate::store::{AMOUNT_MAX, Window};

/// The first whole number whose successor a double does not hold.
const DOUBLE_ENDS: u64 = 1 << 53;

pub(super) async fn adds_are_summed_by_lane(probe: Probe) -> Result<(), String> {
    let first = probe.adding("k", 10, &[("failure", 1), ("success", 5)]);
    require_eq!(
        probe.count(first).await?,
        tally(1, &[("failure", 1), ("success", 5)]),
        "adding to an absent counter"
    );
    let same_bucket = probe.adding("k", 10, &[("failure", 2), ("failure", 3)]);
    require_eq!(
        probe.count(same_bucket).await?,
        tally(1, &[("failure", 6), ("success", 5)]),
        "adding to one lane of the same bucket, twice"
    );
    let next_bucket = probe.adding("k", 20, &[("success", 7)]);
    require_eq!(
        probe.count(next_bucket).await?,
        tally(1, &[("failure", 6), ("success", 12)]),
        "adding to the next bucket"
    );
    require_eq!(
        probe.count(probe.window("other")).await?,
        tally(0, &[]),
        "reading another counter"
    );
    Ok(())
}

pub(super) async fn lanes_are_in_the_order_of_their_names(probe: Probe) -> Result<(), String> {
    let added = [("slow", 1), ("a-1", 2), ("a", 3), ("z9", 4), ("success", 5)];
    let sorted = [("a", 3), ("a-1", 2), ("slow", 1), ("success", 5), ("z9", 4)];
    require_eq!(
        probe.count(probe.adding("k", 0, &added)).await?,
        tally(1, &sorted),
        "adding to lanes in another order"
    );
    Ok(())
}

pub(super) async fn only_buckets_from_since_on_are_in_the_tally(
    probe: Probe,
) -> Result<(), String> {
    // From 9 to 10 and from 99 to 100 a number grows by a digit.
    for bucket in [9, 10, 99, 100] {
        probe.count(probe.adding("k", bucket, &[("a", 1)])).await?;
    }
    for (since, sum) in [(0, 4), (9, 4), (10, 3), (11, 2), (99, 2), (100, 1)] {
        let window = Window {
            since,
            ..probe.window("k")
        };
        require_eq!(
            probe.count(window).await?,
            tally(1, &[("a", sum)]),
            "reading the buckets 9, 10, 99 and 100 since {since}"
        );
    }
    let window = Window {
        since: 101,
        ..probe.window("k")
    };
    require_eq!(
        probe.count(window).await?,
        tally(1, &[]),
        "reading past the last bucket"
    );
    Ok(())
}

pub(super) async fn an_add_drops_the_buckets_before_since(probe: Probe) -> Result<(), String> {
    for bucket in [9, 10, 11] {
        probe.count(probe.adding("k", bucket, &[("a", 1)])).await?;
    }
    let add = Window {
        since: 11,
        ..probe.adding("k", 12, &[("a", 1)])
    };
    require_eq!(
        probe.count(add).await?,
        tally(1, &[("a", 2)]),
        "adding, counted since 11"
    );
    require_eq!(
        probe.count(probe.window("k")).await?,
        tally(1, &[("a", 2)]),
        "reading all that was not dropped"
    );
    let late = Window {
        since: 11,
        ..probe.adding("k", 8, &[("a", 1)])
    };
    require_eq!(
        probe.count(late).await?,
        tally(1, &[("a", 2)]),
        "adding to a bucket that is before since itself"
    );
    require_eq!(
        probe.count(probe.window("k")).await?,
        tally(1, &[("a", 2)]),
        "reading all after that"
    );
    Ok(())
}

pub(super) async fn steady_adds_do_not_make_old_buckets_count(probe: Probe) -> Result<(), String> {
    for bucket in 0..200_u64 {
        let add = Window {
            since: bucket.saturating_sub(9),
            ..probe.adding("k", bucket, &[("failure", 1)])
        };
        require_eq!(
            probe.count(add).await?,
            tally(1, &[("failure", (bucket + 1).min(10))]),
            "one failure a bucket, after {bucket} buckets, in a window of ten"
        );
    }
    Ok(())
}

pub(super) async fn a_newer_epoch_empties_the_counter(probe: Probe) -> Result<(), String> {
    probe
        .count(probe.adding("k", 10, &[("a", 7), ("b", 1)]))
        .await?;
    let newer = Window {
        epoch: 2,
        ..probe.adding("k", 10, &[("a", 1)])
    };
    require_eq!(
        probe.count(newer).await?,
        tally(2, &[("a", 1)]),
        "an add of a newer epoch"
    );
    Ok(())
}

pub(super) async fn an_older_epoch_adds_nothing_and_is_told(probe: Probe) -> Result<(), String> {
    // As text, 9 comes after 10.
    let owner = Window {
        epoch: 10,
        ..probe.adding("k", 10, &[("a", 7)])
    };
    probe.count(owner.clone()).await?;
    let older = Window {
        epoch: 9,
        since: 20,
        ..probe.adding("k", 20, &[("a", 1)])
    };
    let reads = Window {
        add: Vec::new(),
        ..older.clone()
    };
    for window in [older, reads] {
        require_eq!(
            probe.count(window.clone()).await?,
            tally(10, &[]),
            "{window:?} on a counter of epoch 10"
        );
    }
    let read = Window {
        add: Vec::new(),
        ..owner
    };
    require_eq!(
        probe.count(read).await?,
        tally(10, &[("a", 7)]),
        "the counter after that"
    );
    Ok(())
}

pub(super) async fn a_read_changes_nothing(probe: Probe) -> Result<(), String> {
    let newer = Window {
        epoch: 5,
        since: 50,
        ..probe.window("k")
    };
    require_eq!(
        probe.count(newer.clone()).await?,
        tally(0, &[]),
        "reading an absent counter"
    );
    require_eq!(
        probe.get("k").await?,
        None,
        "the key of a counter that was only read"
    );
    require_eq!(
        probe.count(probe.adding("k", 10, &[("a", 1)])).await?,
        tally(1, &[("a", 1)]),
        "an add of an older epoch than the one that only read"
    );
    require_eq!(
        probe.count(newer).await?,
        tally(0, &[]),
        "reading a counter of an older epoch"
    );
    let past = Window {
        since: 50,
        ..probe.window("k")
    };
    require_eq!(
        probe.count(past).await?,
        tally(1, &[]),
        "reading past the last bucket"
    );
    require_eq!(
        probe.count(probe.window("k")).await?,
        tally(1, &[("a", 1)]),
        "reading all after that"
    );
    Ok(())
}

pub(super) async fn epochs_and_buckets_have_64_bits(probe: Probe) -> Result<(), String> {
    let by = |epoch| Window {
        epoch,
        ..probe.adding("epochs", 0, &[("a", 1)])
    };
    for newer in [
        0,
        9,
        10,
        DOUBLE_ENDS,
        DOUBLE_ENDS + 1,
        u64::MAX - 1,
        u64::MAX,
    ] {
        let older = newer.checked_sub(1);
        require_eq!(
            probe.count(by(newer)).await?,
            tally(newer, &[("a", 1)]),
            "a take-over by epoch {newer}"
        );
        if let Some(older) = older {
            require_eq!(
                probe.count(by(older)).await?,
                tally(newer, &[]),
                "an add of epoch {older} to a counter of epoch {newer}"
            );
        }
    }
    for bucket in [0, 1, DOUBLE_ENDS, DOUBLE_ENDS + 1, u64::MAX - 1, u64::MAX] {
        probe
            .count(probe.adding("buckets", bucket, &[("a", 1)]))
            .await?;
    }
    for (since, sum) in [
        (1, 5),
        (DOUBLE_ENDS, 4),
        (DOUBLE_ENDS + 1, 3),
        (DOUBLE_ENDS + 2, 2),
        (u64::MAX - 1, 2),
        (u64::MAX, 1),
    ] {
        let read = Window {
            since,
            ..probe.window("buckets")
        };
        require_eq!(
            probe.count(read).await?,
            tally(1, &[("a", sum)]),
            "reading since {since}"
        );
    }
    Ok(())
}

pub(super) async fn sums_saturate(probe: Probe) -> Result<(), String> {
    let almost = probe.adding("k", 0, &[("a", AMOUNT_MAX - 1)]);
    require_eq!(
        probe.count(almost).await?,
        tally(1, &[("a", AMOUNT_MAX - 1)]),
        "adding one less than the largest amount"
    );
    for bucket in [0, 0, 1, 1] {
        require_eq!(
            probe.count(probe.adding("k", bucket, &[("a", 1)])).await?,
            tally(1, &[("a", AMOUNT_MAX)]),
            "adding one more to bucket {bucket}"
        );
    }
    let most = probe.adding("most", 0, &[("a", u64::MAX), ("b", 1)]);
    for _ in 0..2 {
        probe.count(most.clone()).await?;
    }
    require_eq!(
        probe.count(probe.window("most")).await?,
        tally(1, &[("a", AMOUNT_MAX), ("b", 2)]),
        "adding the largest number of 64 bits, twice"
    );
    Ok(())
}

pub(super) async fn windows_of_one_call_are_performed_in_order(probe: Probe) -> Result<(), String> {
    let newer = Window {
        epoch: 2,
        ttl_ms: LONG_MS,
        add: lanes(&[("a", 9)]),
        ..probe.window("k")
    };
    let windows = vec![
        probe.adding("k", 0, &[("a", 1)]),
        probe.adding("other", 0, &[("b", 4)]),
        probe.adding("k", 0, &[("a", 2)]),
        probe.window("k"),
        newer,
        probe.window("k"),
    ];
    let answered = probe.counts(windows).await;
    require_eq!(
        answered,
        Ok(vec![
            tally(1, &[("a", 1)]),
            tally(1, &[("b", 4)]),
            tally(1, &[("a", 3)]),
            tally(1, &[("a", 3)]),
            tally(2, &[("a", 9)]),
            tally(2, &[]),
        ]),
        "six windows in one call, five of them on one key"
    );
    require_eq!(probe.counts(Vec::new()).await, Ok(Vec::new()), "no windows");
    Ok(())
}
