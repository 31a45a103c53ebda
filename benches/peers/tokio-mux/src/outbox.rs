//! What waits to be sent on a connection, and the task that sends it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

use crate::frame::{self, Kind};

/// Producers wait while more than this is unsent.
const UNSENT_BYTES_MAX: usize = 256 * 1024;

/// Frames of all streams of a connection, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    unsent: Mutex<Vec<u8>>,
    filled: Notify,
    emptied: Notify,
}

impl Outbox {
    /// Queues a frame; whether the producer should wait for room before its next.
    pub(crate) fn push(&self, kind: Kind, stream: u64, payload: &[u8]) -> bool {
        let mut unsent = self.unsent();
        let was_empty = unsent.is_empty();
        frame::write(&mut unsent, kind, stream, payload);
        let is_full = unsent.len() > UNSENT_BYTES_MAX;
        drop(unsent);
        if was_empty {
            self.filled.notify_one();
        }
        is_full
    }

    /// Waits until there is room again.
    pub(crate) async fn room(&self) {
        loop {
            // Registered before the look, so that a send in between is not missed.
            let emptied = self.emptied.notified();
            if self.unsent().len() <= UNSENT_BYTES_MAX {
                return;
            }
            emptied.await;
        }
    }

    /// Sends what is queued, for as long as the connection lives.
    pub(crate) async fn send_all(&self, mut socket: OwnedWriteHalf) -> std::io::Result<()> {
        let mut sending = Vec::new();
        loop {
            self.filled.notified().await;
            // All tasks that are ready now add their frames before one send takes them.
            tokio::task::yield_now().await;
            std::mem::swap(&mut *self.unsent(), &mut sending);
            self.emptied.notify_waiters();
            socket.write_all(&sending).await?;
            sending.clear();
        }
    }

    fn unsent(&self) -> MutexGuard<'_, Vec<u8>> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
