//! DATA: a message, or a fragment of one (spec 6.2).

use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::U32;

use super::{check, outgoing};
use crate::StreamId;
use crate::wire::{
    DATA_FRAME_COST_BYTES, DATA_TOTAL_BYTES, EncodeError, FrameError, FrameKind, HEADER_BYTES,
    Header, Malformed, OutBuf, Reader,
};

/// What the header of a DATA says. A receiver that takes payload piecewise needs nothing else
/// before the first piece, save the total where `has_total` is set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DataHead {
    /// The message goes on in the next DATA of this stream.
    pub more: bool,
    /// Four bytes of total length precede the payload.
    pub has_total: bool,
    /// The input ends with this frame.
    pub end_request: bool,
    /// There is no message here, just the end of the input.
    pub empty: bool,
    /// Bytes of payload.
    pub payload_len: u16,
}

impl DataHead {
    /// Reads flags and length of a header.
    ///
    /// # Errors
    /// The rule that the header breaks, whatever the fragment size announced.
    #[inline]
    pub fn from_header(header: Header) -> Result<Self, FrameError> {
        read_head(header).map_err(|reason| reason.within(FrameKind::Data))
    }

    /// Bytes of total length before the payload: 0 or 4.
    #[must_use]
    #[inline]
    pub const fn prefix_len(self) -> usize {
        if self.has_total { DATA_TOTAL_BYTES } else { 0 }
    }

    /// What the frame costs of the stream's and of the connection's credit (spec 7.2).
    #[must_use]
    #[inline]
    pub const fn cost(self) -> u32 {
        self.payload_len as u32 + DATA_FRAME_COST_BYTES
    }

    /// Reads the total length: the four bytes before the payload of a frame with `has_total`.
    ///
    /// # Errors
    /// When the fragment already holds as much or more, so that nothing could follow.
    pub fn total(self, prefix: [u8; DATA_TOTAL_BYTES]) -> Result<u32, FrameError> {
        let total = u32::from_le_bytes(prefix);
        if total <= u32::from(self.payload_len) {
            return Err(Malformed::Total.within(FrameKind::Data));
        }
        Ok(total)
    }

    #[inline]
    const fn flags(self) -> u8 {
        let mut flags = 0;
        if self.more {
            flags |= Header::MORE;
        }
        if self.has_total {
            flags |= Header::TOTAL;
        }
        if self.end_request {
            flags |= Header::END_REQUEST;
        }
        if self.empty {
            flags |= Header::EMPTY;
        }
        flags
    }
}

/// A whole DATA.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Data<'a> {
    /// The message goes on in the next DATA of this stream.
    pub more: bool,
    /// Total length of the message: on the first of several fragments, nowhere else.
    pub total: Option<u32>,
    /// The input ends with this frame; a dialer's only.
    pub end_request: bool,
    /// There is no message here, just the end of the input.
    pub empty: bool,
    /// The message, or this fragment of it.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    const KIND: FrameKind = FrameKind::Data;

    /// One message in one frame.
    #[must_use]
    #[inline]
    pub const fn whole(payload: &'a [u8]) -> Self {
        Self {
            more: false,
            total: None,
            end_request: false,
            empty: false,
            payload,
        }
    }

    /// The end of the input without a message.
    pub const END_OF_REQUEST: Self = Self {
        more: false,
        total: None,
        end_request: true,
        empty: true,
        payload: &[],
    };

    /// Reads a whole body.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(header: Header, body: &'a [u8]) -> Result<Self, FrameError> {
        check(Self::KIND, header, body)?;
        let head = DataHead::from_header(header)?;
        let mut reader = Reader::new(body);
        let mut total = None;
        if head.has_total {
            let prefix = reader.fixed().map_err(|reason| reason.within(Self::KIND))?;
            total = Some(head.total(*prefix)?);
        }
        let DataHead {
            more,
            end_request,
            empty,
            ..
        } = head;
        Ok(Self {
            more,
            total,
            end_request,
            empty,
            payload: reader.rest(),
        })
    }

    /// Appends the frame.
    ///
    /// # Errors
    /// No room, or a field that the receiver would refuse.
    #[inline]
    pub fn encode(&self, stream: StreamId, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        let within = |reason: Malformed| reason.within(Self::KIND);
        let len = self.encoded_len() - HEADER_BYTES;
        let head = DataHead {
            more: self.more,
            has_total: self.total.is_some(),
            end_request: self.end_request,
            empty: self.empty,
            payload_len: u16::try_from(self.payload.len())
                .map_err(|_| within(Malformed::TooLong))?,
        };
        let header = outgoing(stream, Self::KIND, head.flags(), len)?;
        read_head(header).map_err(within)?;
        match self.total {
            Some(total) => {
                head.total(total.to_le_bytes())?;
                out.put_frame(header, [U32::new(total).as_bytes(), self.payload])
            }
            None => out.put_frame(header, [self.payload]),
        }
    }

    /// Bytes that [`Data::encode`] writes.
    #[must_use]
    #[inline]
    pub const fn encoded_len(&self) -> usize {
        let prefix = if self.total.is_some() {
            DATA_TOTAL_BYTES
        } else {
            0
        };
        HEADER_BYTES + prefix + self.payload.len()
    }
}

#[inline]
fn read_head(header: Header) -> Result<DataHead, Malformed> {
    let mut head = DataHead {
        more: header.has(Header::MORE),
        has_total: header.has(Header::TOTAL),
        end_request: header.has(Header::END_REQUEST),
        empty: header.has(Header::EMPTY),
        payload_len: header.len,
    };
    let excluded = if head.more {
        head.end_request || head.empty
    } else {
        head.has_total
    } || (head.empty && !head.end_request);
    if excluded || header.flags & !FrameKind::Data.flags_known() != 0 {
        return Err(Malformed::Flags(header.flags));
    }
    if head.has_total {
        head.payload_len = header.len.checked_sub(4).ok_or(Malformed::TooShort)?;
    }
    if head.empty && header.len != 0 {
        return Err(Malformed::TrailingBytes);
    }
    // A fragment that carries nothing, and says that more follows, only costs work.
    if head.more && head.payload_len == 0 {
        return Err(Malformed::TooShort);
    }
    Ok(head)
}
