//! What of a benchmark is counted.
//!
//! Callgrind turns its collecting on or off at the edges of two functions, which it finds by their
//! names: `counted_part` and `uncounted_part`. `cargo xtask counts` knows these names.

use std::cell::Cell;

thread_local! {
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the part of a benchmark that is counted. It may be called many times, never nested.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> T {
    IS_COUNTING.set(true);
    let outcome = counted_part(work);
    IS_COUNTING.set(false);
    outcome
}

/// Runs what is no part of the subject, such as a simulated network, in the middle of what is
/// counted or outside of it. Never nested.
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    if IS_COUNTING.get() {
        uncounted_part(work)
    } else {
        work()
    }
}

#[inline(never)]
fn counted_part<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn uncounted_part<T>(work: impl FnOnce() -> T) -> T {
    work()
}
