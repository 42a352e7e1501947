//! Memory that Envoy asks for and hands back.
//!
//! Where a host call answers with bytes, Envoy calls `proxy_on_memory_allocate`, fills what it
//! gets, and hands its address and length back. It keeps nothing past the call. So answers are
//! written to one buffer that is there for the next call again; a longer answer gets memory of its
//! own for the call. An address and a length are believed only where they are of what was lent.

use std::cell::{Cell, RefCell};

use crate::host::Status;

/// As long as most answers: a few header fields, a group of a few entries.
const BUFFER_BYTES: usize = 16 * 1024;

/// More than Envoy ever hands over at once.
const LONG_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Where short answers are written. Cells, as Envoy writes there while the filter has it.
static BUFFER: Buffer = Buffer([const { Cell::new(0) }; BUFFER_BYTES]);

struct Buffer([Cell<u8>; BUFFER_BYTES]);

// SAFETY: WebAssembly without threads has one.
unsafe impl Sync for Buffer {}

thread_local! {
    /// What is lent during the present call.
    static LENT: RefCell<Lent> = const { RefCell::new(Lent::Nothing) };
}

enum Lent {
    Nothing,
    /// So many bytes of the buffer.
    Short(usize),
    Long(Vec<u8>),
}

/// Lends Envoy `size` bytes; null where there are none to lend. What was lent before is not any
/// more: Envoy asks once a call.
pub(super) fn lend(size: usize) -> *mut u8 {
    LENT.with(|lent| {
        let Ok(mut lent) = lent.try_borrow_mut() else {
            return std::ptr::null_mut();
        };
        *lent = Lent::Nothing;
        if size == 0 || size > LONG_MAX_BYTES {
            return std::ptr::null_mut();
        }
        if size <= BUFFER_BYTES {
            *lent = Lent::Short(size);
            return BUFFER.0.as_ptr().cast_mut().cast();
        }
        let mut bytes: Vec<u8> = Vec::new();
        if bytes.try_reserve_exact(size).is_err() {
            return std::ptr::null_mut();
        }
        bytes.resize(size, 0);
        let address = bytes.as_mut_ptr();
        *lent = Lent::Long(bytes);
        address
    })
}

/// Reads what a call answered with: `size` bytes at `address`. Nothing is lent after that.
///
/// # Errors
/// [`Status::NOT_OURS`]: nothing of this size was lent at this address.
pub(super) fn read<T>(
    address: *const u8,
    size: usize,
    with: impl FnOnce(&[u8]) -> T,
) -> Result<T, Status> {
    let lent = LENT.with(|lent| {
        lent.try_borrow_mut().map_or(Lent::Nothing, |mut lent| {
            std::mem::replace(&mut *lent, Lent::Nothing)
        })
    });
    if size == 0 {
        return Ok(with(&[]));
    }
    match &lent {
        Lent::Short(lent) if size <= *lent && address == BUFFER.0.as_ptr().cast() => {
            // SAFETY: these are the first `size` bytes of the buffer, which lives for ever. Envoy
            // writes to it during a host call alone, and none is made while the slice lives: it
            // does not leave `with`, which only decodes.
            Ok(with(unsafe { std::slice::from_raw_parts(address, size) }))
        }
        Lent::Long(bytes) if address == bytes.as_ptr() => {
            bytes.get(..size).map(with).ok_or(Status::NOT_OURS)
        }
        _ => Err(Status::NOT_OURS),
    }
}

/// Lends nothing any more, after a call that answered with nothing.
pub(super) fn reclaim() {
    LENT.with(|lent| {
        if let Ok(mut lent) = lent.try_borrow_mut() {
            *lent = Lent::Nothing;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8], address: *mut u8) {
        // SAFETY: as many bytes were lent at this address.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
    }

    #[test]
    fn what_was_written_where_it_was_lent_is_read() {
        for size in [1, 7, BUFFER_BYTES, BUFFER_BYTES + 1, 1_000_000] {
            let bytes: Vec<u8> = (0..size).map(|n| n as u8).collect();
            let address = lend(size);
            answer(&bytes, address);
            assert_eq!(
                read(address, size, <[u8]>::to_vec),
                Ok(bytes),
                "{size} bytes"
            );
        }
        assert_eq!(read(std::ptr::null(), 0, <[u8]>::to_vec), Ok(Vec::new()));
    }

    #[test]
    fn an_address_or_a_length_that_was_not_lent_is_not_believed() {
        for size in [8, BUFFER_BYTES + 1] {
            let address = lend(size);
            assert_eq!(read(address, size + 1, <[u8]>::len), Err(Status::NOT_OURS));
            let address = lend(size);
            assert_eq!(
                read(address.wrapping_add(1), 1, <[u8]>::len),
                Err(Status::NOT_OURS)
            );
            let address = lend(size);
            reclaim();
            assert_eq!(read(address, size, <[u8]>::len), Err(Status::NOT_OURS));
            let address = lend(size);
            assert_eq!(read(address, size, <[u8]>::len), Ok(size));
            assert_eq!(
                read(address, size, <[u8]>::len),
                Err(Status::NOT_OURS),
                "it was read before"
            );
        }
        assert!(lend(usize::MAX).is_null() && lend(0).is_null());
    }
}
