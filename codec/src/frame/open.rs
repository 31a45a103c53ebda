//! OPEN: a new stream and the first bytes of its request (spec 6.1).

use std::time::Duration;

use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{check, outgoing};
use crate::wire::{
    CONTROL_BODY_BYTES_MAX, EncodeError, Extensions, FrameError, FrameKind, HEADER_BYTES, Header,
    Malformed, Metadata, OutBuf, Reader,
};
use crate::{EndpointId, Priority, RequestId, StreamId, TraceContext};

/// A request, or the start of one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// Chosen by the caller; the same on every hop.
    pub request_id: RequestId,
    /// Time that is left, counted from when the frame is sent; whole microseconds on the wire.
    pub deadline: Option<Duration>,
    /// Order of admission and share of sending time.
    pub priority: Priority,
    /// The caller's span.
    pub trace: Option<TraceContext>,
    /// Which endpoint is called; checked against the rules of [`EndpointId`].
    pub endpoint: &'a str,
    /// Key-value pairs for the handler.
    pub metadata: Metadata<'a>,
    /// Total length of the first message; `None` when messages come later, as DATA.
    pub request_len: Option<u32>,
    /// The first bytes of that message, or all of it.
    pub request: &'a [u8],
    /// The input ends here: one whole message, or none.
    pub end_request: bool,
    /// Additions; version 1 defines none.
    pub extensions: Extensions<'a>,
}

impl<'a> Open<'a> {
    const KIND: FrameKind = FrameKind::Open;
    const EXTENSIONS_KNOWN: &'static [u16] = &[];

    /// Reads a whole body.
    ///
    /// # Errors
    /// The rule that the frame breaks.
    pub fn parse(header: Header, body: &'a [u8]) -> Result<Self, FrameError> {
        check(Self::KIND, header, body)?;
        parse(header, body).map_err(|reason| reason.within(Self::KIND))
    }

    /// Appends the frame. MORE is set when `request` is shorter than `request_len`.
    ///
    /// # Errors
    /// No room, or a field that the receiver would refuse.
    pub fn encode(&self, stream: StreamId, out: &mut OutBuf<'_>) -> Result<(), EncodeError> {
        let within = |reason: Malformed| reason.within(Self::KIND);
        let (fixed, flags) = self.fixed().map_err(within)?;
        let header = outgoing(stream, Self::KIND, flags, self.encoded_len() - HEADER_BYTES)?;
        let trace = self.trace.map(RawTrace::from);
        out.put_frame(
            header,
            [
                fixed.as_bytes(),
                trace.as_ref().map_or(&[], |trace| trace.as_bytes()),
                self.endpoint.as_bytes(),
                self.metadata.as_bytes(),
                self.extensions.as_bytes(),
                self.request,
            ],
        )
    }

