//! Bounds that the protocol fixes and bounds that the two ends announce (spec 4.3 and 11).

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Malformed;

/// Largest frame other than DATA, header included: the size of a receiver's control buffer.
pub const CONTROL_FRAME_BYTES_MAX: usize = 16_384;
/// Largest body of a frame other than DATA.
pub const CONTROL_BODY_BYTES_MAX: usize = CONTROL_FRAME_BYTES_MAX - super::HEADER_BYTES;
/// What each DATA frame costs beyond its payload, in bytes of stream and connection credit.
pub const DATA_FRAME_COST_BYTES: u32 = 8;
/// Bytes of the total length before the payload of a first fragment.
pub const DATA_TOTAL_BYTES: usize = 4;
/// Smallest payload that an end must be willing to take in one DATA.
pub const FRAGMENT_BYTES_MIN: u16 = 64;
/// Largest payload that fits one DATA together with the total length.
pub const FRAGMENT_BYTES_MAX: u16 = u16::MAX - 4;
/// Smallest window that an end may announce.
pub const WINDOW_BYTES_MIN: u32 = 128;
/// Largest window, and most credit that may ever be outstanding on a stream or connection.
pub const WINDOW_BYTES_MAX: u32 = 0x7fff_ffff;
/// A grant below this counts as a frame that carries nothing: half of the smallest window.
pub const CREDIT_BYTES_MIN: u32 = WINDOW_BYTES_MIN / 2;
/// Longest message text of END and GOAWAY.
pub const TEXT_BYTES_MAX: usize = 1024;
/// Most bytes of metadata in OPEN or trailers in END, lengths included.
pub const METADATA_BYTES_MAX: usize = 8 * 1024;
/// Most pairs in metadata or trailers.
pub const METADATA_PAIRS_MAX: usize = 64;
/// Longest metadata key.
pub const METADATA_KEY_BYTES_MAX: usize = 64;
/// Most bytes of extensions in a frame, their keys and lengths included.
pub const EXTENSIONS_BYTES_MAX: usize = 2048;
/// Most extensions in a frame.
pub const EXTENSIONS_MAX: usize = 32;

/// What the end that announces them is willing to receive.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message, in bytes.
    pub message_bytes_max: u32,
    /// Most streams open at once; a dialer announces 0, as nobody opens streams to it.
    pub streams_max: u32,
    /// Credit of each stream at its start, in bytes.
    pub stream_window: u32,
    /// Credit of the connection at its start, in bytes.
    pub connection_window: u32,
    /// Longest payload of one DATA, in bytes.
    pub fragment_bytes_max: u16,
    /// How long this end lets an idle connection be silent before it sends PING; 0 = it never does.
    pub keepalive_idle_ms: u32,
    /// The same while streams are open.
    pub keepalive_active_ms: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: 64 * 1024 * 1024,
            streams_max: 16_384,
            stream_window: 32 * 1024,
            connection_window: 4 * 1024 * 1024,
            fragment_bytes_max: 16_376,
            keepalive_idle_ms: 30_000,
            keepalive_active_ms: 1_000,
        }
    }
}

impl Limits {
    /// Checks that both ends can make progress with these limits.
    ///
    /// # Errors
    /// [`Malformed::Limits`] when a window or the fragment size is out of range.
    pub fn check(&self) -> Result<(), Malformed> {
        let window = WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX;
        let fragment = FRAGMENT_BYTES_MIN..=FRAGMENT_BYTES_MAX;
        if window.contains(&self.stream_window)
            && window.contains(&self.connection_window)
            && fragment.contains(&self.fragment_bytes_max)
        {
            return Ok(());
        }
        Err(Malformed::Limits)
    }
}

/// [`Limits`] as it stands in HELLO and WELCOME.
#[derive(Copy, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawLimits {
    message_bytes_max: U32,
    streams_max: U32,
    stream_window: U32,
    connection_window: U32,
    keepalive_idle_ms: U32,
    keepalive_active_ms: U32,
    fragment_bytes_max: U16,
    reserved: U16,
}

impl RawLimits {
    pub(crate) fn parse(&self) -> Result<Limits, Malformed> {
        if self.reserved.get() != 0 {
            return Err(Malformed::Reserved);
        }
        let limits = Limits {
            message_bytes_max: self.message_bytes_max.get(),
            streams_max: self.streams_max.get(),
            stream_window: self.stream_window.get(),
            connection_window: self.connection_window.get(),
            fragment_bytes_max: self.fragment_bytes_max.get(),
            keepalive_idle_ms: self.keepalive_idle_ms.get(),
            keepalive_active_ms: self.keepalive_active_ms.get(),
        };
        limits.check()?;
        Ok(limits)
    }
}

impl From<Limits> for RawLimits {
    fn from(limits: Limits) -> Self {
        Self {
            message_bytes_max: U32::new(limits.message_bytes_max),
            streams_max: U32::new(limits.streams_max),
            stream_window: U32::new(limits.stream_window),
            connection_window: U32::new(limits.connection_window),
            keepalive_idle_ms: U32::new(limits.keepalive_idle_ms),
            keepalive_active_ms: U32::new(limits.keepalive_active_ms),
            fragment_bytes_max: U16::new(limits.fragment_bytes_max),
            reserved: U16::ZERO,
        }
    }
}
