//! Cutting received bytes into frames (spec 3).

use super::ConnectionError;
use crate::frame::{DataHead, Hello};
use crate::wire::{DATA_TOTAL_BYTES, FrameKind, HEADER_BYTES, Header, Preamble};

const HEAD_BYTES_MAX: usize = HEADER_BYTES + DATA_TOTAL_BYTES;

/// Where the body of a control frame is.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Body<'b> {
    /// Whole in the chunk.
    Chunk(&'b [u8]),
    /// It came in several chunks and is in [`Framer::body`].
    Buffered,
}

/// What came next.
#[derive(Debug)]
pub(crate) enum Step<'b> {
    /// The chunk is used up.
    NeedMore,
    /// The head of a DATA; its payload follows in the chunk.
    Data {
        header: Header,
        head: DataHead,
        total: Option<u32>,
    },
    Control {
        kind: FrameKind,
        header: Header,
        body: Body<'b>,
    },
    /// An unknown frame that is skipped.
    Unknown,
}

#[derive(Copy, Clone, Debug)]
enum Rx {
    Head,
    Control { kind: FrameKind, header: Header },
    Skip { left: usize },
}

/// A header, and the total length behind it where there is one.
struct Head {
    header: Header,
    total: Option<[u8; DATA_TOTAL_BYTES]>,
}

/// Keeps at most one frame head or one control frame, never a payload.
#[derive(Debug)]
pub(crate) struct Framer {
    head: [u8; HEAD_BYTES_MAX],
    head_len: usize,
    rx: Rx,
    body: Vec<u8>,
}

impl Framer {
    pub(crate) fn new() -> Self {
        Self {
            head: [0; HEAD_BYTES_MAX],
            head_len: 0,
            rx: Rx::Head,
            body: Vec::new(),
        }
    }

    /// Whether the next byte is the first of a frame.
    pub(crate) fn is_at_start(&self) -> bool {
        self.head_len == 0 && matches!(self.rx, Rx::Head)
    }

