//! The server's side of one link.

mod open;
mod stream;

use std::any::Any;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{ConnectionError, EndParams, Event, Metadata, Status, StreamHandle};
use ringmain_shard::{Inbox, Link, LinkDown, LinkKey, LinkRole, Message, ShardCtx};
use ringmain_telemetry::{Counter, Gauge};

use self::stream::{Phase, ServerStream};
use crate::config::OnDisconnect;
use crate::error::{HandlerError, SinkError};
use crate::shard_state::ServerShard;
use crate::sink::{StreamKey, deliver};

/// Why a message over the reassembly budget is refused.
const NO_ROOM: &str = "no room to put the message together";

/// Requests of one accepted link, by the slot of their stream.
pub(crate) struct ServerLink {
    shard: Rc<ServerShard>,
    streams: Vec<Option<ServerStream>>,
}

/// How a handler ended.
pub(crate) enum Outcome {
    Done,
    Failed(HandlerError),
    Panicked,
}

impl ServerLink {
    pub(crate) const fn new(shard: Rc<ServerShard>) -> Self {
        Self {
            shard,
            streams: Vec::new(),
        }
    }

    /// The server's role of a link that a server accepted.
    pub(crate) fn of(role: &mut dyn LinkRole) -> &mut Self {
        let Some(this) = role.as_any().downcast_mut() else {
            unreachable!("streams of a server live on links that a server accepted");
        };
        this
    }

    fn find(&mut self, stream: StreamHandle) -> Option<&mut ServerStream> {
        let found = self.streams.get_mut(stream.slot as usize)?.as_mut()?;
        (found.stream == stream).then_some(found)
    }

    fn put(&mut self, stream: ServerStream) {
        let slot = stream.stream.slot as usize;
        if self.streams.len() <= slot {
            self.streams.resize_with(slot + 1, || None);
        }
        self.streams[slot] = Some(stream);
    }

    /// Takes a stream out of the table; what it held is given back by the caller.
    fn take(&mut self, ctx: &ShardCtx, stream: StreamHandle) -> Option<ServerStream> {
        self.find(stream)?;
        let mut taken = self.streams[stream.slot as usize].take()?;
        if let Some(timer) = taken.deadline.take() {
            ctx.cancel_timer(timer);
        }
        self.shard.unreserve(ctx, taken.reserved_bytes);
        if let Phase::Waiting { ticket, .. } = &taken.phase {
            self.shard.leave_queue(ctx, ticket);
        }
        if let Some(input) = taken.shared_input.take() {
            input.close();
        }
        ctx.cells().gauge_sub(Gauge::StreamsOpen, 1);
        Some(taken)
    }

    pub(crate) fn add_trailer(&mut self, stream: StreamHandle, pair: (Bytes, Bytes)) {
        if let Some(found) = self.find(stream) {
            found.trailers.push(pair);
        }
    }

    /// One token of an engine step; whether it was taken.
    pub(crate) fn push(&mut self, link: &mut Link, stream: StreamHandle, token: &[u8]) -> bool {
        // A stream that is gone took its cell's count with it.
        let Some(found) = self.find(stream) else {
            return false;
        };
        match deliver(link, stream, &found.cell, token) {
            Ok(()) => true,
            Err(SinkError::TooLarge) => {
                found.cell.set_closed();
                false
            }
            Err(_) => false,
        }
    }

    /// The engine has pushed everything of a stream.
    pub(crate) fn engine_ended(&mut self, stream: StreamHandle) {
        if let Some(found) = self.find(stream) {
            found.cell.set_closed();
        }
    }