    /// Bytes that [`Open::encode`] writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.head_len() + self.request.len()
    }

    /// How many bytes of the request fit in the frame beside its other fields. The request itself
    /// does not count, so this can be asked before it is cut.
    #[must_use]
    pub const fn request_room(&self) -> usize {
        (HEADER_BYTES + CONTROL_BODY_BYTES_MAX).saturating_sub(self.head_len())
    }

    /// Whether the first message goes on in DATA.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.request_len
            .is_some_and(|len| self.request.len() < len as usize)
    }

    const fn head_len(&self) -> usize {
        HEADER_BYTES
            + size_of::<Fixed>()
            + if self.trace.is_some() {
                size_of::<RawTrace>()
            } else {
                0
            }
            + self.endpoint.len()
            + self.metadata.as_bytes().len()
            + self.extensions.as_bytes().len()
    }

    fn fixed(&self) -> Result<(Fixed, u8), Malformed> {
        EndpointId::check(self.endpoint.as_bytes()).map_err(|_| Malformed::Endpoint)?;
        let deadline_us = self.deadline.map(micros);
        let mut flags = if self.has_more() { Header::MORE } else { 0 };
        if self.end_request {
            flags |= Header::END_REQUEST;
        }
        check_request(flags, self.request_len, self.request)?;
        let mut present = 0;
        for (is_some, bit) in [
            (self.deadline.is_some(), Fixed::DEADLINE),
            (self.trace.is_some(), Fixed::TRACE),
            (self.request_len.is_some(), Fixed::REQUEST_LEN),
        ] {
            present |= if is_some { bit } else { 0 };
        }
        let short = |len: usize, reason| u16::try_from(len).map_err(|_| reason);
        let fixed = Fixed {
            request_id: self.request_id.0,
            deadline_us: U64::new(deadline_us.unwrap_or(0)),
            request_len: U32::new(self.request_len.unwrap_or(0)),
            present,
            priority: self.priority.code(),
            endpoint_len: u8::try_from(self.endpoint.len()).map_err(|_| Malformed::Endpoint)?,
            reserved: 0,
            metadata_len: U16::new(short(
                self.metadata.as_bytes().len(),
                Malformed::MetadataTooLong,
            )?),
            extensions_len: U16::new(short(
                self.extensions.as_bytes().len(),
                Malformed::ExtensionsTooLong,
            )?),
        };
        Ok((fixed, flags))
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fixed {
    request_id: [u8; 16],
    deadline_us: U64,
    request_len: U32,
    present: u8,
    priority: u8,
    endpoint_len: u8,
    reserved: u8,
    metadata_len: U16,
    extensions_len: U16,
}

impl Fixed {
    const DEADLINE: u8 = 0x01;
    const TRACE: u8 = 0x02;
    const REQUEST_LEN: u8 = 0x04;

    const fn has(&self, bit: u8) -> bool {
        self.present & bit != 0
    }

    fn deadline(&self) -> Result<Option<Duration>, Malformed> {
        match (self.has(Self::DEADLINE), self.deadline_us.get()) {
            (true, us) => Ok(Some(Duration::from_micros(us))),
            (false, 0) => Ok(None),
            (false, _) => Err(Malformed::Reserved),
        }
    }

    fn request_len(&self) -> Result<Option<u32>, Malformed> {
        match (self.has(Self::REQUEST_LEN), self.request_len.get()) {
            (true, len) => Ok(Some(len)),
            (false, 0) => Ok(None),
            (false, _) => Err(Malformed::Reserved),
        }
    }
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawTrace {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

impl From<TraceContext> for RawTrace {
    fn from(trace: TraceContext) -> Self {
        Self {
            trace_id: trace.trace_id,
            span_id: trace.span_id,
            flags: trace.flags,
        }
    }
}

impl RawTrace {
    const fn context(&self) -> TraceContext {
        TraceContext {
            trace_id: self.trace_id,
            span_id: self.span_id,
            flags: self.flags,
        }
    }
}

fn parse(header: Header, body: &[u8]) -> Result<Open<'_>, Malformed> {
    let mut reader = Reader::new(body);
    let fixed: &Fixed = reader.fixed()?;
    let unknown = !(Fixed::DEADLINE | Fixed::TRACE | Fixed::REQUEST_LEN);
    if fixed.reserved != 0 || fixed.present & unknown != 0 {
        return Err(Malformed::Reserved);
    }
    let trace = if fixed.has(Fixed::TRACE) {
        Some(reader.fixed::<RawTrace>()?.context())
    } else {
        None
    };
    let endpoint = reader.take(usize::from(fixed.endpoint_len))?;
    EndpointId::check(endpoint).map_err(|_| Malformed::Endpoint)?;
    let endpoint = std::str::from_utf8(endpoint).map_err(|_| Malformed::Endpoint)?;
    let metadata = Metadata::parse(reader.take(usize::from(fixed.metadata_len.get()))?)?;
    let extensions = reader.take(usize::from(fixed.extensions_len.get()))?;
    let extensions = Extensions::parse(extensions, Open::EXTENSIONS_KNOWN)?;
    let (request_len, request) = (fixed.request_len()?, reader.rest());
    check_request(header.flags, request_len, request)?;
    Ok(Open {
        request_id: RequestId(fixed.request_id),
        deadline: fixed.deadline()?,
        priority: Priority::from_code(fixed.priority).ok_or(Malformed::Priority)?,
        trace,
        endpoint,
        metadata,
        request_len,
        request,
        end_request: header.has(Header::END_REQUEST),
        extensions,
    })
}

/// MORE stands exactly when bytes of the message are missing, and then the input cannot end here.
fn check_request(flags: u8, len: Option<u32>, request: &[u8]) -> Result<(), Malformed> {
    let more = flags & Header::MORE != 0;
    if more && flags & Header::END_REQUEST != 0 {
        return Err(Malformed::Flags(flags));
    }
    let is_right = match len {
        Some(len) if more => request.len() < len as usize,
        Some(len) => request.len() == len as usize,
        None => request.is_empty() && !more,
    };
    if is_right {
        Ok(())
    } else {
        Err(Malformed::RequestLen)
    }
}

/// A deadline beyond what the field holds is as good as the largest that it does.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
