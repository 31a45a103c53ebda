//! Frames: length, stream, kind, then the payload.

use bytes::{Buf, Bytes, BytesMut};

/// Length of a frame's header.
const HEADER_BYTES: usize = 13;
/// A longer payload is a peer that speaks something else.
const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a frame means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Client: opens a stream with its request.
    Open = 0,
    /// Server: one item.
    Item = 1,
    /// Server: there are no more items.
    End = 2,
    /// Client: wants no more items.
    Cancel = 3,
}

/// A frame that was read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) stream: u64,
    pub(crate) payload: Bytes,
}

/// Appends a frame to `out`.
pub(crate) fn write(out: &mut Vec<u8>, kind: Kind, stream: u64, payload: &[u8]) {
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&stream.to_le_bytes());
    out.push(kind as u8);
    out.extend_from_slice(payload);
}

/// Takes a whole frame from the front of `input`, without copying its payload.
pub(crate) fn split_first(input: &mut BytesMut) -> anyhow::Result<Option<Frame>> {
    let Some(mut header) = input.get(..HEADER_BYTES) else {
        return Ok(None);
    };
    let len = header.get_u32_le() as usize;
    let stream = header.get_u64_le();
    let kind = match header.get_u8() {
        0 => Kind::Open,
        1 => Kind::Item,
        2 => Kind::End,
        3 => Kind::Cancel,
        other => anyhow::bail!("frame of unknown kind {other}"),
    };
    anyhow::ensure!(len <= PAYLOAD_BYTES_MAX, "frame of {len} bytes");
    if input.len() < HEADER_BYTES + len {
        return Ok(None);
    }
    let mut payload = input.split_to(HEADER_BYTES + len).freeze();
    payload.advance(HEADER_BYTES);
    Ok(Some(Frame {
        kind,
        stream,
        payload,
    }))
}
