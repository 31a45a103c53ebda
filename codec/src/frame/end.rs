//! END: the terminal of a stream (spec 6.5).

use std::time::Duration;

use zerocopy::byteorder::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::open::micros;
use super::{check, outgoing};
use crate::wire::{
    EXTENSIONS_BYTES_MAX, EncodeError, Extensions, FrameError, FrameKind, HEADER_BYTES, Header,
    Malformed, Metadata, OutBuf, Reader, TEXT_BYTES_MAX,
};
use crate::{Status, StreamId};

/// How a stream ended. Nothing follows it on the stream in either direction.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct End<'a> {
    /// The outcome.
    pub status: Status,
    /// For people: at most 1 KiB.
    pub message: &'a str,
    /// Key-value pairs of the handler, such as a usage record.
    pub trailers: Metadata<'a>,
    /// When to try again; whole microseconds on the wire.
    pub retry_after: Option<Duration>,
    /// Name of the limit that was reached: at most 64 bytes.
    pub limit: Option<&'a str>,
    /// Additions beyond the two above.
    pub extensions: Extensions<'a>,
}

impl<'a> End<'a> {
    /// Key of the extension behind `retry_after`: u64 microseconds.
    pub const RETRY_AFTER: u16 = 1;
    /// Key of the extension behind `limit`: text.
    pub const LIMIT: u16 = 2;
    /// Longest name of a limit, in bytes.
    pub const LIMIT_BYTES_MAX: usize = 64;

    const KIND: FrameKind = FrameKind::End;
    const EXTENSIONS_KNOWN: &'static [u16] = &[Self::RETRY_AFTER, Self::LIMIT];

    /// A terminal of a status alone.
    #[must_use]
    pub const fn of(status: Status) -> Self {
        Self {
            status,
            message: "",
            trailers: Metadata::EMPTY,
            retry_after: None,
            limit: None,
            extensions: Extensions::EMPTY,
        }
    }

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
    pub fn encode(&self, stream: StreamId, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        let fixed = self.fixed().map_err(|reason| reason.within(Self::KIND))?;
        let header = outgoing(stream, Self::KIND, 0, self.encoded_len() - HEADER_BYTES)?;
        let retry_after = self.retry_after.map(RawRetryAfter::from);
        let limit = self.limit.map(|limit| Tag::new(Self::LIMIT, limit.len()));
        out.put_frame(
            header,
            [
                fixed.as_bytes(),
                self.message.as_bytes(),
                self.trailers.as_bytes(),
                retry_after
                    .as_ref()
                    .map_or(&[], |retry_after| retry_after.as_bytes()),
                limit.as_ref().map_or(&[], |tag| tag.as_bytes()),
                self.limit.unwrap_or_default().as_bytes(),
                self.extensions.as_bytes(),
            ],
        )
    }

    /// Bytes that [`End::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEADER_BYTES
            + size_of::<Fixed>()
            + self.message.len()
            + self.trailers.as_bytes().len()
            + self.extensions_len()
    }

    const fn extensions_len(&self) -> usize {
        let retry_after = if self.retry_after.is_some() {
            size_of::<RawRetryAfter>()
        } else {
            0
        };
        let limit = match self.limit {
            Some(limit) => size_of::<Tag>() + limit.len(),
            None => 0,
        };
        retry_after + limit + self.extensions.as_bytes().len()
    }

    fn fixed(&self) -> Result<Fixed, Malformed> {
        if self.message.len() > TEXT_BYTES_MAX {
            return Err(Malformed::TextTooLong);
        }
        if self
            .limit
            .is_some_and(|limit| limit.len() > Self::LIMIT_BYTES_MAX)
        {
            return Err(Malformed::ExtensionValue(Self::LIMIT));
        }
        if self.extensions_len() > EXTENSIONS_BYTES_MAX {
            return Err(Malformed::ExtensionsTooLong);
        }
        // The two that have fields of their own come first; growing keys demand it.
        if let Some((key, _)) = self.extensions.iter().next()
            && key <= Self::LIMIT
        {
            return Err(Malformed::ExtensionOrder(key));
        }
        let short = |len: usize, reason| u16::try_from(len).map(U16::new).map_err(|_| reason);
        Ok(Fixed {
            status: U16::new(self.status.code()),
            message_len: short(self.message.len(), Malformed::TextTooLong)?,
            trailers_len: short(self.trailers.as_bytes().len(), Malformed::MetadataTooLong)?,
            reserved: U16::ZERO,
        })
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fixed {
    status: U16,
    message_len: U16,
    trailers_len: U16,
    reserved: U16,
}

/// Key and length before an extension's value.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Tag {
    key: U16,
    len: U16,
}

impl Tag {
    fn new(key: u16, len: usize) -> Self {
        // Both callers pass a length that a check or a type has bounded far below this.
        Self {
            key: U16::new(key),
            len: U16::new(u16::try_from(len).unwrap_or(u16::MAX)),
        }
    }
}

#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct RawRetryAfter {
    tag: Tag,
    micros: [u8; 8],
}

impl From<Duration> for RawRetryAfter {
    fn from(duration: Duration) -> Self {
        Self {
            tag: Tag::new(End::RETRY_AFTER, 8),
            micros: micros(duration).to_le_bytes(),
        }
    }
}

fn parse(body: &[u8]) -> Result<End<'_>, Malformed> {
    let mut reader = Reader::new(body);
    let fixed: &Fixed = reader.fixed()?;
    if fixed.reserved.get() != 0 {
        return Err(Malformed::Reserved);
    }
    let message = reader.text(usize::from(fixed.message_len.get()), TEXT_BYTES_MAX)?;
    let trailers = Metadata::parse(reader.take(usize::from(fixed.trailers_len.get()))?)?;
    let mut extensions = Extensions::parse(reader.rest(), End::EXTENSIONS_KNOWN)?;
    let retry_after = extensions
        .pop(End::RETRY_AFTER)
        .map(read_retry_after)
        .transpose()?;
    let limit = extensions.pop(End::LIMIT).map(read_limit).transpose()?;
    // Key 0 would come before those two and hide them.
    if let Some((key, _)) = extensions.iter().next()
        && key <= End::LIMIT
    {
        return Err(Malformed::ExtensionOrder(key));
    }
    let status = Status::from_code(fixed.status.get());
    Ok(End {
        status,
        message,
        trailers,
        retry_after,
        limit,
        extensions,
    })
}

fn read_retry_after(value: &[u8]) -> Result<Duration, Malformed> {
    let micros = value
        .try_into()
        .map_err(|_| Malformed::ExtensionValue(End::RETRY_AFTER))?;
    Ok(Duration::from_micros(u64::from_le_bytes(micros)))
}

fn read_limit(value: &[u8]) -> Result<&str, Malformed> {
    let wrong = Malformed::ExtensionValue(End::LIMIT);
    if value.len() > End::LIMIT_BYTES_MAX {
        return Err(wrong);
    }
    std::str::from_utf8(value).map_err(|_| wrong)
}
