//! Why a frame cannot be read or written.

use super::FrameKind;

/// A frame that breaks the layout rules. It costs the connection it came on (spec 9.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {kind} frame: {reason}")]
pub struct FrameError {
    /// Which frame.
    pub kind: FrameKind,
    /// Which rule.
    pub reason: Malformed,
}

/// The rule that a frame breaks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The length in the header is below what the layout needs.
    #[error("shorter than its layout")]
    TooShort,
    /// The length in the header is above what the kind may have.
    #[error("longer than its limit")]
    TooLong,
    /// Bytes follow where the layout ends.
    #[error("bytes after the end of its layout")]
    TrailingBytes,
    /// A flag bit that the kind does not define, or flags that exclude each other.
    #[error("flags {0:#04x} are not allowed")]
    Flags(u8),
    /// A frame about the connection on a stream, or the reverse, or a reserved stream id.
    #[error("not allowed on this stream id")]
    Stream,
    /// HELLO without the magic.
    #[error("wrong magic")]
    Magic,
    /// Version 0, or the lowest above the highest.
    #[error("impossible version range")]
    Version,
    /// WELCOME with instance 0.
    #[error("instance 0")]
    Instance,
    /// A window or fragment limit outside what the protocol allows.
    #[error("announced limit out of range")]
    Limits,
    /// A reserved field is not zero, or a field that is marked absent is not.
    #[error("reserved or absent field is not zero")]
    Reserved,
    /// A priority class above 2.
    #[error("unknown priority")]
    Priority,
    /// Not an endpoint id.
    #[error("not an endpoint id")]
    Endpoint,
    /// Text that is not UTF-8.
    #[error("text is not utf-8")]
    Utf8,
    /// Text over its limit.
    #[error("text over its limit")]
    TextTooLong,
    /// Metadata over its limit of bytes.
    #[error("metadata over its limit of bytes")]
    MetadataTooLong,
    /// Metadata over its limit of pairs.
    #[error("metadata over its limit of pairs")]
    MetadataPairs,
    /// A metadata pair that is cut off.
    #[error("metadata pair is cut off")]
    MetadataCut,
    /// A metadata key that is empty, too long or has other characters than allowed.
    #[error("metadata key is not allowed")]
    MetadataKey,
    /// Extensions over their limit of bytes.
    #[error("extensions over their limit of bytes")]
    ExtensionsTooLong,
    /// More extensions than allowed.
    #[error("too many extensions")]
    ExtensionsCount,
    /// An extension that is cut off.
    #[error("extension is cut off")]
    ExtensionCut,
    /// Extension keys that do not grow: repeated or out of order.
    #[error("extension key {0:#06x} is repeated or out of order")]
    ExtensionOrder(u16),
    /// An extension that must be understood and is not.
    #[error("critical extension {0:#06x} is unknown")]
    ExtensionCritical(u16),
    /// A known extension with a value that it cannot have.
    #[error("extension {0:#06x} has an impossible value")]
    ExtensionValue(u16),
    /// Length of the request and the bytes, flags or marks beside it contradict each other.
    #[error("request length contradicts the frame")]
    RequestLen,
    /// Total length of a fragmented message that its first fragment already reaches.
    #[error("total length contradicts the fragment")]
    Total,
    /// A grant of nothing or of more than a window can hold.
    #[error("credit of 0 or above the window limit")]
    Credit,
}

impl Malformed {
    /// Names the frame it happened in.
    pub(crate) const fn within(self, kind: FrameKind) -> FrameError {
        FrameError { kind, reason: self }
    }
}

/// Why a frame was not written. The buffer is as it was before.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer has fewer bytes left than the frame needs; try again with more room.
    #[error("no room for the frame")]
    NoRoom,
    /// The receiver would refuse the frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}
