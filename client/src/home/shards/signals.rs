//! Signals that a full mailbox refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shared::SharedStream;

/// Kept until the shard looks: after each chunk it reads and each item it takes for the client.
/// Bounded by the streams that are open, each in it once.
#[derive(Debug, Default)]
pub(super) struct LostSignals {
    any: AtomicBool,
    streams: Mutex<Vec<Arc<SharedStream>>>,
}

impl LostSignals {
    pub(super) fn push(&self, stream: Arc<SharedStream>) {
        self.streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(stream);
        self.any.store(true, Ordering::Release);
    }

    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self) -> Vec<Arc<SharedStream>> {
        if !self.any.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
