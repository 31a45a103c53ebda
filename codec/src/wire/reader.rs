//! Reading a body front to back; no read goes past its end.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::Malformed;

/// What is left of a body.
#[derive(Copy, Clone)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next bytes as a fixed layout.
    pub(crate) fn fixed<T>(&mut self) -> Result<&'a T, Malformed>
    where
        T: FromBytes + Immutable + KnownLayout + Unaligned,
    {
        let (value, rest) = T::ref_from_prefix(self.0).map_err(|_| Malformed::TooShort)?;
        self.0 = rest;
        Ok(value)
    }

    /// The next `len` bytes as text of at most `max` bytes.
    pub(crate) fn text(&mut self, len: usize, max: usize) -> Result<&'a str, Malformed> {
        if len > max {
            return Err(Malformed::TextTooLong);
        }
        std::str::from_utf8(self.take(len)?).map_err(|_| Malformed::Utf8)
    }

    /// All that is left.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Ends the reading.
    pub(crate) const fn finish(self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed::TrailingBytes)
        }
    }
}
