//! A small random generator per thread: for spreading load and naming requests, not for secrets.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    // The standard library's hash keys come from the operating system, once per process.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(std::thread::current().id()));
}

/// The next number of this thread's generator (splitmix64).
pub(crate) fn random_u64() -> u64 {
    STATE.with(|state| {
        let next = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}
