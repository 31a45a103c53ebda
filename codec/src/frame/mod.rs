//! The frames, one file each: borrowed values with `parse` and `encode` (spec 5 to 8).
//!
//! `parse` takes a header and the whole body that it announces; it checks everything that the
//! frame alone can tell. What depends on the connection's state is not looked at here.

mod credit;
mod data;
mod end;
mod goaway;
mod hello;
mod open;
mod ping;
mod signal;
mod welcome;

pub use credit::Credit;
pub use data::{Data, DataHead};
pub use end::End;
pub use goaway::Goaway;
pub use hello::Hello;
pub use open::Open;
pub use ping::{Ping, Pong};
pub use signal::{Accept, Kill, Stop};
pub use welcome::Welcome;

use crate::StreamId;
use crate::wire::{
    EncodeError, FRAGMENT_BYTES_MAX, FrameError, FrameKind, HEADER_BYTES, Header, Malformed, OutBuf,
};

/// Any frame of this version, whole: for tools and tests. A connection takes DATA in pieces.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each variant is named after the frame that it holds"
)]
pub enum Frame<'a> {
    Hello(Hello),
    Welcome(Welcome),
    Open(Open<'a>),
    Accept(Accept),
    Data(Data<'a>),
    End(End<'a>),
    Stop(Stop),
    Kill(Kill),
    Credit(Credit),
    Ping(Ping),
    Pong(Pong),
    Goaway(Goaway<'a>),
}

/// What stands at the front of some bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// The frame is not whole yet; at least this many more bytes are needed.
    Incomplete {
        /// Bytes missing from the header, or from the body once the header is there.
        missing: usize,
    },
    /// A frame of this version.
    Frame {
        /// Its header.
        header: Header,
        /// What it says.
        frame: Frame<'a>,
        /// The bytes after it.
        rest: &'a [u8],
    },
    /// A frame of a kind that this version does not know.
    Unknown {
        /// Its header; [`Header::is_optional`] tells whether it may be skipped.
        header: Header,
        /// Its body.
        body: &'a [u8],
        /// The bytes after it.
        rest: &'a [u8],
    },
}

impl<'a> Frame<'a> {
    /// Reads the frame at the front of `bytes`, accepting any fragment size.
    ///
    /// # Errors
    /// The rule that the frame breaks. What its header alone shows is told before its body is
    /// there.
    pub fn split_first(bytes: &'a [u8]) -> Result<Split<'a>, FrameError> {
        let Some((header, rest)) = Header::split_first(bytes) else {
            return Ok(Split::Incomplete {
                missing: HEADER_BYTES - bytes.len(),
            });
        };
        let kind = header.frame_kind();
        if let Some(kind) = kind {
            header.check(kind, FRAGMENT_BYTES_MAX)?;
        }
        let len = usize::from(header.len);
        let Some((body, rest)) = rest.split_at_checked(len) else {
            return Ok(Split::Incomplete {
                missing: len - rest.len(),
            });
        };
        Ok(match kind {
            Some(kind) => Split::Frame {
                header,
                frame: Self::parse(kind, header, body)?,
                rest,
            },
            None => Split::Unknown { header, body, rest },
        })
    }

    /// Reads a frame of a known kind.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(kind: FrameKind, header: Header, body: &'a [u8]) -> Result<Self, FrameError> {
        Ok(match kind {
            FrameKind::Hello => Self::Hello(Hello::parse(header, body)?),
            FrameKind::Welcome => Self::Welcome(Welcome::parse(header, body)?),
            FrameKind::Open => Self::Open(Open::parse(header, body)?),
            FrameKind::Accept => Self::Accept(Accept::parse(header, body)?),
            FrameKind::Data => Self::Data(Data::parse(header, body)?),
            FrameKind::End => Self::End(End::parse(header, body)?),
            FrameKind::Stop => Self::Stop(Stop::parse(header, body)?),
            FrameKind::Kill => Self::Kill(Kill::parse(header, body)?),
            FrameKind::Credit => Self::Credit(Credit::parse(header, body)?),
            FrameKind::Ping => Self::Ping(Ping::parse(header, body)?),
            FrameKind::Pong => Self::Pong(Pong::parse(header, body)?),
            FrameKind::Goaway => Self::Goaway(Goaway::parse(header, body)?),
        })
    }

    /// Appends the frame; `stream` is ignored by frames that are always about the connection.
    ///
    /// # Errors
    /// No room, or a field that the receiver would refuse.
    pub fn encode(&self, stream: StreamId, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Hello(frame) => frame.encode(out),
            Self::Welcome(frame) => frame.encode(out),
            Self::Open(frame) => frame.encode(stream, out),
            Self::Accept(frame) => frame.encode(stream, out),
            Self::Data(frame) => frame.encode(stream, out),
            Self::End(frame) => frame.encode(stream, out),
            Self::Stop(frame) => frame.encode(stream, out),
            Self::Kill(frame) => frame.encode(stream, out),
            Self::Credit(frame) => frame.encode(stream, out),
            Self::Ping(frame) => frame.encode(out),
            Self::Pong(frame) => frame.encode(out),
            Self::Goaway(frame) => frame.encode(out),
        }
    }

    /// Bytes that [`Frame::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        match self {
            Self::Hello(frame) => frame.encoded_len(),
            Self::Welcome(frame) => frame.encoded_len(),
            Self::Open(frame) => frame.encoded_len(),
            Self::Accept(frame) => frame.encoded_len(),
            Self::Data(frame) => frame.encoded_len(),
            Self::End(frame) => frame.encoded_len(),
            Self::Stop(frame) => frame.encoded_len(),
            Self::Kill(frame) => frame.encoded_len(),
            Self::Credit(frame) => frame.encoded_len(),
            Self::Ping(frame) => frame.encoded_len(),
            Self::Pong(frame) => frame.encoded_len(),
            Self::Goaway(frame) => frame.encoded_len(),
        }
    }

    /// The kind of the frame.
    #[must_use]
    pub const fn kind(&self) -> FrameKind {
        match self {
            Self::Hello(_) => FrameKind::Hello,
            Self::Welcome(_) => FrameKind::Welcome,
            Self::Open(_) => FrameKind::Open,
            Self::Accept(_) => FrameKind::Accept,
            Self::Data(_) => FrameKind::Data,
            Self::End(_) => FrameKind::End,
            Self::Stop(_) => FrameKind::Stop,
            Self::Kill(_) => FrameKind::Kill,
            Self::Credit(_) => FrameKind::Credit,
            Self::Ping(_) => FrameKind::Ping,
            Self::Pong(_) => FrameKind::Pong,
            Self::Goaway(_) => FrameKind::Goaway,
        }
    }
}

/// What every `parse` does first: the header is of this kind and makes sense, and the body has the
/// length that it announces.
fn check(kind: FrameKind, header: Header, body: &[u8]) -> Result<(), FrameError> {
    debug_assert_eq!(
        header.kind,
        kind.code(),
        "the caller chooses the frame by its kind"
    );
    header.check(kind, FRAGMENT_BYTES_MAX)?;
    match body.len().cmp(&usize::from(header.len)) {
        std::cmp::Ordering::Less => Err(Malformed::TooShort.within(kind)),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Malformed::TrailingBytes.within(kind)),
    }
}

/// The header for a body of `len` bytes; refuses a stream, flags or a length that the receiver
/// would refuse.
#[inline]
fn outgoing(
    stream: StreamId,
    kind: FrameKind,
    flags: u8,
    len: usize,
) -> Result<Header, FrameError> {
    let len = u16::try_from(len).map_err(|_| Malformed::TooLong.within(kind))?;
    let header = Header::new(stream, kind, flags, len);
    header.check(kind, FRAGMENT_BYTES_MAX)?;
    Ok(header)
}
