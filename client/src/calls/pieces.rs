//! Pieces of messages as they arrived, for consumers that pass them on.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// First capacity of the block; it doubles up to [`BLOCK_BYTES_MAX`].
const BLOCK_BYTES_MIN: usize = 1024;
/// Capacity at which the block is replaced instead of grown.
const BLOCK_BYTES_MAX: usize = 64 * 1024;

/// A part of one message, as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes.
    pub bytes: Bytes,
    /// Length of the whole message, if known.
    pub message_len: Option<u32>,
    /// Where in the message the piece starts.
    pub message_offset: u32,
    /// Whether the message is complete with this piece.
    pub message_end: bool,
}

/// A piece in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceRef<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Length of the whole message, if known.
    pub message_len: Option<u32>,
    /// Where in the message the piece starts.
    pub message_offset: u32,
    /// Whether the message is complete with this piece.
    pub message_end: bool,
}

/// Where a piece belongs in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceMeta {
    pub(crate) message_len: Option<u32>,
    pub(crate) message_offset: u32,
    pub(crate) message_end: bool,
    pub(crate) credit: u32,
}

impl PieceMeta {
    pub(crate) const fn piece(self, bytes: &[u8]) -> PieceRef<'_> {
        PieceRef {
            bytes,
            message_len: self.message_len,
            message_offset: self.message_offset,
            message_end: self.message_end,
        }
    }

    /// What is left once `bytes` from the start were taken.
    pub(super) const fn advanced(self, bytes: u32) -> Self {
        Self {
            message_offset: self.message_offset + bytes,
            credit: self.credit - bytes,
            ..self
        }
    }
}

/// The pieces of one stream, in order. Bounded by the stream's credit, which goes back only as
/// pieces are taken.
#[derive(Debug, Default)]
pub(crate) struct PieceBox {
    block: BytesMut,
    ready: VecDeque<(u32, PieceMeta)>,
    /// Ahead of `ready`: a piece that was offered as a value and refused, with its credit.
    front: Option<(Piece, u32)>,
    block_capacity: usize,
}

impl PieceBox {
    pub(crate) fn push(&mut self, piece: &[u8], meta: PieceMeta) {
        let room = self.block.capacity() - self.block.len();
        if room < piece.len() {
            let unread = self.block.len();
            if self.block_capacity < BLOCK_BYTES_MAX {
                self.block_capacity = (self.block_capacity * 2).max(BLOCK_BYTES_MIN);
            }
            self.block
                .reserve(piece.len().max(self.block_capacity.saturating_sub(unread)));
        }
        self.block.extend_from_slice(piece);
        let len = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        self.ready.push_back((len, meta));
    }

    pub(crate) fn pop(&mut self) -> Option<(Piece, u32)> {
        if let Some(front) = self.front.take() {
            return Some(front);
        }
        let (len, meta) = self.ready.pop_front()?;
        let piece = Piece {
            bytes: self.block.split_to(len as usize).freeze(),
            message_len: meta.message_len,
            message_offset: meta.message_offset,
            message_end: meta.message_end,
        };
        Some((piece, meta.credit))
    }

    /// Offers the next piece in place: it is taken only if `take` says so.
    pub(crate) fn pop_if(&mut self, take: impl FnOnce(&[u8], PieceMeta) -> bool) -> Option<u32> {
        if let Some((piece, credit)) = &self.front {
            let meta = PieceMeta {
                message_len: piece.message_len,
                message_offset: piece.message_offset,
                message_end: piece.message_end,
                credit: *credit,
            };
            let taken = take(&piece.bytes, meta);
            return self.front.take_if(|_| taken).map(|(_, credit)| credit);
        }
        let &(len, meta) = self.ready.front()?;
        let len = len as usize;
        if !take(&self.block[..len], meta) {
            return None;
        }
        self.ready.pop_front();
        self.block.advance(len);
        Some(meta.credit)
    }

    /// As [`pop_if`](Self::pop_if), as a value that may be kept without a copy.
    pub(crate) fn pop_value_if(&mut self, take: impl FnOnce(&Piece) -> bool) -> Option<u32> {
        let (piece, credit) = self.pop()?;
        if take(&piece) {
            return Some(credit);
        }
        self.front = Some((piece, credit));
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.front.is_none()
    }
}

#[cfg(test)]
mod tests;
