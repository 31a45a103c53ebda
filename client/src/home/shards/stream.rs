//! The consumer's end of a stream whose link is on a shard.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{InstanceId, SendError};
use ringmain_shard::{Payload, StreamCell};

use super::shared::{DROPPED, EMPTY, KILL, STOP, SharedStream};
use crate::calls::{Terminal, register};
use crate::home::batch::Batch;

/// Takes messages that the shard has handed over, several per lock.
#[derive(Debug)]
pub(crate) struct ShardStream {
    shared: Arc<SharedStream>,
    instance: InstanceId,
    batch: Batch,
}

impl ShardStream {
    pub(super) fn new(shared: Arc<SharedStream>, instance: InstanceId) -> Self {
        Self {
            shared,
            instance,
            batch: Batch::default(),
        }
    }

    pub(crate) const fn instance(&self) -> InstanceId {
        self.instance
    }

    /// The input's end of the same stream.
    pub(crate) fn sink(&self) -> ShardSink {
        let cell = self.shared.cell().cloned().unwrap_or_default();
        ShardSink {
            shared: Arc::clone(&self.shared),
            cell,
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Result<Bytes, Terminal>> {
        if let Some(bytes) = self.batch.pop() {
            if self.batch.credit() >= self.shared.credit_step {
                self.tell();
            }
            return Poll::Ready(Ok(bytes));
        }
        let report_empty = {
            let mut inner = self.shared.lock();
            std::mem::swap(&mut self.batch.inbox, &mut inner.inbox);
            match self.batch.pop() {
                Some(bytes) => return Poll::Ready(Ok(bytes)),
                None => {
                    if let Some(end) = &inner.end {
                        return Poll::Ready(Err(end.clone()));
                    }
                }
            }
            register(&mut inner.waker, cx);
            std::mem::replace(&mut inner.report_empty, false)
        };
        if report_empty || self.batch.credit() >= self.shared.credit_step {
            self.tell();
        }
        Poll::Pending
    }

    pub(crate) fn stop(&self) {
        self.shared.signal(STOP);
    }

    pub(crate) fn kill(&self) {
        self.shared.signal(KILL);
    }

    /// Returns what is owed to the shard; no allocation.
    fn tell(&mut self) {
        let took = self.batch.take_owed();
        self.shared.took(took.credit, took.reserved_bytes);
        self.shared.signal(if took.all { EMPTY } else { 0 });
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
