//! Memory that Envoy asks for and hands back.
//!
//! Where a host call answers with bytes, Envoy calls `proxy_on_memory_allocate`, fills what it
//! gets, and hands its address and length back. What was given out is noted, so that an address
//! and a length can be checked before they are believed. Envoy keeps nothing past the call, so
//! what is still noted after it was never handed back, and is freed.

use std::cell::RefCell;

use crate::host::Status;

thread_local! {
    /// What Envoy was given during the present call.
    static LENT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// More than Envoy ever hands over at once: header lists and bodies are asked for in bounds.
const LENT_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Lends Envoy `size` bytes; null where there are none to lend.
pub(super) fn lend(size: usize) -> *mut u8 {
    if size == 0 || size > LENT_MAX_BYTES {
        return std::ptr::null_mut();
    }
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(size).is_err() {
        return std::ptr::null_mut();
    }
    bytes.resize(size, 0);
    let address = bytes.as_mut_ptr();
    LENT.with(|lent| match lent.try_borrow_mut() {
        Ok(mut lent) => {
            lent.push(bytes);
            address
        }
        Err(_) => std::ptr::null_mut(),
    })
}

/// Takes back what a call answered with: `size` bytes at `address`. Frees whatever else is lent.
///
/// # Errors
/// [`Status::NOT_OURS`]: nothing of this size was lent at this address.
pub(super) fn take(address: *const u8, size: usize) -> Result<Vec<u8>, Status> {
    LENT.with(|lent| {
        let Ok(mut lent) = lent.try_borrow_mut() else {
            return Err(Status::NOT_OURS);
        };
        let at = lent.iter().position(|bytes| bytes.as_ptr() == address);
        let taken = at.map(|at| lent.swap_remove(at));
        lent.clear();
        if size == 0 {
            return Ok(Vec::new());
        }
        match taken {
            Some(mut bytes) if size <= bytes.len() => {
                bytes.truncate(size);
                Ok(bytes)
            }
            _ => Err(Status::NOT_OURS),
        }
    })
}

/// Frees whatever is lent, after a call that answered with nothing.
pub(super) fn reclaim() {
    LENT.with(|lent| {
        if let Ok(mut lent) = lent.try_borrow_mut() {
            lent.clear();
        }
    });
}
