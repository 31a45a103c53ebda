//! The names that travel on the wire, each a type of its own.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;

/// One process that serves endpoints: drawn at random when it starts, shared by all its endpoints.
///
/// Never zero: zero means "any instance" in HELLO. Shown as 16 hexadecimal digits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(NonZeroU64);

impl InstanceId {
    /// Wraps a drawn value; `None` for zero.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The value as it stands on the wire.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstanceId({self})")
    }
}

/// The text is not an instance id.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an instance id is 16 hexadecimal digits and not zero")]
pub struct ParseInstanceIdError;

impl FromStr for InstanceId {
    type Err = ParseInstanceIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The digit check also keeps out the sign that `from_str_radix` would take.
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(ParseInstanceIdError);
        }
        let value = u64::from_str_radix(text, 16).map_err(|_| ParseInstanceIdError)?;
        Self::new(value).ok_or(ParseInstanceIdError)
    }
}

/// One request and its response on one connection; 0 is the connection itself (spec 3.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// The connection itself.
    pub const CONNECTION: Self = Self(0);
    /// The first id that a dialer uses.
    pub const DIALER_FIRST: Self = Self(1);
    /// The largest id; the bit above it is reserved.
    pub const MAX: Self = Self(0x7fff_ffff);

    /// Wraps a wire value. Whether it may be used is the header's and the connection's business.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// The value as it stands on the wire.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Opened by the dialing end, as every stream of version 1 is.
    #[must_use]
    pub const fn is_dialer(self) -> bool {
        self.0 & 1 == 1
    }

    /// The id that the same end uses next; `None` when ids are used up.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        if self.0 > Self::MAX.0 - 2 {
            return None;
        }
        Some(Self(self.0 + 2))
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one request across hops and retries; chosen by the caller, shown as 32 hex digits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub [u8; 16]);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// W3C trace context in binary, passed on untouched.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace that the request belongs to.
    pub trace_id: [u8; 16],
    /// The caller's span.
    pub span_id: [u8; 8],
    /// W3C trace flags; bit 0 = sampled.
    pub flags: u8,
}

/// Order of admission and share of the sending time; the default is `Middle`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Priority {
    /// Before the others, though it never starves them.
    High = 0,
    /// What a caller gets who says nothing.
    #[default]
    Middle = 1,
    /// After the others, though never starved.
    Low = 2,
}

impl Priority {
    /// The wire value.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Bytes that a stream may send before it is the turn of another that waits.
    #[must_use]
    pub const fn send_quantum_bytes(self) -> u32 {
        match self {
            Self::High => 16 * 1024,
            Self::Middle => 8 * 1024,
            Self::Low => 4 * 1024,
        }
    }

    /// The class for a wire value; `None` above 2.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::High),
            1 => Some(Self::Middle),
            2 => Some(Self::Low),
            _ => None,
        }
    }
}

/// A callable name: `namespace.component.name`, where the namespace may itself hold dots.
///
/// Labels are 1 to 63 of `a-z 0-9 _ -`, the whole is at most 255 bytes. Cloning is a reference
/// count. A map keyed by it can be searched with a `&str`.
#[derive(Clone)]
pub struct EndpointId {
    text: Arc<str>,
    component_at: u8,
    name_at: u8,
}

/// Why a text is not an endpoint id.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointIdError {
    /// Longer than 255 bytes.
    #[error("an endpoint id has at most {max} bytes", max = EndpointId::BYTES_MAX)]
    TooLong,
    /// Fewer than three labels.
    #[error("an endpoint id is namespace.component.name")]
    TooFewLabels,
    /// A label is empty or longer than 63 bytes.
    #[error("a label of an endpoint id has 1 to {max} bytes", max = EndpointId::LABEL_BYTES_MAX)]
    LabelLength,
    /// Some byte is none of `a-z 0-9 _ -`.
    #[error("an endpoint id is made of a-z, 0-9, underscore and hyphen")]
    Character,
}

impl EndpointId {
    /// Longest id in bytes.
    pub const BYTES_MAX: usize = 255;
    /// Longest label in bytes.
    pub const LABEL_BYTES_MAX: usize = 63;

    /// Checks and copies a text.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse(text: &str) -> Result<Self, EndpointIdError> {
        let (component_at, name_at) = Self::split(text.as_bytes())?;
        Ok(Self {
            text: text.into(),
            component_at,
            name_at,
        })
    }

    /// Checks a text without keeping it: what a receiver does with OPEN. Allocates nothing.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn check(text: &[u8]) -> Result<(), EndpointIdError> {
        Self::split(text).map(|_| ())
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// All labels but the last two.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.text[..usize::from(self.component_at) - 1]
    }

    /// The last label but one.
    #[must_use]
    pub fn component(&self) -> &str {
        &self.text[usize::from(self.component_at)..usize::from(self.name_at) - 1]
    }

    /// The last label.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.text[usize::from(self.name_at)..]
    }

    /// Where component and name start. One pass: each request's endpoint is checked several times
    /// on its way, as the text comes from and goes to the wire.
    fn split(text: &[u8]) -> Result<(u8, u8), EndpointIdError> {
        if text.len() > Self::BYTES_MAX {
            return Err(EndpointIdError::TooLong);
        }
        let (mut dots, mut component_at, mut name_at) = (0_u32, 0, 0);
        for (at, &byte) in text.iter().enumerate() {
            match BYTE_CLASS[usize::from(byte)] {
                ByteClass::Label => {}
                ByteClass::Dot => {
                    label_length(at - name_at)?;
                    (component_at, name_at) = (name_at, at + 1);
                    dots += 1;
                }
                ByteClass::Other => return Err(EndpointIdError::Character),
            }
        }
        label_length(text.len() - name_at)?;
        if dots < 2 {
            return Err(EndpointIdError::TooFewLabels);
        }
        let place = |at: usize| u8::try_from(at).map_err(|_| EndpointIdError::TooLong);
        Ok((place(component_at)?, place(name_at)?))
    }
}

const fn label_length(bytes: usize) -> Result<(), EndpointIdError> {
    if bytes == 0 || bytes > EndpointId::LABEL_BYTES_MAX {
        return Err(EndpointIdError::LabelLength);
    }
    Ok(())
}

/// What a byte is in an endpoint id.
#[derive(Copy, Clone)]
enum ByteClass {
    Label,
    Dot,
    Other,
}

const BYTE_CLASS: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let is_label = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if is_label {
            classes[byte] = ByteClass::Label;
        }
        byte += 1;
    }
    classes[b'.' as usize] = ByteClass::Dot;
    classes
};

impl FromStr for EndpointId {
    type Err = EndpointIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointId({self})")
    }
}

impl PartialEq for EndpointId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for EndpointId {}

impl PartialOrd for EndpointId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EndpointId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

// As `Borrow<str>` demands: the same hash as the text alone.
impl Hash for EndpointId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Borrow<str> for EndpointId {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for EndpointId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}
