//! The eight bytes before every frame (spec 3).

use std::fmt;

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CONTROL_BODY_BYTES_MAX, DATA_TOTAL_BYTES, FrameError, Malformed, TEXT_BYTES_MAX};
use crate::StreamId;

/// Size of a header on the wire.
pub const HEADER_BYTES: usize = 8;

macro_rules! kinds {
    ($($code:literal $variant:ident $name:literal $doc:literal;)*) => {
        /// What a frame is.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum FrameKind {
            $(#[doc = $doc] $variant = $code,)*
        }

        impl FrameKind {
            /// Every kind of this version.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant,)*];

            /// The kind for a wire value, if this version knows it.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name as the specification writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    1  Hello   "HELLO"   "The dialer's first frame.";
    2  Welcome "WELCOME" "The acceptor's first frame.";
    3  Open    "OPEN"    "A new stream and the first bytes of its request.";
    4  Accept  "ACCEPT"  "The handler was called.";
    5  Data    "DATA"    "A message or a fragment of one.";
    6  End     "END"     "The terminal of a stream.";
    7  Stop    "STOP"    "Finish early.";
    8  Kill    "KILL"    "Drop now.";
    9  Credit  "CREDIT"  "Permission to send more bytes.";
    10 Ping    "PING"    "Are you there?";
    11 Pong    "PONG"    "The answer to PING.";
    12 Goaway  "GOAWAY"  "No new streams, or no connection any more.";
}

impl FrameKind {
    /// The wire value.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The flag bits that the kind defines.
    #[must_use]
    #[inline]
    pub const fn flags_known(self) -> u8 {
        match self {
            Self::Open => Header::MORE | Header::END_REQUEST,
            Self::Data => Header::MORE | Header::END_REQUEST | Header::TOTAL | Header::EMPTY,
            _ => 0,
        }
    }

    /// Shortest and longest body. DATA is bounded by the negotiated fragment size instead.
    #[inline]
    const fn body_bytes(self) -> (usize, usize) {
        match self {
            Self::Hello => (52, CONTROL_BODY_BYTES_MAX),
            Self::Welcome => (48, CONTROL_BODY_BYTES_MAX),
            Self::Open => (36, CONTROL_BODY_BYTES_MAX),
            Self::End => (8, CONTROL_BODY_BYTES_MAX),
            Self::Accept | Self::Stop | Self::Kill => (0, 0),
            Self::Credit => (4, 4),
            Self::Ping | Self::Pong => (8, 8),
            Self::Goaway => (6, 6 + TEXT_BYTES_MAX),
            Self::Data => (0, u16::MAX as usize),
        }
    }

    /// On the connection, on a stream, or (CREDIT) on either.
    #[inline]
    const fn allows(self, stream: StreamId) -> bool {
        let on_connection = stream.value() == 0;
        match self {
            Self::Hello | Self::Welcome | Self::Ping | Self::Pong | Self::Goaway => on_connection,
            Self::Credit => on_connection || stream.is_dialer(),
            // Even ids are reserved for streams that an acceptor opens: none in version 1.
            _ => stream.is_dialer(),
        }
    }
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A header as read. Reading one cannot fail; [`Header::check`] says whether it makes sense.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The stream, or [`StreamId::CONNECTION`].
    pub stream: StreamId,
    /// The kind as it stands on the wire, known or not.
    pub kind: u8,
    /// The flags; what they mean depends on the kind.
    pub flags: u8,
    /// Bytes that follow the header.
    pub len: u16,
}

impl Header {
    /// The message goes on in the next DATA of this stream.
    pub const MORE: u8 = 0x01;
    /// Nothing follows on the dialer's side of this stream.
    pub const END_REQUEST: u8 = 0x02;
    /// The body starts with the total length of the message.
    pub const TOTAL: u8 = 0x04;
    /// There is no message here, just the end of the input.
    pub const EMPTY: u8 = 0x08;
    /// Bit of the kind that says that a receiver which does not know it may skip the frame.
    pub const KIND_OPTIONAL: u8 = 0x80;

    /// A header of a known kind.
    #[must_use]
    pub const fn new(stream: StreamId, kind: FrameKind, flags: u8, len: u16) -> Self {
        Self {
            stream,
            kind: kind.code(),
            flags,
            len,
        }
    }

    /// Reads eight bytes.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let raw: RawHeader = zerocopy::transmute!(*bytes);
        Self {
            stream: StreamId::new(raw.stream_id.get()),
            kind: raw.kind,
            flags: raw.flags,
            len: raw.len.get(),
        }
    }

    /// Reads the first eight bytes of a slice and returns what follows; `None` if it has fewer.
    #[must_use]
    #[inline]
    pub fn split_first(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_first_chunk()?;
        Some((Self::parse(head), rest))
    }

    /// The eight bytes.
    #[must_use]
    #[inline]
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let raw = RawHeader {
            stream_id: U32::new(self.stream.value()),
            kind: self.kind,
            flags: self.flags,
            len: U16::new(self.len),
        };
        zerocopy::transmute!(raw)
    }

    /// The kind, if this version knows it.
    #[must_use]
    #[inline]
    pub const fn frame_kind(self) -> Option<FrameKind> {
        FrameKind::from_code(self.kind)
    }

    /// Whether a receiver that does not know the kind skips the frame instead of closing.
    #[must_use]
    #[inline]
    pub const fn is_optional(self) -> bool {
        self.kind & Self::KIND_OPTIONAL != 0
    }

    /// Whether all bits of `flag` are set.
    #[must_use]
    #[inline]
    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag == flag
    }

    /// Checks all that a header alone can tell about a frame of a known kind, before a byte of the
    /// body is kept: stream id, flags, and length against the kind's bounds. `fragment_bytes_max`
    /// is what this end announced; it bounds the payload of DATA.
    ///
    /// # Errors
    /// The rule that the header breaks.
    #[inline]
    pub fn check(self, kind: FrameKind, fragment_bytes_max: u16) -> Result<(), FrameError> {
        if !kind.allows(self.stream) || self.stream > StreamId::MAX {
            return Err(Malformed::Stream.within(kind));
        }
        if self.flags & !kind.flags_known() != 0 {
            return Err(Malformed::Flags(self.flags).within(kind));
        }
        let (min, mut max) = kind.body_bytes();
        if kind == FrameKind::Data {
            let prefix = if self.has(Self::TOTAL) {
                DATA_TOTAL_BYTES
            } else {
                0
            };
            max = usize::from(fragment_bytes_max) + prefix;
        }
        match usize::from(self.len) {
            len if len < min => Err(Malformed::TooShort.within(kind)),
            len if len > max => Err(Malformed::TooLong.within(kind)),
            _ => Ok(()),
        }
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHeader {
    stream_id: U32,
    kind: u8,
    flags: u8,
    len: U16,
}
