//! What must reach a shard although its mailbox is full.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ringmain_reactor::doorbell::Doorbell;

use crate::message::ShardMessage;

/// Messages that found the mailbox full and must not be lost: signals, ends, requests to stop.
///
/// Each sender is bounded by itself (a signal is not sent again before it was seen, an end comes
/// once), so the list is bounded by what can be open at a time. Empty in normal operation.
pub(crate) struct Late {
    any: AtomicBool,
    /// `None` once the shard has ended.
    messages: Mutex<Option<Vec<ShardMessage>>>,
    doorbell: Doorbell,
}

impl Late {
    pub(crate) fn new(doorbell: Doorbell) -> Self {
        Self {
            any: AtomicBool::new(false),
            messages: Mutex::new(Some(Vec::new())),
            doorbell,
        }
    }

    /// Leaves `message` for the shard; it comes back if the shard has ended.
    pub(crate) fn push(&self, message: ShardMessage) -> Result<(), ShardMessage> {
        {
            let mut messages = self.lock();
            let Some(messages) = &mut *messages else {
                return Err(message);
            };
            messages.push(message);
            // What the shard looks at before it sleeps, published before the bell is rung.
            self.any.store(true, Ordering::SeqCst);
        }
        self.doorbell.ring();
        Ok(())
    }

    /// Shard: whether something is here. One load.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// Shard: takes everything.
    pub(crate) fn take(&self) -> Vec<ShardMessage> {
        if !self.any() {
            return Vec::new();
        }
        let mut messages = self.lock();
        self.any.store(false, Ordering::SeqCst);
        messages.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Shard: takes nothing any more; what is here is dropped outside of the lock.
    pub(crate) fn close(&self) {
        let messages = self.lock().take();
        drop(messages);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<ShardMessage>>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