    /// The next whole message of a local handler's input.
    pub(crate) fn poll_input(
        &mut self,
        link: &mut Link,
        stream: StreamHandle,
        cx: &Context<'_>,
    ) -> Poll<Option<Bytes>> {
        let Some(found) = self.find(stream) else {
            return Poll::Ready(None);
        };
        if let Some(Message { bytes, mut credit }) = found.inbox.pop() {
            if found.inbox.ready() == 0 {
                credit += std::mem::take(&mut found.held);
            }
            link.release(stream, credit);
            return Poll::Ready(Some(bytes));
        }
        if found.input_ended {
            return Poll::Ready(None);
        }
        found.input_waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Sends the terminal of a handler that has ended, behind what it sent.
    pub(crate) fn handler_ended(
        &mut self,
        ctx: &ShardCtx,
        link: &mut Link,
        stream: StreamHandle,
        outcome: &Outcome,
    ) {
        let Some(taken) = self.take(ctx, stream) else {
            return;
        };
        let stopped = taken.cell.is_stopped();
        taken.cell.set_closed();
        let (status, message) = match outcome {
            Outcome::Done if stopped => (Status::Cancelled, ""),
            Outcome::Done => (Status::Ok, ""),
            Outcome::Failed(error) => (error.status, error.message.as_str()),
            Outcome::Panicked => (Status::HandlerPanicked, "the handler panicked"),
        };
        ctx.count(ended_counter(status), 1);
        if matches!(outcome, Outcome::Panicked) {
            ctx.count(Counter::HandlerPanics, 1);
        }
        let mut buf = Vec::new();
        let pairs = taken.trailers.iter().map(|(key, value)| (key, value));
        let trailers = Metadata::encode_pairs(pairs, &mut buf).unwrap_or_else(|rule| {
            tracing::warn!(%rule, "stream.trailers_dropped");
            Metadata::default()
        });
        link.end(
            stream,
            EndParams {
                message,
                trailers,
                ..EndParams::new(status)
            },
        );
    }

    /// Ends a stream without its handler: kill, deadline, rejection.
    fn abort(&mut self, ctx: &ShardCtx, link: &mut Link, stream: StreamHandle, end: EndParams<'_>) {
        let Some(taken) = self.take(ctx, stream) else {
            return;
        };
        let started = matches!(taken.phase, Phase::Running { .. });
        if started {
            ctx.count(ended_counter(end.status), 1);
        } else if let Some(counter) = rejected_counter(end.status) {
            ctx.count(counter, 1);
        }
        taken.cell.set_killed();
        taken.cell.set_closed();
        link.end(
            stream,
            EndParams {
                discard_queued: true,
                ..end
            },
        );
    }

    fn on_event(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link, event: Input) {
        match event {
            Input::Whole(stream) => self.first_message(ctx, key, link, stream),
            Input::Ended(stream) => {
                if let Some(found) = self.find(stream) {
                    found.input_ended = true;
                    found.wake_input();
                    self.first_message(ctx, key, link, stream);
                }
            }
            Input::Stop(stream) => {
                if let Some(found) = self.find(stream) {
                    found.cell.set_stopped();
                    if !matches!(found.phase, Phase::Running { .. }) {
                        self.abort(ctx, link, stream, EndParams::new(Status::Cancelled));
                    }
                }
            }
            Input::NoRoom(stream) => {
                let end = EndParams {
                    message: NO_ROOM,
                    limit: Some("reassembly_bytes_max"),
                    retry_after: Some(self.shard.config().retry_after),
                    ..EndParams::new(Status::Overloaded)
                };
                self.abort(ctx, link, stream, end);
            }
            Input::Kill(stream) => {
                self.abort(ctx, link, stream, EndParams::new(Status::Killed));
            }
            Input::Refused(stream, status) => {
                // The codec has told the peer; only this side's state is left.
                if let Some(taken) = self.take(ctx, stream) {
                    taken.cell.set_killed();
                    ctx.count(ended_counter(status), 1);
                }
            }
        }
    }

    /// Takes a piece in; what is left to do once the piece's borrow of the link has ended.
    fn on_data(&mut self, ctx: &ShardCtx, stream: StreamHandle, piece: Piece<'_>) -> DataTaken {
        let shard = Rc::clone(&self.shard);
        let Some(found) = self.find(stream) else {
            return DataTaken {
                release: piece.credit,
                next: None,
            };
        };
        if piece.offset == 0 && !reserve(&shard, ctx, found, piece.len) {
            return DataTaken {
                release: 0,
                next: Some(Input::NoRoom(stream)),
            };
        }
        // Asked before the piece can make the message whole: the message itself is not behind.
        let long = found.reserved_bytes > 0;
        let kept = long && found.hold(piece.credit);
        let taken = found
            .inbox
            .push(piece.bytes, piece.len, piece.message_end, piece.credit);
        if taken.message_end {
            let reserved = std::mem::take(&mut found.reserved_bytes);
            shard.unreserve(ctx, reserved);
        }
        if taken.message_end {
            ctx.count(Counter::TokensReceived, 1);
            if matches!(found.phase, Phase::Running { .. }) {
                found.wake_input();
            }
        }
        let next = taken.message_end.then_some(Input::Whole(stream));
        DataTaken {
            release: if kept { 0 } else { taken.release_now },
            next,
        }
    }
}

/// What is left to do after a piece.
struct DataTaken {
    release: u32,
    next: Option<Input>,
}

/// One piece of a request message.
#[derive(Clone, Copy)]
struct Piece<'a> {
    bytes: &'a [u8],
    len: Option<u32>,
    offset: u32,
    message_end: bool,
    credit: u32,
}

/// What is left of a codec event once its bytes are copied.
enum Input {
    Whole(StreamHandle),
    Ended(StreamHandle),
    Stop(StreamHandle),
    Kill(StreamHandle),
    NoRoom(StreamHandle),
    Refused(StreamHandle, Status),
}

