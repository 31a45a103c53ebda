//! What a call returns: the stream of its response, and the sink of a streamed request.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use ringmain_codec::{InstanceId, RequestId, SendError, Started};
use ringmain_shard::StreamCell;

use crate::calls::Terminal;
use crate::end::EndInfo;
use crate::error::StreamError;
#[cfg(feature = "inline")]
use crate::home::inline::{InlineSink, InlineStream};
use crate::home::shards::{ShardSink, ShardStream};

/// The messages of one response, in order, then its end.
///
/// Any thread may hold it, one at a time. Items are whole messages; after the last one comes
/// exactly one end: `None` when all went well, else one error and then `None`. Credit goes back
/// to the responder only as messages are taken, so a slow consumer slows its own stream and no
/// other. Dropping it drops the stream at the responder (KILL), unless it has ended.
///
/// `next` is cancel-safe: a message is lost neither by dropping the future nor by `select`.
#[derive(Debug)]
pub struct ResponseStream {
    source: Source,
    request_id: RequestId,
    phase: Phase,
}

#[derive(Debug)]
pub(crate) enum Source {
    #[cfg(feature = "inline")]
    Inline(InlineStream),
    Shard(ShardStream),
}

#[derive(Debug)]
enum Phase {
    Open,
    /// The terminal was delivered.
    Ended(Box<Terminal>),
}

impl ResponseStream {
    pub(crate) const fn new(source: Source, request_id: RequestId) -> Self {
        Self {
            source,
            request_id,
            phase: Phase::Open,
        }
    }

    /// The next message, or how the stream ended badly; `None` at its end.
    pub async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    /// Asks the responder to finish early: what it still sends arrives, then the end. A
    /// `cancelled` end is then a good one.
    pub fn stop(&self) {
        match &self.source {
            #[cfg(feature = "inline")]
            Source::Inline(stream) => stream.stop(),
            Source::Shard(stream) => stream.stop(),
        }
    }

    /// Drops the stream at the responder now. What has arrived can still be read; then comes a
    /// `killed` end.
    pub fn kill(&self) {
        match &self.source {
            #[cfg(feature = "inline")]
            Source::Inline(stream) => stream.kill(),
            Source::Shard(stream) => stream.kill(),
        }
    }

    /// Who answers.
    pub const fn instance(&self) -> InstanceId {
        match &self.source {
            #[cfg(feature = "inline")]
            Source::Inline(stream) => stream.instance(),
            Source::Shard(stream) => stream.instance(),
        }
    }

    /// The request's id across hops.
    pub const fn request_id(&self) -> RequestId {
        self.request_id
    }

    /// Whether the handler was called. `Yes` once the stream was returned, except for one that
    /// ended without any message: then as the end said.
    pub fn started(&self) -> Started {
        match &self.phase {
            Phase::Open => Started::Yes,
            Phase::Ended(end) => end.started,
        }
    }

    /// How the stream ended; `None` until its last item was taken.
    pub fn end(&self) -> Option<&EndInfo> {
        match &self.phase {
            Phase::Open => None,
            Phase::Ended(end) => Some(&end.info),
        }
    }

    pub(crate) fn sink(&self, queue_bytes_max: usize) -> RequestSink {
        let target = match &self.source {
            #[cfg(feature = "inline")]
            Source::Inline(stream) => Target::Inline(stream.sink()),
            Source::Shard(stream) => Target::Shard(stream.sink()),
        };
        RequestSink {
            target,
            queue_bytes_max,
        }
    }

    fn poll_message(&mut self, cx: &Context<'_>) -> Poll<Option<Result<Bytes, StreamError>>> {
        if matches!(self.phase, Phase::Ended(_)) {
            return Poll::Ready(None);
        }
        let polled = match &mut self.source {
            #[cfg(feature = "inline")]
            Source::Inline(stream) => stream.poll_next(cx),
            Source::Shard(stream) => stream.poll_next(cx),
        };
        polled.map(|item| match item {
            Ok(bytes) => Some(Ok(bytes)),
            Err(end) => {
                let error = end.error(self.instance());
                self.phase = Phase::Ended(Box::new(end));
                error.map(Err)
            }
        })
    }
}

impl Stream for ResponseStream {
    type Item = Result<Bytes, StreamError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_message(cx)
    }
}

/// Sends the further messages of a streamed request. Dropping it ends the input; it cancels
/// nothing.
#[derive(Debug)]
pub struct RequestSink {
    target: Target,
    queue_bytes_max: usize,
}

#[derive(Debug)]
enum Target {
    #[cfg(feature = "inline")]
    Inline(InlineSink),
    Shard(ShardSink),
}

/// Why a message of a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The stream has ended; its response says how.
    #[error("stream has ended")]
    Ended,
    /// The message is longer than the responder takes.
    #[error("message of {len} bytes is over the peer's limit of {max}")]
    TooLarge {
        /// The message's length.
        len: usize,
        /// The peer's limit.
        max: u32,
    },
}

impl Target {
    const fn cell(&self) -> &Arc<StreamCell> {
        match self {
            #[cfg(feature = "inline")]
            Self::Inline(sink) => sink.cell(),
            Self::Shard(sink) => sink.cell(),
        }
    }

    fn send(&self, message: Bytes) -> Result<(), SendError> {
        match self {
            #[cfg(feature = "inline")]
            Self::Inline(sink) => sink.send(message),
            Self::Shard(sink) => sink.send(message),
        }
    }
}

impl RequestSink {
    /// Queues a message; waits while `queue_bytes_max` bytes wait to be sent. Cancel-safe: a
    /// message is queued whole or not at all.
    ///
    /// # Errors
    ///
    /// The stream has ended, or the message is too long for the responder.
    pub async fn send(&mut self, message: impl Into<Bytes>) -> Result<(), SinkError> {
        let message = message.into();
        let (cell, max) = (self.target.cell(), self.queue_bytes_max);
        // The end of the stream empties the queue, so nobody waits for ever.
        poll_fn(|cx| {
            if cell.try_enter_queue(message.len(), max) {
                return Poll::Ready(());
            }
            cell.register_sender(cx.waker());
            if cell.try_enter_queue(message.len(), max) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        self.target.send(message).map_err(|error| match error {
            SendError::TooLarge { len, max } => SinkError::TooLarge { len, max },
            _ => SinkError::Ended,
        })
    }

    /// Ends the input, behind what is queued. The same as dropping the sink.
    pub fn finish(self) {}
}

impl Drop for RequestSink {
    fn drop(&mut self) {
        match &self.target {
            #[cfg(feature = "inline")]
            Target::Inline(sink) => sink.finish(),
            Target::Shard(sink) => sink.finish(),
        }
    }
}
