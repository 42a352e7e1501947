//! Giving back what is gone.
//!
//! Every change of a group drops what is over in it. The sweep does so where nothing changes, and
//! counts what is left.

use fusewire_core::StoreError;

use super::change::{Change, GROUPS, Groups};
use super::shared::SharedData;

/// Drops what is over in the next `count` groups from `from` on. Answers how many entries they
/// hold after that.
///
/// # Errors
/// [`StoreError`], as [`Groups::change`].
pub fn sweep<D: SharedData + ?Sized>(
    groups: &Groups<'_, D>,
    from: usize,
    count: usize,
) -> Result<u64, StoreError> {
    let mut held = 0_u64;
    for number in (0..GROUPS).cycle().skip(from).take(count) {
        let left = groups.change(number, |group| {
            let dropped = group.drop_over(groups.now_ms);
            let left = u64::try_from(group.entries.len()).unwrap_or(u64::MAX);
            Ok(if dropped {
                Change::Write(left)
            } else {
                Change::Keep(left)
            })
        })?;
        held = held.saturating_add(left);
    }
    Ok(held)
}