fn reserve(
    shard: &ServerShard,
    ctx: &ShardCtx,
    stream: &mut ServerStream,
    len: Option<u32>,
) -> bool {
    let len = len.map_or(0, |len| len as usize);
    if !Inbox::needs_reservation(len) {
        return true;
    }
    if !shard.reserve(ctx, len) {
        ctx.count(Counter::QueueFull, 1);
        return false;
    }
    stream.reserved_bytes += len;
    true
}

/// The outcome counter of a stream that had started.
const fn ended_counter(status: Status) -> Counter {
    match status {
        Status::Ok => Counter::StreamsOk,
        Status::Cancelled | Status::Killed => Counter::StreamsCancelled,
        _ => Counter::StreamsFailed,
    }
}

/// The reason counter of a stream that was turned away.
pub(crate) const fn rejected_counter(status: Status) -> Option<Counter> {
    match status {
        Status::Overloaded => Some(Counter::StreamsRejectedOverloaded),
        Status::Draining => Some(Counter::StreamsRejectedDraining),
        Status::UnknownEndpoint => Some(Counter::StreamsRejectedUnknownEndpoint),
        Status::DeadlineExceeded => Some(Counter::StreamsRejectedDeadline),
        _ => None,
    }
}

impl LinkRole for ServerLink {
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        mut chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        let now = ctx.now();
        loop {
            let Some(event) = link.read(now, &mut chunk)? else {
                return Ok(());
            };
            let input = match event {
                Event::Data {
                    stream,
                    piece,
                    message_len,
                    message_offset,
                    message_end,
                    credit,
                    ..
                } => {
                    let piece = Piece {
                        bytes: piece,
                        len: message_len,
                        offset: message_offset,
                        message_end,
                        credit,
                    };
                    let taken = self.on_data(ctx, stream, piece);
                    link.release(stream, taken.release);
                    let Some(next) = taken.next else { continue };
                    next
                }
                Event::Open {
                    stream,
                    open,
                    credit,
                } => {
                    let opening = self.opening(ctx, stream, &open);
                    let piece = Piece {
                        bytes: open.request,
                        len: open.request_len,
                        offset: 0,
                        message_end: open.request_len == u32::try_from(open.request.len()).ok(),
                        credit,
                    };
                    // The request bytes borrow the connection: take them in before answering.
                    let first = open.request_len.is_some().then_some(piece);
                    match self.opened(ctx, stream, opening, first) {
                        Ok(release) => link.release(stream, release),
                        Err(refusal) => {
                            refusal.answer(ctx, link, stream);
                            continue;
                        }
                    }
                    Input::Whole(stream)
                }
                Event::EndRequest { stream } => Input::Ended(stream),
                Event::Stop { stream } => Input::Stop(stream),
                Event::Kill { stream } => Input::Kill(stream),
                Event::Refused { stream, status } => Input::Refused(stream, status),
                _ => continue,
            };
            self.on_event(ctx, key, link, input);
        }
    }

    fn on_stream_timer(
        &mut self,
        ctx: &ShardCtx,
        _key: LinkKey,
        link: &mut Link,
        stream: StreamHandle,
    ) {
        if let Some(found) = self.find(stream) {
            found.deadline = None;
            let message = match found.phase {
                Phase::Running { .. } => "the handler was still running",
                _ => "the request was still waiting for a handler",
            };
            let end = EndParams {
                message,
                ..EndParams::new(Status::DeadlineExceeded)
            };
            self.abort(ctx, link, stream, end);
        }
    }

    fn on_down(&mut self, ctx: &ShardCtx, _key: LinkKey, link: &mut Link, _down: &LinkDown) {
        while let Some((stream, _)) = link.poll_failed() {
            let Some(mut taken) = self.take(ctx, stream) else {
                continue;
            };
            let status = Status::ConnectionLost;
            taken.input_ended = true;
            taken.wake_input();
            if !matches!(taken.phase, Phase::Running { .. }) {
                continue;
            }
            ctx.count(ended_counter(status), 1);
            match self.shard.config().on_disconnect {
                OnDisconnect::Kill => taken.cell.set_killed(),
                OnDisconnect::Stop { grace } => {
                    taken.cell.set_stopped();
                    let ended = ctx.sleep_until(ctx.now() + grace);
                    let ctx = ctx.clone();
                    let cell = std::sync::Arc::clone(&taken.cell);
                    ctx.spawn(async move {
                        ended.await;
                        cell.set_killed();
                        drop(taken);
                    })
                    .detach();
                }
            }
        }
        self.streams.clear();
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Runs `f` on the server's side of a stream's link; `None` if the link is gone.
pub(crate) fn with_server_link<T>(
    ctx: &ShardCtx,
    key: StreamKey,
    f: impl FnOnce(&mut Link, &mut ServerLink) -> T,
) -> Option<T> {
    ctx.with_link(key.link, |link, role| f(link, ServerLink::of(role)))
}
