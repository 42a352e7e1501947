//! The Lua scripts. Each is atomic on the server, and each is one round trip.
//!
//! They are called by their hash. A server that does not know a script (it was restarted, or its
//! script cache was flushed) says so without having done anything, and is sent the script itself,
//! once.

use std::sync::LazyLock;

use redis::{Cmd, ServerErrorKind, Value, cmd};

use crate::store::{AMOUNT_MAX, Window};

/// Replaces a value only where it still is what the caller has seen.
///
/// A script, because Redis compares and sets in one step from version 8.4 on only, and `WATCH`
/// belongs to a connection, which here is shared by all calls.
///
/// - `KEYS[1]` the key.
/// - `ARGV[1]` `1` where a value is expected, `0` where none; `ARGV[2]` the value, any bytes.
/// - `ARGV[3]` `1` where there is a replacement, `0` to remove; `ARGV[4]` it, any bytes.
/// - `ARGV[5]` the lifetime in ms; `0` for none.
///
/// Answers 1 where it was replaced, 0 where it was not and nothing has changed. A key that holds
/// something else than a string is an error from `GET`.
pub(super) static SWAP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("swap.lua")));

/// Adds to one windowed counter and reads it.
///
/// A script, because whether to add depends on the epoch that owns the counter, and the answer
/// must have the add in it and no one else's half.
///
/// - `KEYS[1]` the key: a hash with the field `e` for the owner's epoch, and `<bucket>:<lane>`.
/// - `ARGV[1]` the epoch, `ARGV[2]` the bucket, `ARGV[3]` since, `ARGV[4]` the lifetime in ms.
/// - `ARGV[5]`, `ARGV[6]` and on: a lane and what to add to it, above zero. None: only read.
///
/// Answers the owner's epoch (`0` for no counter, or one of an older epoch that was only read),
/// and then, where the counter is the caller's, lanes and their sums in no order.
///
/// Epochs and buckets are 64 bits and Lua's numbers hold 53, so they stay decimal strings: the
/// longer is the greater, and of the same length the later in the order of bytes. Amounts are at
/// most 2^53 - 1, and so is what is added: a sum of two that is rounded is above that anyway.
///
/// Fields are taken apart by `find` and `sub`, and summed as they are read: by a pattern, and into
/// a table of fields first, a counter of ten buckets took a third longer.
pub(super) static COUNT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("count.lua")));

/// The longest lifetime that is asked of Redis, in ms: some 285 000 years. Its own limit is the
/// year in which a signed 64-bit number of ms ends.
const TTL_MAX_MS: u64 = AMOUNT_MAX;

/// A script, and the hash that the server knows it by.
pub(super) struct Script {
    code: &'static str,
    hash: String,
}

/// How a script is named in a call.
#[derive(Clone, Copy)]
pub(super) enum By {
    Hash,
    Code,
}

impl Script {
    fn new(code: &'static str) -> Self {
        let hash = redis::Script::new(code).get_hash().to_owned();
        Self { code, hash }
    }

    /// The beginning of a call on one key; the arguments are still to come.
    fn call(&self, by: By, key: &str) -> Cmd {
        let mut call = match by {
            By::Hash => cmd("EVALSHA"),
            By::Code => cmd("EVAL"),
        };
        call.arg(match by {
            By::Hash => self.hash.as_str(),
            By::Code => self.code,
        });
        call.arg(1).arg(key);
        call
    }
}

/// Whether a server did nothing because it does not know the script.
pub(super) fn is_unknown(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript))
}

/// A call of [`SWAP`].
pub(super) fn swap(
    by: By,
    key: &str,
    expected: Option<&[u8]>,
    replacement: Option<&[u8]>,
    ttl_ms: u64,
) -> Cmd {
    let mut call = SWAP.call(by, key);
    for value in [expected, replacement] {
        call.arg(u8::from(value.is_some()))
            .arg(value.unwrap_or_default());
    }
    call.arg(ttl_ms.min(TTL_MAX_MS));
    call
}

/// A call of [`COUNT`].
pub(super) fn count(by: By, window: &Window) -> Cmd {
    let mut call = COUNT.call(by, &window.key);
    call.arg(window.epoch)
        .arg(window.bucket)
        .arg(window.since)
        .arg(window.ttl_ms.min(TTL_MAX_MS));
    for lane in window.add.iter().filter(|lane| lane.amount > 0) {
        call.arg(lane.name.as_str())
            .arg(lane.amount.min(AMOUNT_MAX));
    }
    call
}
