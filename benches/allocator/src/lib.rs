//! The allocator of every benchmarked process: the system's, counting when told to.
//!
//! Counting is off in measured repetitions, so that a system which allocates more is not also
//! charged for being watched. A crate of its own because a global allocator is an unsafe trait,
//! and the rest of the benchmarks forbid unsafe code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Starts counting, for the life of the process.
pub fn count_allocations() {
    COUNTING.store(true, Ordering::Relaxed);
}

/// Allocations and reallocations so far; zero unless counted.
#[must_use]
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// The system's allocator with a counter that can be left off.
#[derive(Clone, Copy, Debug)]
pub struct CountingAllocator;

fn count() {
    if COUNTING.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator unchanged; counting touches no memory
// but two atomics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from the system's allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: `block` came from the system's allocator, with this layout.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
