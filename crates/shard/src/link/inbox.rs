//! Messages that arrived for one stream and wait for their consumer.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// Messages longer than this get a buffer of their own; shorter ones share the block.
const SHARED_BYTES_MAX: usize = 8 * 1024;
/// First capacity of the shared block; it doubles up to [`BLOCK_BYTES_MAX`].
const BLOCK_BYTES_MIN: usize = 1024;
/// Capacity at which a block is replaced instead of grown.
const BLOCK_BYTES_MAX: usize = 64 * 1024;

/// One whole message and the credit its consumer owes back.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// The payload.
    pub bytes: Bytes,
    /// Stream credit to return now that the message was taken.
    pub credit: u32,
}

/// The pieces of one stream's messages, put together, in order.
///
/// Small messages are copied into one block that is reused once its readers let go: no allocation
/// per message while the consumer keeps up. A message over 8 KiB gets a buffer of its own length.
/// Bounded by the stream's credit, and by the caller's reassembly budget for long messages.
#[derive(Debug, Default)]
pub struct Inbox {
    block: BytesMut,
    ready: VecDeque<Entry>,
    partial: Option<Partial>,
    bytes: usize,
    /// How large the next block is asked to be.
    block_capacity: usize,
}

#[derive(Debug)]
enum Entry {
    Shared { len: u32, credit: u32 },
    Own { buf: Bytes },
}

#[derive(Debug)]
enum Partial {
    Shared { len: u32, credit: u32 },
    Own { buf: BytesMut },
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// A whole message is ready now.
    pub message_end: bool,
    /// Credit to return at once: the piece went into a reassembly buffer of its own.
    pub release_now: u32,
}

impl Inbox {
    /// Smallest window of a stream whose messages an inbox puts together. The credit of a message
    /// without a buffer of its own comes back when it is taken, so the window must hold the
    /// longest of them, in pieces of no less than eight bytes: a smaller one would stall it for
    /// ever.
    pub const WINDOW_BYTES_MIN: u32 = 2 * SHARED_BYTES_MAX as u32;

    /// Whether a message of `message_len` bytes would get a buffer of its own, which the caller
    /// reserves from its reassembly budget first.
    pub const fn needs_reservation(message_len: usize) -> bool {
        message_len > SHARED_BYTES_MAX
    }

    /// Adds the next piece of the current message.
    ///
    /// `message_len` is the total if known; it sizes the buffer of a long message. `credit` is
    /// what the piece cost.
    pub fn push(
        &mut self,
        piece: &[u8],
        message_len: Option<u32>,
        message_end: bool,
        credit: u32,
    ) -> Taken {
        self.bytes += piece.len();
        let partial = self.partial.take().unwrap_or_else(|| {
            let len = message_len.map_or(piece.len(), |len| len as usize);
            if Self::needs_reservation(len) {
                Partial::Own {
                    buf: BytesMut::with_capacity(len),
                }
            } else {
                Partial::Shared { len: 0, credit: 0 }
            }
        });
        match partial {
            Partial::Own { mut buf } => {
                buf.extend_from_slice(piece);
                if message_end {
                    self.ready.push_back(Entry::Own { buf: buf.freeze() });
                } else {
                    self.partial = Some(Partial::Own { buf });
                }
                Taken {
                    message_end,
                    release_now: credit,
                }
            }
            Partial::Shared { len, credit: owed } => {
                self.make_room(piece.len());
                self.block.extend_from_slice(piece);
                let len = len + u32::try_from(piece.len()).unwrap_or(u32::MAX);
                let credit = owed + credit;
                if message_end {
                    self.ready.push_back(Entry::Shared { len, credit });
                } else {
                    self.partial = Some(Partial::Shared { len, credit });
                }
                Taken {
                    message_end,
                    release_now: 0,
                }
            }
        }
    }

    /// The next whole message.
    pub fn pop(&mut self) -> Option<Message> {
        match self.ready.pop_front()? {
            Entry::Shared { len, credit } => {
                let len = len as usize;
                self.bytes -= len;
                Some(Message {
                    bytes: self.block.split_to(len).freeze(),
                    credit,
                })
            }
            Entry::Own { buf } => {
                self.bytes -= buf.len();
                Some(Message {
                    bytes: buf,
                    credit: 0,
                })
            }
        }
    }

    /// Shows the next whole message in place; returns `read`'s result and the credit owed.
    pub fn pop_with<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<(T, u32)> {
        match self.ready.pop_front()? {
            Entry::Shared { len, credit } => {
                let len = len as usize;
                self.bytes -= len;
                let result = read(&self.block[..len]);
                self.block.advance(len);
                Some((result, credit))
            }
            Entry::Own { buf } => {
                self.bytes -= buf.len();
                Some((read(&buf), 0))
            }
        }
    }

    /// Moves everything that is whole to the end of `other`, whose readers are elsewhere.
    pub fn drain_into(&mut self, other: &mut Self) {
        while let Some(entry) = self.ready.pop_front() {
            match entry {
                Entry::Shared { len, credit } => {
                    let len = len as usize;
                    self.bytes -= len;
                    other.push(&self.block[..len], None, true, credit);
                    self.block.advance(len);
                }
                Entry::Own { buf } => {
                    self.bytes -= buf.len();
                    other.bytes += buf.len();
                    other.ready.push_back(Entry::Own { buf });
                }
            }
        }
    }

    /// Forgets what it holds and keeps its memory, for the next stream.
    pub fn reset(&mut self) {
        self.block.clear();
        self.ready.clear();
        self.partial = None;
        self.bytes = 0;
    }

    /// Bytes of memory that [`reset`](Self::reset) would keep, about.
    pub const fn block_bytes(&self) -> usize {
        self.block_capacity
    }

    /// Whole messages ready.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Bytes held, whole or not.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    fn make_room(&mut self, bytes: usize) {
        if self.block.capacity() - self.block.len() >= bytes {
            return;
        }
        // Room that its readers have let go of is used again first: a consumer that keeps up never
        // makes the block grow. A fixed step keeps a kept token from pinning more than one block.
        if self.block.try_reclaim(bytes) {
            return;
        }
        let unread = self.block.len();
        if self.block_capacity < BLOCK_BYTES_MAX {
            self.block_capacity = (self.block_capacity * 2).max(BLOCK_BYTES_MIN);
        }
        self.block
            .reserve(bytes.max(self.block_capacity.saturating_sub(unread)));
    }
}
