//! What a piece of work allocates, by an allocator that counts. Each thread counts for itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted. For a program that measures:
/// `#[global_allocator] static ALLOCATOR: Counting = Counting;`
#[derive(Debug, Clone, Copy)]
pub struct Counting;

/// What was allocated, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    /// All of it together, whether it was given back or not.
    pub total: usize,
    /// The most that was held at one moment.
    pub held: usize,
}

thread_local! {
    static TOTAL: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn taken(bytes: usize) {
    TOTAL.set(TOTAL.get().wrapping_add(bytes));
    HELD.set(HELD.get().wrapping_add_unsigned(bytes));
    MOST.set(MOST.get().max(HELD.get()));
}

fn given_back(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub_unsigned(bytes));
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract of this method, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while the one is copied to the other.
        taken(size);
        given_back(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Does the work on this thread, and answers what it allocated.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let (total, held) = (TOTAL.get(), HELD.get());
    MOST.set(held);
    let done = work();
    let allocated = Allocated {
        total: TOTAL.get().wrapping_sub(total),
        held: usize::try_from(MOST.get().wrapping_sub(held)).unwrap_or(0),
    };
    (done, allocated)
}
