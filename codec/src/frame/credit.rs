//! CREDIT: permission to send more (spec 7).

use super::{check, outgoing};
use crate::StreamId;
use crate::wire::{
    EncodeError, FrameError, FrameKind, HEADER_BYTES, Header, Malformed, OutBuf, Reader,
    WINDOW_BYTES_MAX,
};

/// More bytes for the stream in the header, or for the connection when that is stream 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    /// How many more: at least 1, at most the largest window.
    pub bytes: u32,
}

impl Credit {
    const KIND: FrameKind = FrameKind::Credit;

    /// Reads a whole body.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(header: Header, body: &[u8]) -> Result<Self, FrameError> {
        check(Self::KIND, header, body)?;
        let mut reader = Reader::new(body);
        let bytes: &[u8; 4] = reader.fixed().map_err(|reason| reason.within(Self::KIND))?;
        reader
            .finish()
            .map_err(|reason| reason.within(Self::KIND))?;
        Self {
            bytes: u32::from_le_bytes(*bytes),
        }
        .checked()
    }

    /// Appends the frame.
    ///
    /// # Errors
    /// No room, or a grant that the receiver would refuse.
    pub fn encode(&self, stream: StreamId, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        self.checked()?;
        let header = outgoing(stream, Self::KIND, 0, size_of::<u32>())?;
        out.put_frame(header, [&self.bytes.to_le_bytes()])
    }

    /// Bytes that [`Credit::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEADER_BYTES + size_of::<u32>()
    }

    const fn checked(self) -> Result<Self, FrameError> {
        if self.bytes == 0 || self.bytes > WINDOW_BYTES_MAX {
            return Err(Malformed::Credit.within(Self::KIND));
        }
        Ok(self)
    }
}
