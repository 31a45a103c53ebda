//! One stream: its phase and its two halves.

use std::time::Instant;

use super::super::event::StreamHandle;
use super::recv::RecvHalf;
use super::send::{SendHalf, Sending};
use crate::{Priority, RequestId, Started, StreamId, TraceContext};

/// Where a stream is in its life.
///
/// ```text
/// dialer    Free ─open─> Queued ─OPEN written─> Open ─END─────────────────────> Free
///                          │ kill                ├─kill─> Tombstone ─END──────> Free
///                          └──> Free             └─GOAWAY below it─> Refused ─> Free
/// acceptor  Free ─OPEN─> Open ─end─> Ending ─END written──────────────────────> Free
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// The slot has no stream.
    Free,
    /// Dialer: OPEN waits to be written.
    Queued,
    /// The caller has it.
    Open,
    /// Dialer: above GOAWAY's last id; the caller is still to be told.
    Refused,
    /// Dialer: killed here, END still to come. The caller has it no more.
    Tombstone,
    /// Acceptor: the caller has ended it, END still to be written.
    Ending,
}

/// Frames of a stream that wait to be written. Each at most once, so they need no queue.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Due {
    pub(crate) accept: bool,
    pub(crate) stop: bool,
    pub(crate) kill: bool,
    pub(crate) credit: bool,
    pub(crate) end: bool,
    /// With the last data, or alone behind it.
    pub(crate) end_request: bool,
}

/// What OPEN says beside the strings, which are in the stream's `text`.
#[derive(Copy, Clone, Debug)]
pub(crate) struct OpenFields {
    pub(crate) request_id: RequestId,
    pub(crate) deadline: Option<Instant>,
    pub(crate) trace: Option<TraceContext>,
    /// `text` is this much endpoint, then metadata.
    pub(crate) endpoint_len: usize,
}

/// What a token touches comes first and is close together, for sending in one cache line and for
/// receiving in the next: with thousands of streams each token finds its stream's lines cold.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Stream<P> {
    pub(crate) id: StreamId,
    pub(crate) phase: Phase,
    pub(crate) priority: Priority,
    pub(crate) due: Due,
    /// ACCEPT was sent or received, or DATA implied it.
    pub(crate) accepted: bool,
    /// STOP was sent or received.
    pub(crate) stopped: bool,
    pub(crate) send: SendHalf<P>,
    pub(crate) recv: RecvHalf,
    pub(crate) opened_at: Instant,
    /// Dialer, in `Queued`: what OPEN will say.
    pub(crate) open: Option<OpenFields>,
    /// Dialer: where in all that was transmitted OPEN ended.
    pub(crate) open_end_at: u64,
    /// Bytes of a control frame that waits: OPEN's strings, or the whole END.
    pub(crate) text: Vec<u8>,
}

impl<P: AsRef<[u8]>> Stream<P> {
    pub(crate) fn free(now: Instant) -> Self {
        Self {
            id: StreamId::CONNECTION,
            phase: Phase::Free,
            priority: Priority::Middle,
            due: Due::default(),
            accepted: false,
            opened_at: now,
            stopped: false,
            send: SendHalf::new(),
            recv: RecvHalf::new(0, now),
            open: None,
            open_end_at: 0,
            text: Vec::new(),
        }
    }

    pub(crate) fn handle(&self, slot: u32) -> StreamHandle {
        StreamHandle { id: self.id, slot }
    }

    /// Whether the caller still has the stream.
    pub(crate) fn is_callers(&self) -> bool {
        matches!(self.phase, Phase::Queued | Phase::Open | Phase::Refused)
    }

    /// Whether data may be written now if there is any: OPEN is through and the peer listens.
    pub(crate) fn may_write_data(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Ending)
    }

    /// Whether DATA from the peer is still for somebody: not once the stream is killed or over.
    pub(crate) fn takes_data(&self) -> bool {
        self.phase == Phase::Open && self.send.sending != Sending::Killed
    }

    /// Whether a frame waits that needs no credit and is not behind the stream's own data.
    pub(crate) fn has_control(&self) -> bool {
        let due = self.due;
        due.accept || due.stop || due.kill || due.credit || (due.end && self.send.is_queue_empty())
    }

    /// Whether there is data, or the end of the input, to write.
    pub(crate) fn has_data(&self) -> bool {
        !self.send.is_queue_empty() || (self.due.end_request && self.send.fragments.is_none())
    }

    /// Dialer: what is known when the stream is lost. `submitted` is how much of all that was
    /// transmitted has left this process.
    pub(crate) fn started(&self, submitted: u64) -> Started {
        if self.accepted {
            Started::Yes
        } else if matches!(self.phase, Phase::Queued | Phase::Refused)
            || submitted < self.open_end_at
        {
            Started::No
        } else {
            Started::Unknown
        }
    }
}
