//! The server's side of one link.

mod ends;
mod input;
mod open;
mod stream;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use ringmain_codec::{ConnectionError, EndParams, Event, Status, StreamHandle};
use ringmain_shard::{Link, LinkDown, LinkKey, LinkRole, ShardCtx, StreamCell};
use ringmain_telemetry::{Counter, Gauge};

pub(crate) use self::ends::Outcome;
use self::ends::ended_counter;
use self::input::{Input, Piece};
use self::stream::{Phase, ServerStream};
use crate::config::OnDisconnect;
use crate::error::SinkError;
use crate::shard_state::ServerShard;
use crate::sink::{StreamKey, deliver};
use crate::terminal::Terminal;

/// Requests of one accepted link, by the slot of their stream.
pub(crate) struct ServerLink {
    shard: Rc<ServerShard>,
    streams: Vec<Option<ServerStream>>,
    /// The cells of those streams by the same slot: all that a token of an engine step needs, so
    /// that a step of thousands of streams walks through little memory.
    cells: Vec<Option<(StreamHandle, Arc<StreamCell>)>>,
}

impl ServerLink {
    pub(crate) const fn new(shard: Rc<ServerShard>) -> Self {
        Self {
            shard,
            streams: Vec::new(),
            cells: Vec::new(),
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
            self.cells.resize_with(slot + 1, || None);
        }
        self.cells[slot] = Some((stream.stream, Arc::clone(&stream.cell)));
        self.streams[slot] = Some(stream);
    }

    /// Takes a stream out of the table; what it held is given back by the caller.
    fn take(&mut self, ctx: &ShardCtx, stream: StreamHandle) -> Option<ServerStream> {
        self.find(stream)?;
        let mut taken = self.streams[stream.slot as usize].take()?;
        self.cells[stream.slot as usize] = None;
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

    pub(crate) fn set_terminal(&mut self, stream: StreamHandle, terminal: Terminal) {
        if let Some(found) = self.find(stream) {
            found.terminal = Some(Box::new(terminal));
        }
    }

    /// One message from a producer off the shard, which entered it in the stream's cell.
    pub(crate) fn push(
        &mut self,
        ctx: &ShardCtx,
        link: &mut Link,
        stream: StreamHandle,
        message: &[u8],
    ) -> Pushed {
        let cell = self.cells.get(stream.slot as usize);
        let Some((known, cell)) = cell.and_then(Option::as_ref) else {
            return Pushed::Gone;
        };
        if *known != stream {
            return Pushed::Gone;
        }
        match deliver(link, stream, cell, message) {
            Ok(()) => Pushed::Taken,
            Err(SinkError::TooLarge) => {
                // The producer has gone on, so only the stream's end can say it.
                let text = "a message is longer than the caller takes";
                let end = EndParams {
                    message: text,
                    ..EndParams::new(Status::TooLarge)
                };
                self.abort(ctx, link, stream, end);
                Pushed::Refused
            }
            Err(_) => Pushed::Refused,
        }
    }

    /// The engine has pushed everything of a stream.
    pub(crate) fn engine_ended(&mut self, stream: StreamHandle) {
        if let Some(found) = self.find(stream) {
            found.cell.set_closed();
        }
    }
}

/// What became of a message from off the shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// Written or queued.
    Taken,
    /// Not sent; its bytes are off the cell.
    Refused,
    /// The stream is gone; its bytes are still on the cell.
    Gone,
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
                if self.shard.admission().is_draining() {
                    // A link that came after the drain began has not heard of it. Idempotent.
                    link.goaway(Status::Draining, "draining");
                }
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
                Event::SendReady { stream } => Input::SendReady(stream),
                Event::Ready => {
                    ctx.count(Counter::LinksOpened, 1);
                    continue;
                }
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
                    // Closed as well: nothing can be sent, and whoever waits for an engine to end
                    // the stream need not.
                    taken.cell.set_stopped();
                    taken.cell.set_closed();
                    let ended = ctx.sleep_until(ctx.now() + grace);
                    let ctx = ctx.clone();
                    let cell = Arc::clone(&taken.cell);
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
        self.cells.clear();
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A shard that ends without saying goodbye tells producers elsewhere, so that none pushes on.
impl Drop for ServerLink {
    fn drop(&mut self) {
        for stream in self.streams.iter().flatten() {
            stream.cell.set_killed();
            stream.cell.set_closed();
        }
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
