//! Request messages: taken in piece by piece, read by the handler.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::{EndParams, Status, StreamHandle};
use ringmain_shard::{Inbox, Link, LinkKey, Message, ShardCtx};
use ringmain_telemetry::Counter;

use super::ServerLink;
use super::ends::ended_counter;
use super::stream::{Phase, ServerStream};
use crate::shard_state::ServerShard;

/// Why a message over the reassembly budget is refused.
pub(super) const NO_ROOM: &str = "no room to put the message together";

impl ServerLink {
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

    pub(super) fn on_event(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link, event: Input) {
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
            Input::SendReady(stream) => {
                if let Some(found) = self.find(stream) {
                    found.cell.wake_sender();
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
    pub(super) fn on_data(
        &mut self,
        ctx: &ShardCtx,
        stream: StreamHandle,
        piece: Piece<'_>,
    ) -> DataTaken {
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
pub(super) struct DataTaken {
    pub(super) release: u32,
    pub(super) next: Option<Input>,
}

/// One piece of a request message.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) len: Option<u32>,
    pub(super) offset: u32,
    pub(super) message_end: bool,
    pub(super) credit: u32,
}

/// What is left of a codec event once its bytes are copied.
pub(super) enum Input {
    Whole(StreamHandle),
    Ended(StreamHandle),
    Stop(StreamHandle),
    Kill(StreamHandle),
    NoRoom(StreamHandle),
    SendReady(StreamHandle),
    Refused(StreamHandle, Status),
}

pub(super) fn reserve(
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
