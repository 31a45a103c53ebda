//! GOAWAY: no new streams, or the reason for closing (spec 8.2). Its layout never changes.

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{check, outgoing};
use crate::wire::{
    EncodeError, FrameError, FrameKind, HEADER_BYTES, Header, Malformed, OutBuf, Reader,
    TEXT_BYTES_MAX,
};
use crate::{Status, StreamId};

/// The sender takes no stream above `last_stream`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Goaway<'a> {
    /// Highest id that the sender accepted from its peer; 0 = none.
    pub last_stream: StreamId,
    /// Why.
    pub status: Status,
    /// For people: at most 1 KiB.
    pub message: &'a str,
}

impl<'a> Goaway<'a> {
    const KIND: FrameKind = FrameKind::Goaway;

    /// Reads a whole body.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(header: Header, body: &'a [u8]) -> Result<Self, FrameError> {
        check(Self::KIND, header, body)?;
        parse(body).map_err(|reason| reason.within(Self::KIND))
    }

    /// Appends the frame.
    ///
    /// # Errors
    /// No room, or a field that the receiver would refuse.
    pub fn encode(&self, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        let fixed = Fixed {
            last_stream: U32::new(self.last_stream.value()),
            status: U16::new(self.status.code()),
        };
        check_last(self.last_stream).map_err(|reason| reason.within(Self::KIND))?;
        let len = self.encoded_len() - HEADER_BYTES;
        let header = outgoing(StreamId::CONNECTION, Self::KIND, 0, len)?;
        out.put_frame(header, [fixed.as_bytes(), self.message.as_bytes()])
    }

    /// Bytes that [`Goaway::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEADER_BYTES + size_of::<Fixed>() + self.message.len()
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fixed {
    last_stream: U32,
    status: U16,
}

fn parse(body: &[u8]) -> Result<Goaway<'_>, Malformed> {
    let mut reader = Reader::new(body);
    let fixed: &Fixed = reader.fixed()?;
    let last_stream = StreamId::new(fixed.last_stream.get());
    check_last(last_stream)?;
    let message = reader.text(reader.len(), TEXT_BYTES_MAX)?;
    Ok(Goaway {
        last_stream,
        status: Status::from_code(fixed.status.get()),
        message,
    })
}

fn check_last(last: StreamId) -> Result<(), Malformed> {
    if last > StreamId::MAX {
        Err(Malformed::Stream)
    } else {
        Ok(())
    }
}
