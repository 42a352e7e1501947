//! Shared data, and what of it is relied on.

use crate::host::Status;

/// Values that all workers of one Envoy see.
pub trait SharedData {
    /// The value of a key, and the number of the write that it comes from.
    ///
    /// # Errors
    /// The host's own status, whatever it is.
    fn get(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Status>;

    /// Writes a value: where `cas` is zero, or is the number of the write that the key's present
    /// value comes from, or where there is no value.
    ///
    /// # Errors
    /// [`Status::CAS_MISMATCH`]: the value has changed, and nothing was written. Any other: the
    /// host's own.
    fn set(&self, key: &str, value: &[u8], cas: u32) -> Result<(), Status>;
}

/// With this number a write succeeds only where there is no value: a `cas` of zero would overwrite
/// one that another worker has just created. Envoy numbers the writes of the whole process from one
/// up, so one write of four thousand million bears it, and only that write could be overwritten,
/// if it were the creation that is raced with.
pub const IF_ABSENT: u32 = u32::MAX;

/// What the keys of shared data begin with. The number is that of the layout: one filter never
/// reads what another has written in a layout that it does not know.
pub const KEYS_BEGIN: &str = "fusewire-envoy/1/";

/// Tries whether this host's shared data does what is relied on, on a key of its own.
///
/// # Errors
/// A sentence that says what it does not do.
pub fn check<D: SharedData + ?Sized>(data: &D) -> Result<(), String> {
    let key = [KEYS_BEGIN, "check"].concat();
    let failed = |what: &str, status: Status| {
        format!("shared data cannot be {what} ({status}): this host must allow it")
    };
    // Written by whoever was first; from then on there is a value.
    match data.set(&key, b"fusewire", IF_ABSENT) {
        Ok(()) | Err(Status::CAS_MISMATCH) => {}
        Err(status) => return Err(failed("written", status)),
    }
    match data.get(&key) {
        Ok(Some(_)) => {}
        Ok(None) => return Err("shared data forgets what was written to it".into()),
        Err(status) => return Err(failed("read", status)),
    }
    match data.set(&key, b"fusewire", IF_ABSENT) {
        Err(Status::CAS_MISMATCH) => Ok(()),
        Ok(()) => Err(
            "shared data has no compare-and-swap, without which two workers could \
                       both hold the one probe"
                .into(),
        ),
        Err(status) => Err(failed("written", status)),
    }
}

/// The next number of a count that all workers share; zero where it cannot be had.
pub fn next_number<D: SharedData + ?Sized>(data: &D, name: &str) -> u64 {
    /// As many as workers that could be ahead, and more.
    const TRIES: u32 = 1_000;
    let key = [KEYS_BEGIN, name].concat();
    for _ in 0..TRIES {
        let Ok(held) = data.get(&key) else { return 0 };
        let (last, cas) = match &held {
            Some((bytes, cas)) => (bytes.as_slice(), *cas),
            None => (&[][..], IF_ABSENT),
        };
        let last = last.try_into().map(u64::from_le_bytes).unwrap_or_default();
        let next = last.wrapping_add(1);
        match data.set(&key, &next.to_le_bytes(), cas) {
            Ok(()) => return next,
            Err(Status::CAS_MISMATCH) => {}
            Err(_) => return 0,
        }
    }
    0
}
