//! Where frames are written: a caller's `Vec` that is filled and never grown.

use super::{EncodeError, HEADER_BYTES, Header};

/// A bounded writer over a caller's vector.
///
/// Nothing is ever written past `limit` or past the vector's capacity, so it never reallocates.
/// A frame goes in whole or not at all.
#[derive(Debug)]
pub struct OutBuf<'a> {
    bytes: &'a mut Vec<u8>,
    limit: usize,
    start: usize,
}

impl<'a> OutBuf<'a> {
    /// Appends to `bytes` until it is `limit` bytes long in all, or full.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a mut Vec<u8>, limit: usize) -> Self {
        let limit = limit.min(bytes.capacity());
        let start = bytes.len();
        Self {
            bytes,
            limit,
            start,
        }
    }

    /// Bytes that can still be written.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    /// Bytes written through this `OutBuf`.
    #[must_use]
    #[inline]
    pub fn written(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Everything in the vector, from before and from now.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes
    }

    /// Appends bytes that are already frames, all or nothing.
    ///
    /// # Errors
    /// [`EncodeError::NoRoom`]; nothing was written then.
    #[inline]
    pub fn put(&mut self, frames: &[u8]) -> Result<(), EncodeError> {
        self.put_parts([frames])
    }

    /// Appends a header and the parts of its body, all or nothing.
    #[inline]
    pub(crate) fn put_frame<const N: usize>(
        &mut self,
        header: Header,
        body: [&[u8]; N],
    ) -> Result<(), EncodeError> {
        debug_assert_eq!(
            usize::from(header.len),
            body.iter().map(|part| part.len()).sum::<usize>(),
            "the header counts the body"
        );
        if self.remaining() < HEADER_BYTES + usize::from(header.len) {
            return Err(EncodeError::NoRoom);
        }
        self.bytes.extend_from_slice(&header.encode());
        self.put_parts(body)
    }

    #[inline]
    fn put_parts<const N: usize>(&mut self, parts: [&[u8]; N]) -> Result<(), EncodeError> {
        let mut room = self.remaining();
        for part in parts {
            room = room.checked_sub(part.len()).ok_or(EncodeError::NoRoom)?;
        }
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        Ok(())
    }
}
