//! What a call carries: the request, and the right to answer it.

use anyhow::Context as _;
use bytes::{Buf as _, Bytes};
use velo::{StreamAnchorHandle, StreamOpenTicket};

/// The message's name.
pub(crate) const CALL: &str = "generate";

/// Puts them into one message.
pub(crate) fn encode(
    request: &[u8],
    anchor: StreamAnchorHandle,
    ticket: &StreamOpenTicket,
) -> anyhow::Result<Bytes> {
    let mut message = Vec::with_capacity(4 + request.len() + 128);
    message.extend_from_slice(&u32::try_from(request.len())?.to_le_bytes());
    message.extend_from_slice(request);
    rmp_serde::encode::write(&mut message, &(anchor, ticket))?;
    Ok(message.into())
}

/// Takes them out again.
pub(crate) fn decode(
    mut message: Bytes,
) -> anyhow::Result<(Bytes, StreamAnchorHandle, StreamOpenTicket)> {
    let len = message.try_get_u32_le()? as usize;
    anyhow::ensure!(len <= message.len(), "a call is cut off");
    let request = message.split_to(len);
    let (anchor, ticket) = rmp_serde::from_slice(&message).context("no ticket")?;
    Ok((request, anchor, ticket))
}
