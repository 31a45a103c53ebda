//! The sending half of a stream.

use std::collections::VecDeque;

use super::super::error::SendError;
use super::credit::SendWindow;
use crate::wire::{DATA_FRAME_COST_BYTES, DATA_TOTAL_BYTES, HEADER_BYTES};

/// A fragment cut only because the buffer is nearly full is not worth less than this.
const CUT_BYTES_MIN: usize = 1024;

/// A payload that waits: a whole message, or a fragment of one.
#[derive(Debug)]
pub(crate) struct Item<P> {
    payload: P,
    /// How much of the payload is written.
    sent: usize,
    /// Length of the whole message.
    message_len: u32,
    /// Whether the receiver knows the message's length already, or it starts here.
    announced: bool,
    /// Whether the payload is the last of its message.
    last: bool,
}

/// What the next frame of a stream would be.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Cut {
    /// A frame with `len` bytes of the payload in front.
    Frame {
        len: usize,
        total: Option<u32>,
        message_end: bool,
    },
    /// The queue is empty.
    Empty,
    NoCredit,
    NoRoom,
}

/// Whether messages may still be given to a stream.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Sending {
    Open,
    /// `finish` or `end` was called.
    Finished,
    /// The peer killed the stream.
    Killed,
}

/// A message that its sender gives in fragments, so far.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) len: u32,
    pub(crate) given: u32,
}

/// In the order that [`Stream`](super::state::Stream) tells.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SendHalf<P> {
    pub(crate) window: SendWindow,
    /// Credit that a `try_send` lacked; 0 = none.
    pub(crate) wanted: u32,
    pub(crate) sending: Sending,
    /// A DATA was queued or written before.
    pub(crate) started: bool,
    queue: VecDeque<Item<P>>,
    queued_bytes: usize,
    /// Bytes this stream may write before it is the next one's turn; negative is debt.
    pub(crate) deficit: i64,
    /// The message in progress that comes in fragments.
    pub(crate) fragments: Option<Outgoing>,
}

impl<P: AsRef<[u8]>> SendHalf<P> {
    pub(crate) fn new() -> Self {
        Self {
            window: SendWindow::default(),
            sending: Sending::Open,
            started: false,
            wanted: 0,
            fragments: None,
            deficit: 0,
            queue: VecDeque::new(),
            queued_bytes: 0,
        }
    }

    /// Starts over for a new stream, keeping a small queue's memory.
    pub(crate) fn reset(&mut self, credit: u32) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        if queue.capacity() > 64 {
            queue = VecDeque::new();
        }
        *self = Self {
            window: SendWindow::new(credit),
            queue,
            ..Self::new()
        };
    }

    pub(crate) fn is_queue_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether there is stream credit for a byte of payload.
    pub(crate) fn has_credit(&self) -> bool {
        self.window.credit() > DATA_FRAME_COST_BYTES
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(crate) fn push_message(&mut self, payload: P, message_len: u32) {
        self.push(Item {
            payload,
            sent: 0,
            message_len,
            announced: false,
            last: true,
        });
    }

    pub(crate) fn push_fragment(&mut self, payload: P, outgoing: Outgoing, last: bool) {
        let announced = outgoing.given > 0;
        self.push(Item {
            payload,
            sent: 0,
            message_len: outgoing.len,
            announced,
            last,
        });
    }

    fn push(&mut self, item: Item<P>) {
        self.queued_bytes += item.payload.as_ref().len();
        self.queue.push_back(item);
    }

    /// Drops what waits; returns how many payload bytes that were.
    pub(crate) fn discard_queue(&mut self) -> usize {
        self.queue.clear();
        std::mem::take(&mut self.queued_bytes)
    }

    /// The payload in front, before any of it was written, with its message's length: what OPEN
    /// carries.
    pub(crate) fn front(&self) -> Option<(&[u8], u32)> {
        self.queue
            .front()
            .map(|item| (item.payload.as_ref(), item.message_len))
    }

    pub(crate) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Checks a fragment against the message in progress. Returns the message before it, and the
    /// message in progress after it.
    pub(crate) fn next_fragment(
        &self,
        len: usize,
        message_len: u32,
        message_end: bool,
    ) -> Result<(Outgoing, Option<Outgoing>), SendError> {
        let outgoing = self.fragments.unwrap_or(Outgoing {
            len: message_len,
            given: 0,
        });
        let given = (outgoing.given as usize).saturating_add(len);
        // The last fragment, and no other, reaches the length that was announced.
        let agrees = if message_end {
            given == message_len as usize
        } else {
            len > 0 && given < message_len as usize
        };
        if !agrees || outgoing.len != message_len {
            return Err(SendError::Fragment);
        }
        let given = u32::try_from(given).unwrap_or(message_len);
        Ok((
            outgoing,
            (!message_end).then_some(Outgoing {
                len: message_len,
                given,
            }),
        ))
    }

    /// The bytes that `cut` chose.
    pub(crate) fn front_bytes(&self, len: usize) -> &[u8] {
        let Some(item) = self.queue.front() else {
            return &[];
        };
        &item.payload.as_ref()[item.sent..item.sent + len]
    }

    /// Chooses the next frame of the stream by what credit, room and the receiver allow.
    pub(crate) fn cut(&self, room: Room) -> Cut {
        let Some(item) = self.queue.front() else {
            return Cut::Empty;
        };
        let credit = self.window.credit().min(room.connection_credit);
        if credit <= DATA_FRAME_COST_BYTES {
            return Cut::NoCredit;
        }
        let left = item.payload.as_ref().len() - item.sent;
        let allowed = left
            .min(room.fragment_bytes_max)
            .min((credit - DATA_FRAME_COST_BYTES) as usize);
        let Some(body_room) = room.bytes.checked_sub(HEADER_BYTES) else {
            return Cut::NoRoom;
        };
        if item.last && allowed == left && left <= body_room {
            return Cut::Frame {
                len: left,
                total: None,
                message_end: true,
            };
        }
        let total = (!item.announced).then_some(item.message_len);
        let prefix = if total.is_some() { DATA_TOTAL_BYTES } else { 0 };
        let len = allowed.min(body_room.saturating_sub(prefix));
        let worth = if room.buffer_is_empty {
            1
        } else {
            allowed.min(CUT_BYTES_MIN)
        };
        if len < worth || len == 0 {
            return Cut::NoRoom;
        }
        let message_end = item.last && len == left;
        Cut::Frame {
            len,
            total,
            message_end,
        }
    }

    /// Counts `len` bytes of the front payload as written.
    pub(crate) fn advance(&mut self, len: usize) {
        self.queued_bytes -= len;
        let Some(item) = self.queue.front_mut() else {
            return;
        };
        item.sent += len;
        item.announced = true;
        if item.sent == item.payload.as_ref().len() {
            self.queue.pop_front();
        }
    }
}

/// What limits the next frame beside the stream's own credit.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Room {
    pub(crate) bytes: usize,
    pub(crate) buffer_is_empty: bool,
    pub(crate) connection_credit: u32,
    pub(crate) fragment_bytes_max: usize,
}
