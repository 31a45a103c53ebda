//! When each endless stream saw its cancel, kept by the server for a later question.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::clock::now_ns;

/// Keeps the instant at which stream `id` saw its cancel; the first one counts.
pub(crate) fn record(id: u64) {
    let now = now_ns();
    seen().entry(id).or_insert(now);
}

/// The instant kept for stream `id`.
#[must_use]
pub(crate) fn seen_at(id: u64) -> Option<u64> {
    seen().get(&id).copied()
}

fn seen() -> MutexGuard<'static, HashMap<u64, u64>> {
    static SEEN: OnceLock<Mutex<HashMap<u64, u64>>> = OnceLock::new();
    let seen = SEEN.get_or_init(Mutex::default);
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
