//! The sink of a handler that runs on the shard.

use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{Priority, StreamHandle, TrySend};
use ringmain_shard::{LinkKey, Payload, RoomPlace, RoomQueue, ShardCtx, StreamCell};
use ringmain_telemetry::Counter;

use super::{StreamKey, deliver, refusal, sink_error};
use crate::error::SinkError;
use crate::role::ServerLink;
use crate::step::StepSink;
use crate::terminal::Terminal;

/// Sends tokens from a task on the stream's own shard.
///
/// A send copies the token once, into the link's out-buffer, and returns. It waits while the
/// caller's credit is used up, and while the out-buffer is full: nothing is copied aside, and
/// producers that wait for room take turns, with more bytes a turn for a higher priority. What
/// cannot go straight into the out-buffer (a message in fragments, or behind others') is queued,
/// up to `sink_bytes_max`. No allocation, lock or syscall per token.
pub struct LocalSink {
    ctx: ShardCtx,
    key: StreamKey,
    cell: Arc<StreamCell>,
    sink_bytes_max: usize,
    room: Option<Rc<RoomQueue>>,
    /// Where this sink waits for room.
    place: Option<RoomPlace>,
    /// Bytes that may go before it is the turn of others who wait.
    turn_bytes: usize,
    quantum_bytes: usize,
}

impl LocalSink {
    pub(crate) const fn new(
        ctx: ShardCtx,
        key: StreamKey,
        cell: Arc<StreamCell>,
        sink_bytes_max: usize,
        priority: Priority,
    ) -> Self {
        Self {
            ctx,
            key,
            cell,
            sink_bytes_max,
            room: None,
            place: None,
            turn_bytes: 0,
            quantum_bytes: priority.send_quantum_bytes() as usize,
        }
    }

