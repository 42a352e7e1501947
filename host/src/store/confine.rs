//! What of a store may be touched through this host: keys with one prefix, of the sizes that the
//! contract allows.

use super::{KEY_MAX_BYTES, StoreError, VALUE_MAX_BYTES, Window};

/// The most keys or windows in one operation, and lanes in one window. A decision has three domains; more than this is a
/// policy that would have the store work for it alone.
const OPERANDS_MAX: usize = 64;

/// The longest name of a lane, in bytes.
const LANE_MAX_BYTES: usize = 16;

/// Refuses a key that does not begin with `prefix` and a colon, or is too long.
pub(crate) fn key(prefix: &str, key: &str) -> Result<(), StoreError> {
    let rest = key
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix(':'));
    if rest.is_none() {
        return Err(StoreError::Refused(format!(
            "the key {key:?} does not begin with \"{prefix}:\""
        )));
    }
    if key.len() > KEY_MAX_BYTES {
        return Err(StoreError::Refused(format!(
            "the key has {} bytes, and may have {KEY_MAX_BYTES}",
            key.len()
        )));
    }
    Ok(())
}

/// Refuses keys of which one is refused, or too many of them.
pub(crate) fn keys(prefix: &str, keys: &[String]) -> Result<(), StoreError> {
    operands(keys.len(), "keys")?;
    keys.iter().try_for_each(|asked| key(prefix, asked))
}

/// Refuses windows of which one is refused, or too many of them.
pub(crate) fn windows(prefix: &str, windows: &[Window]) -> Result<(), StoreError> {
    operands(windows.len(), "windows")?;
    windows.iter().try_for_each(|asked| window(prefix, asked))
}

fn operands(n: usize, of: &str) -> Result<(), StoreError> {
    if n > OPERANDS_MAX {
        return Err(StoreError::Refused(format!(
            "one operation has {n} {of}, and may have {OPERANDS_MAX}"
        )));
    }
    Ok(())
}

/// Refuses a value that is too long.
pub(crate) fn value(value: Option<&[u8]>) -> Result<(), StoreError> {
    match value.map_or(0, <[u8]>::len) {
        n if n > VALUE_MAX_BYTES => Err(StoreError::Refused(format!(
            "the value has {n} bytes, and may have {VALUE_MAX_BYTES}"
        ))),
        _ => Ok(()),
    }
}

/// Refuses a window whose key is not one, or whose lanes have names that no store can be asked to
/// keep.
fn window(prefix: &str, window: &Window) -> Result<(), StoreError> {
    key(prefix, &window.key)?;
    operands(window.add.len(), "lanes")?;
    window.add.iter().try_for_each(|added| lane(&added.name))
}

/// Refuses what is no name of a lane.
pub(crate) fn lane(name: &str) -> Result<(), StoreError> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=LANE_MAX_BYTES).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "{name:?} is no name of a lane: 1 to {LANE_MAX_BYTES} of a-z, digits and `-`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_with_the_prefix_and_a_colon_pass() {
        assert_eq!(key("fusewire", "fusewire:s:{p}"), Ok(()));
        for other in ["", "fusewire", "fusewires:s:{p}", "other:s:{p}"] {
            assert!(key("fusewire", other).is_err(), "{other:?}");
        }
        let longest = "fusewire:".to_owned() + &"k".repeat(KEY_MAX_BYTES - 9);
        assert_eq!(key("fusewire", &longest), Ok(()));
        assert!(key("fusewire", &(longest + "k")).is_err());
    }

    #[test]
    fn an_operation_has_no_more_operands_than_a_store_can_be_asked_for_at_once() {
        let asked = |n: usize| vec!["fusewire:s:{p}".to_owned(); n];
        assert_eq!(keys("fusewire", &asked(OPERANDS_MAX)), Ok(()));
        let refused = keys("fusewire", &asked(OPERANDS_MAX + 1));
        let why = "one operation has 65 keys, and may have 64";
        assert_eq!(refused, Err(StoreError::Refused(why.into())));
    }

    #[test]
    fn only_names_of_lanes_that_every_store_can_keep_pass() {
        for name in ["success", "a", "a-16-byte-long-1"] {
            assert_eq!(lane(name), Ok(()), "{name:?}");
        }
        for name in ["", "a-17-byte-long-12", "Failure", "a b", "a:b", "ä"] {
            assert!(lane(name).is_err(), "{name:?}");
        }
    }
}