    /// The body of the last frame that was `Body::Buffered`.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Goes on to the next frame. `inspect` looks at the first bytes of the first one.
    pub(crate) fn next<'b>(
        &mut self,
        chunk: &mut &'b [u8],
        fragment_bytes_max: u16,
        inspect: Option<fn(&[u8]) -> Preamble>,
    ) -> Result<Step<'b>, ConnectionError> {
        loop {
            match self.rx {
                Rx::Head => {
                    let Some(Head { header, total }) =
                        self.head(chunk, fragment_bytes_max, inspect)?
                    else {
                        return Ok(Step::NeedMore);
                    };
                    if let Some(step) = self.begin(header, total, chunk)? {
                        return Ok(step);
                    }
                }
                Rx::Control { kind, header } => {
                    let missing = usize::from(header.len) - self.body.len();
                    self.body.extend_from_slice(take(chunk, missing));
                    if let Some(inspect) = inspect {
                        self.inspect_magic(inspect)?;
                    }
                    if self.body.len() < usize::from(header.len) {
                        return Ok(Step::NeedMore);
                    }
                    self.rx = Rx::Head;
                    return Ok(Step::Control {
                        kind,
                        header,
                        body: Body::Buffered,
                    });
                }
                Rx::Skip { left } => {
                    let left = left - take(chunk, left).len();
                    if left > 0 {
                        self.rx = Rx::Skip { left };
                        return Ok(Step::NeedMore);
                    }
                    self.rx = Rx::Head;
                }
            }
        }
    }

    /// Takes a header, and the total length behind it where there is one.
    fn head(
        &mut self,
        chunk: &mut &[u8],
        fragment_bytes_max: u16,
        inspect: Option<fn(&[u8]) -> Preamble>,
    ) -> Result<Option<Head>, ConnectionError> {
        if self.head_len == 0
            && inspect.is_none()
            && let Some((header, rest)) = Header::split_first(chunk)
        {
            let needs_total = check(header, fragment_bytes_max)?;
            if !needs_total {
                *chunk = rest;
                return Ok(Some(Head {
                    header,
                    total: None,
                }));
            }
        }
        self.fill(chunk, HEADER_BYTES);
        if let Some(inspect) = inspect
            && let Preamble::Foreign(looks_like) = inspect(&self.head[..self.head_len])
        {
            return Err(ConnectionError::NotRingmain(looks_like));
        }
        let Some((header, _)) = Header::split_first(&self.head[..self.head_len]) else {
            return Ok(None);
        };
        let mut total = None;
        if check(header, fragment_bytes_max)? {
            self.fill(chunk, HEAD_BYTES_MAX);
            let Some(prefix) = self.head[..self.head_len].get(HEADER_BYTES..HEAD_BYTES_MAX) else {
                return Ok(None);
            };
            total = prefix.try_into().ok();
        }
        self.head_len = 0;
        Ok(Some(Head { header, total }))
    }

    /// The magic stands behind HELLO's header: a stranger is known before the body is whole
    /// (spec 4.1.1).
    fn inspect_magic(&self, inspect: fn(&[u8]) -> Preamble) -> Result<(), ConnectionError> {
        let mut first = [0; HEADER_BYTES + Hello::MAGIC.len()];
        let len = self.body.len().min(Hello::MAGIC.len());
        first[..HEADER_BYTES].copy_from_slice(&self.head[..HEADER_BYTES]);
        first[HEADER_BYTES..HEADER_BYTES + len].copy_from_slice(&self.body[..len]);
        match inspect(&first[..HEADER_BYTES + len]) {
            Preamble::Foreign(looks_like) => Err(ConnectionError::NotRingmain(looks_like)),
            Preamble::Ringmain | Preamble::Incomplete => Ok(()),
        }
    }

    /// Fills the head up to `len` bytes, as far as the chunk goes.
    fn fill(&mut self, chunk: &mut &[u8], len: usize) {
        let bytes = take(chunk, len.saturating_sub(self.head_len));
        self.head[self.head_len..self.head_len + bytes.len()].copy_from_slice(bytes);
        self.head_len += bytes.len();
    }

    /// Starts on the body behind a header; `None` when more of it must come first.
    fn begin<'b>(
        &mut self,
        header: Header,
        total: Option<[u8; DATA_TOTAL_BYTES]>,
        chunk: &mut &'b [u8],
    ) -> Result<Option<Step<'b>>, ConnectionError> {
        let len = usize::from(header.len);
        match header.frame_kind() {
            Some(FrameKind::Data) => {
                let head = DataHead::from_header(header)?;
                let total = total.map(|prefix| head.total(prefix)).transpose()?;
                Ok(Some(Step::Data {
                    header,
                    head,
                    total,
                }))
            }
            Some(kind) => {
                if let Some((body, rest)) = chunk.split_at_checked(len) {
                    *chunk = rest;
                    return Ok(Some(Step::Control {
                        kind,
                        header,
                        body: Body::Chunk(body),
                    }));
                }
                self.body.clear();
                self.body.reserve(len);
                self.rx = Rx::Control { kind, header };
                Ok(None)
            }
            None => {
                self.rx = Rx::Skip { left: len };
                Ok(Some(Step::Unknown))
            }
        }
    }
}

/// Checks what a header alone can tell, before a byte of the body is kept (spec 3.3.1); unknown
/// optional frames pass (spec 3.3.2). Says whether a total length stands behind it.
fn check(header: Header, fragment_bytes_max: u16) -> Result<bool, ConnectionError> {
    match header.frame_kind() {
        Some(kind) => {
            header.check(kind, fragment_bytes_max)?;
            let is_data = kind == FrameKind::Data;
            if is_data {
                DataHead::from_header(header)?;
            }
            Ok(is_data && header.has(Header::TOTAL))
        }
        None if header.is_optional() => Ok(false),
        None => Err(ConnectionError::UnknownCriticalFrame(header.kind)),
    }
}

/// The next bytes of the chunk, at most `len`.
fn take<'b>(chunk: &mut &'b [u8], len: usize) -> &'b [u8] {
    let (taken, rest) = chunk.split_at(len.min(chunk.len()));
    *chunk = rest;
    taken
}