    /// Sends one message. Cancel-safe: a send dropped while it waits has sent nothing.
    ///
    /// # Errors
    ///
    /// The caller dropped the stream, the stream has ended, or the message is too large.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), SinkError> {
        poll_fn(|cx| self.poll_send(cx, message)).await
    }

    /// [`send`](Self::send) for hand-written futures.
    ///
    /// # Errors
    ///
    /// See [`send`](Self::send).
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &[u8],
    ) -> Poll<Result<(), SinkError>> {
        if let Some(error) = refusal(&self.cell) {
            return Poll::Ready(Err(error));
        }
        if self.is_behind_others(cx, message.len()) {
            return Poll::Pending;
        }
        if self.cell.buffered_bytes() > 0 {
            return self.poll_queue(cx, message);
        }
        let StreamKey { link, stream } = self.key;
        let sent = self
            .ctx
            .with_link(link, |link, _| link.try_send(stream, message));
        match sent {
            Some(Ok(TrySend::Written)) => {
                self.ctx.count(Counter::TokensSent, 1);
                Poll::Ready(Ok(()))
            }
            Some(Ok(TrySend::NoRoom)) => {
                self.ctx.count(Counter::SinkFull, 1);
                self.wait_for_room(cx);
                Poll::Pending
            }
            Some(Ok(TrySend::NoCredit)) => {
                self.ctx.count(Counter::SinkFull, 1);
                self.cell.register_sender(cx.waker());
                Poll::Pending
            }
            // Something of others waits in the codec, or the message goes in fragments.
            Some(Ok(TrySend::Queued)) => self.poll_queue(cx, message),
            Some(Err(error)) => Poll::Ready(Err(sink_error(error))),
            None => Poll::Ready(Err(SinkError::Closed)),
        }
    }

    /// Hands a message to the stream's queue, as far as `sink_bytes_max` goes.
    fn poll_queue(&mut self, cx: &Context<'_>, message: &[u8]) -> Poll<Result<(), SinkError>> {
        match self.try_send(message) {
            Ok(true) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
            Ok(false) => {
                self.cell.register_sender(cx.waker());
                match self.try_send(message) {
                    Ok(false) => Poll::Pending,
                    done => Poll::Ready(done.map(|_| ())),
                }
            }
        }
    }

    /// Whether others wait for room in the link's out-buffer and it is not this stream's turn.
    fn is_behind_others(&mut self, cx: &Context<'_>, bytes: usize) -> bool {
        if self.room.is_none() {
            // Not at the start: a role may not ask for it, and makes the sink.
            self.room = self.ctx.room(self.key.link);
        }
        let Some(room) = &self.room else { return false };
        if let Some(place) = self.place {
            if room.still_waits(place, cx.waker()) {
                return true;
            }
            self.place = None;
            self.turn_bytes = self.quantum_bytes;
        }
        if room.is_empty() {
            return false;
        }
        if self.turn_bytes > 0 {
            // A message that is longer than the rest of the turn still goes.
            self.turn_bytes = self.turn_bytes.saturating_sub(bytes);
            return false;
        }
        self.wait_for_room(cx);
        true
    }

    fn wait_for_room(&mut self, cx: &Context<'_>) {
        if let Some(room) = &self.room {
            self.place = Some(room.wait(cx.waker()));
            // A kill must find it as well.
            self.cell.register_sender(cx.waker());
        }
    }

    /// Sends one message if it need not wait; false if it would.
    ///
    /// # Errors
    ///
    /// See [`send`](Self::send).
    pub fn try_send(&mut self, message: &[u8]) -> Result<bool, SinkError> {
        if let Some(error) = refusal(&self.cell) {
            return Err(error);
        }
        let StreamKey { link, stream } = self.key;
        let cell = &self.cell;
        let max = self.sink_bytes_max;
        let sent = self.ctx.with_link(link, |link, _| {
            if cell.buffered_bytes() == 0
                && link.try_send(stream, message).map_err(sink_error)? == TrySend::Written
            {
                return Ok(true);
            }
            if !cell.try_enter_queue(message.len(), max) {
                return Ok(false);
            }
            deliver(link, stream, cell, message).map(|()| true)
        });
        match sent.unwrap_or(Err(SinkError::Closed)) {
            Ok(true) => {
                self.ctx.count(Counter::TokensSent, 1);
                Ok(true)
            }
            Ok(false) => {
                self.ctx.count(Counter::SinkFull, 1);
                Ok(false)
            }
            error => error,
        }
    }

    /// Sends one piece of a longer message as a frame of its own, if it need not wait; false if
    /// it would. The pieces of a message must add up to `message_len`, and no other send may come
    /// between them. This is how a relay forwards without putting messages together.
    ///
    /// # Errors
    ///
    /// See [`send`](Self::send).
    pub fn try_send_fragment(
        &self,
        fragment: &[u8],
        message_len: u32,
        message_end: bool,
    ) -> Result<bool, SinkError> {
        if let Some(error) = refusal(&self.cell) {
            return Err(error);
        }
        let StreamKey { link, stream } = self.key;
        let sent = self.ctx.with_link(link, |link, _| {
            link.try_send_fragment(stream, fragment, message_len, message_end)
                .map_err(sink_error)
        });
        let written = sent.unwrap_or(Err(SinkError::Closed))? == TrySend::Written;
        self.ctx
            .count(Counter::TokensSent, u64::from(written && message_end));
        Ok(written)
    }

    /// As [`try_send_fragment`](Self::try_send_fragment), and else queues the piece without a
    /// copy; waits while `sink_bytes_max` bytes wait already. Cancel-safe. The piece may be longer
    /// than [`fragment_bytes_max`](Self::fragment_bytes_max).
    ///
    /// # Errors
    ///
    /// See [`send`](Self::send).
    pub fn poll_send_fragment(
        &self,
        cx: &mut Context<'_>,
        fragment: &Bytes,
        message_len: u32,
        message_end: bool,
    ) -> Poll<Result<(), SinkError>> {
        if self.buffered_bytes() == 0
            && self.try_send_fragment(fragment, message_len, message_end)?
        {
            return Poll::Ready(Ok(()));
        }
        let (cell, max) = (&self.cell, self.sink_bytes_max);
        if !cell.try_enter_queue(fragment.len(), max) {
            self.ctx.count(Counter::SinkFull, 1);
            cell.register_sender(cx.waker());
            if let Some(error) = refusal(cell) {
                return Poll::Ready(Err(error));
            }
            if !cell.try_enter_queue(fragment.len(), max) {
                return Poll::Pending;
            }
        }
        // From here on the payload takes its bytes off the cell, on every exit.
        let payload = Payload::from(fragment.clone()).metered(Arc::clone(cell));
        let StreamKey { link, stream } = self.key;
        let sent = self.ctx.with_link(link, |link, _| {
            link.send_fragment(stream, payload, message_len, message_end)
                .map_err(sink_error)
        });
        let queued = sent.unwrap_or(Err(SinkError::Closed));
        if queued.is_ok() {
            self.ctx.count(Counter::TokensSent, u64::from(message_end));
        }
        Poll::Ready(queued)
    }

    /// Completes when no more than `max` bytes wait for credit or room; at once if the stream is
    /// over.
    pub fn poll_buffered(&self, cx: &mut Context<'_>, max: usize) -> Poll<()> {
        let is_done = || self.buffered_bytes() <= max || refusal(&self.cell).is_some();
        if is_done() {
            return Poll::Ready(());
        }
        self.cell.register_sender(cx.waker());
        if is_done() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Bytes that were sent and still wait for credit or room.
    pub fn buffered_bytes(&self) -> usize {
        self.cell.buffered_bytes()
    }

    /// The longest fragment that [`try_send_fragment`](Self::try_send_fragment) takes on this
    /// link. It never changes; 0 once the link is gone.
    pub fn fragment_bytes_max(&self) -> usize {
        let max = self
            .ctx
            .with_link(self.key.link, |link, _| link.fragment_bytes_max());
        max.unwrap_or(0)
    }

    /// Tells the caller that its request was taken; for handlers that
    /// [accept late](crate::LocalHandler::accepts_late).
    pub fn accept(&self) {
        let StreamKey { link, stream } = self.key;
        self.ctx.with_link(link, |link, _| link.accept(stream));
    }

    /// Fixes what the terminal says if the handler ends without an error; its status may be a bad
    /// one. Without it, that end is `ok`, or `cancelled` once STOP came.
    pub fn set_terminal(&self, terminal: Terminal) {
        let StreamKey { link, stream } = self.key;
        self.ctx.with_link(link, |_, role| {
            ServerLink::of(role).set_terminal(stream, terminal);
        });
    }

    /// Attaches a pair to the terminal, for example a usage record. Kept until the handler ends.
    pub fn add_trailer(&self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let StreamKey { link, stream } = self.key;
        let pair = (key.into(), value.into());
        self.ctx.with_link(link, |_, role| {
            ServerLink::of(role).add_trailer(stream, pair)
        });
    }

    /// A handle with which an engine thread pushes this stream's tokens through a
    /// [`StepWriter`](crate::StepWriter) while the handler waits.
    pub fn step_sink(&self) -> StepSink {
        StepSink::new(
            self.ctx.handles()[self.ctx.index()].clone(),
            self.key,
            Arc::clone(&self.cell),
            self.sink_bytes_max,
        )
    }

    /// The link and stream this sink writes to.
    pub const fn target(&self) -> (LinkKey, StreamHandle) {
        (self.key.link, self.key.stream)
    }
}

impl Drop for LocalSink {
    fn drop(&mut self) {
        if let (Some(room), Some(place)) = (&self.room, self.place) {
            room.forget(place);
        }
    }
}

impl fmt::Debug for LocalSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSink")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
