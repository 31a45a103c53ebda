//! The caller's side of a stream that is passed on.

use std::cell::Cell;
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_client::{Forward, ForwardEnd, Offered, Piece, PieceRef};
use ringmain_codec::{Started, Status};
use ringmain_server::{LocalSink, SinkError, Terminal};
use ringmain_shard::ShardCtx;
use ringmain_telemetry::{Counter, Gauge};

/// Writes what arrives to the caller's link, from inside the worker's link or from the task.
pub(super) struct Downstream {
    ctx: ShardCtx,
    sink: LocalSink,
    /// The longest fragment that leaves at once; fixed for the link.
    fragment_bytes_max: usize,
    /// Bytes that were put aside and not moved yet.
    aside: Cell<usize>,
    /// What the gauge shows for this stream.
    shown: Cell<usize>,
}

/// How a stream that is passed on ends.
pub(super) enum End {
    /// As the worker said, or whoever stood in for it.
    Upstream(ForwardEnd),
    /// By a limit that was met here.
    Here(Terminal),
}

impl Downstream {
    pub(super) fn new(ctx: ShardCtx, sink: LocalSink) -> Self {
        Self {
            fragment_bytes_max: sink.fragment_bytes_max(),
            ctx,
            sink,
            aside: Cell::new(0),
            shown: Cell::new(0),
        }
    }

    pub(super) const fn sink(&self) -> &LocalSink {
        &self.sink
    }

    /// Moves a piece that was put aside: it is written or queued, without a further copy, or has
    /// to wait. Pieces for a caller that is gone go nowhere.
    pub(super) fn poll_move(&self, cx: &mut Context<'_>, piece: &Piece) -> Poll<Result<(), End>> {
        let Some(message_len) = piece.message_len else {
            let end = Terminal::new(Status::Internal, "a message of unknown length");
            return Poll::Ready(Err(End::Here(end)));
        };
        let moved = self
            .sink
            .poll_send_fragment(cx, &piece.bytes, message_len, piece.message_end);
        let Poll::Ready(moved) = moved else {
            return Poll::Pending;
        };
        let len = piece.bytes.len();
        match moved {
            Ok(()) => self.ctx.count(Counter::CopiesBytes, len as u64),
            Err(SinkError::TooLarge) => {
                let text = "a message of the response is longer than the caller takes";
                return Poll::Ready(Err(End::too_large(text)));
            }
            Err(_) => {}
        }
        self.aside.set(self.aside.get() - len);
        Poll::Ready(Ok(()))
    }

    /// Shows what this stream holds: put aside, or queued for credit and room.
    pub(super) fn show(&self) {
        let held = self.aside.get() + self.sink.buffered_bytes();
        let (cells, shown) = (self.ctx.cells(), self.shown.replace(held));
        if held > shown {
            cells.gauge_add(Gauge::InboxBytes, (held - shown) as u64);
        } else if shown > held {
            cells.gauge_sub(Gauge::InboxBytes, (shown - held) as u64);
        }
    }

    /// Says how the stream ends, for the terminal that follows.
    pub(super) fn finish(&self, end: End) {
        let terminal = match end {
            End::Here(terminal) => terminal,
            End::Upstream(end) => {
                if must_accept(&end) {
                    self.sink.accept();
                }
                for (key, value) in end.info.trailers().iter() {
                    let own = Bytes::copy_from_slice;
                    self.sink.add_trailer(own(key), own(value));
                }
                Terminal {
                    status: end.info.status(),
                    message: end.info.message().to_owned(),
                    limit: end.limit,
                    retry_after: end.retry_after,
                }
            }
        };
        self.sink.set_terminal(terminal);
    }
}

impl Forward for Downstream {
    fn offer(&self, piece: PieceRef<'_>) -> Offered {
        // What cannot be sent at once, for whatever reason, is left to the task.
        let Some(message_len) = piece.message_len else {
            return Offered::Part(0);
        };
        let mut rest = piece.bytes;
        loop {
            let (fragment, after) = rest.split_at(rest.len().min(self.fragment_bytes_max));
            let end = piece.message_end && after.is_empty();
            let sent = self.sink.try_send_fragment(fragment, message_len, end);
            if sent != Ok(true) {
                return Offered::Part(piece.bytes.len() - rest.len());
            }
            self.ctx.count(Counter::CopiesBytes, fragment.len() as u64);
            rest = after;
            if rest.is_empty() {
                return Offered::All;
            }
        }
    }

    fn kept(&self, bytes: usize) {
        self.ctx.count(Counter::CopiesBytes, bytes as u64);
        self.aside.set(self.aside.get() + bytes);
        self.show();
    }
}

impl Drop for Downstream {
    fn drop(&mut self) {
        let shown = self.shown.get() as u64;
        self.ctx.cells().gauge_sub(Gauge::InboxBytes, shown);
    }
}

impl End {
    pub(super) fn too_large(text: &str) -> Self {
        Self::Here(Terminal {
            limit: Some("message_bytes_max".to_owned()),
            ..Terminal::new(Status::TooLarge, text)
        })
    }
}

/// Whether the caller must see ACCEPT before a terminal that came without one, so as not to take
/// the request for one that has not started.
const fn must_accept(end: &ForwardEnd) -> bool {
    match end.started {
        Started::Yes => true,
        Started::Unknown => end.info.status().is_retry_safe(),
        Started::No => false,
    }
}
