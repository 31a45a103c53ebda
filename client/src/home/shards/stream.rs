//! The consumer's end of a stream whose link is on a shard.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{InstanceId, SendError};
use ringmain_shard::{Inbox, Payload, StreamCell};

use super::shared::{DROPPED, EMPTY, KILL, STOP, SharedStream};
use crate::calls::Terminal;
use crate::home::batch::Batch;

/// Takes messages that the shard has handed over, several per lock.
#[derive(Debug)]
pub(crate) struct ShardStream {
    shared: Arc<SharedStream>,
    instance: InstanceId,
    batch: Batch,
    /// Long messages among those popped since the shard was told.
    reserved_bytes: usize,
}

impl ShardStream {
    pub(super) fn new(shared: Arc<SharedStream>, instance: InstanceId) -> Self {
        Self { shared, instance, batch: Batch::default(), reserved_bytes: 0 }
    }

    pub(crate) const fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The input's end of the same stream.
    pub(crate) fn sink(&self) -> ShardSink {
        let cell = self.shared.cell().cloned().unwrap_or_default();
        ShardSink { shared: Arc::clone(&self.shared), cell }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Terminal>> {
        if let Some(bytes) = self.pop() {
            if self.batch.credit() >= self.shared.credit_step {
                self.tell(0);
            }
            return Poll::Ready(Ok(bytes));
        }
        let (report_empty, end) = {
            let mut inner = self.shared.lock();
            while self.batch.has_room() {
                let Some(message) = inner.inbox.pop() else { break };
                self.batch.push(message);
            }
            if self.batch.is_empty() && inner.end.is_none() {
                inner.waker = Some(cx.waker().clone());
                (std::mem::replace(&mut inner.report_empty, false), None)
            } else {
                (false, inner.end.clone().filter(|_| self.batch.is_empty()))
            }
        };
        if let Some(end) = end {
            return Poll::Ready(Err(end));
        }
        if let Some(bytes) = self.pop() {
            return Poll::Ready(Ok(bytes));
        }
        if report_empty || self.batch.credit() >= self.shared.credit_step {
            self.tell(EMPTY);
        }
        Poll::Pending
    }

    pub(crate) fn stop(&self) {
        self.shared.signal(STOP);
    }

    pub(crate) fn kill(&self) {
        self.shared.signal(KILL);
    }

    fn pop(&mut self) -> Option<Bytes> {
        let bytes = self.batch.pop()?;
        if Inbox::needs_reservation(bytes.len()) {
            self.reserved_bytes += bytes.len();
        }
        Some(bytes)
    }

    /// Returns credit to the shard; no allocation.
    fn tell(&mut self, flags: u8) {
        let reserved_bytes = std::mem::take(&mut self.reserved_bytes);
        self.shared.took(self.batch.take_credit(), reserved_bytes);
        self.shared.signal(flags);
    }
}

impl Drop for ShardStream {
    fn drop(&mut self) {
        // An ended stream has no place on the shard any more.
        if self.shared.lock().place.is_some() {
            self.shared.signal(DROPPED);
        }
    }
}

/// The producer's end of a streamed request.
#[derive(Debug)]
pub(crate) struct ShardSink {
    shared: Arc<SharedStream>,
    cell: Arc<StreamCell>,
}

impl ShardSink {
    pub(crate) const fn cell(&self) -> &Arc<StreamCell> {
        &self.cell
    }

    /// Hands over a message that was let into the queue by the cell.
    pub(crate) fn send(&self, message: Bytes) -> Result<(), SendError> {
        let len = message.len();
        let payload = Payload::from(message).metered(Arc::clone(&self.cell));
        {
            let mut inner = self.shared.lock();
            if inner.end.is_some() || inner.place.is_none() {
                return Err(SendError::Gone);
            }
            let max = inner.message_bytes_max;
            if u32::try_from(len).map_or(true, |len| len > max) {
                return Err(SendError::TooLarge { len, max });
            }
            inner.outgoing.push_back(payload);
        }
        self.shared.signal(0);
        Ok(())
    }

    pub(crate) fn finish(&self) {
        let open = {
            let mut inner = self.shared.lock();
            inner.finished = true;
            inner.place.is_some()
        };
        if open {
            self.shared.signal(0);
        }
    }
}
