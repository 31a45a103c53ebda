//! Further messages of a request, sent on the shard that has its link.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::SendError;
use ringmain_shard::{Payload, ShardCtx, StreamCell};

use crate::calls::StreamKey;
use crate::home::shards::LocalLink;
use crate::response::SinkError;

/// Sends the further messages of a streamed request from a task of the shard. Dropping it ends
/// the input; it cancels nothing.
pub struct LocalRequestSink {
    ctx: ShardCtx,
    link: LocalLink,
    key: StreamKey,
    cell: Arc<StreamCell>,
    queue_bytes_max: usize,
}

impl LocalRequestSink {
    pub(super) fn new(
        ctx: &ShardCtx,
        link: &LocalLink,
        key: StreamKey,
        queue_bytes_max: usize,
    ) -> Self {
        Self {
            ctx: ctx.clone(),
            link: link.clone(),
            key,
            cell: Arc::default(),
            queue_bytes_max,
        }
    }

    /// Queues a message; waits while `queue_bytes_max` bytes wait to be sent. Cancel-safe: a
    /// message is queued whole or not at all.
    ///
    /// # Errors
    ///
    /// The stream has ended, or the message is too long for the responder.
    pub async fn send(&mut self, message: impl Into<Bytes>) -> Result<(), SinkError> {
        let message = message.into();
        poll_fn(|cx| self.poll_send(cx, &message)).await
    }

    /// [`send`](Self::send) for hand-written futures.
    ///
    /// # Errors
    ///
    /// See [`send`](Self::send).
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &Bytes,
    ) -> Poll<Result<(), SinkError>> {
        let (cell, max) = (&self.cell, self.queue_bytes_max);
        // The end of the stream empties the queue, so nobody waits for ever.
        if !cell.try_enter_queue(message.len(), max) {
            cell.register_sender(cx.waker());
            if !cell.try_enter_queue(message.len(), max) {
                return Poll::Pending;
            }
        }
        let payload = Payload::from(message.clone()).metered(Arc::clone(cell));
        let sent = self
            .link
            .with(&self.ctx, |calls, link| calls.send(self.key, link, payload));
        let sent = sent.unwrap_or(Err(SendError::Gone));
        Poll::Ready(sent.map_err(|error| match error {
            SendError::TooLarge { len, max } => SinkError::TooLarge { len, max },
            _ => SinkError::Ended,
        }))
    }

    /// Ends the input, behind what is queued. The same as dropping the sink.
    pub fn finish(self) {}
}

impl Drop for LocalRequestSink {
    fn drop(&mut self) {
        self.link
            .with(&self.ctx, |calls, link| calls.finish(self.key, link));
    }
}

impl std::fmt::Debug for LocalRequestSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalRequestSink").finish_non_exhaustive()
    }
}
