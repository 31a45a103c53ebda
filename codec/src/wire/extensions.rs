//! Typed additions at the end of a frame's fields (spec 6.4).

use super::{EXTENSIONS_BYTES_MAX, EXTENSIONS_MAX, Malformed, Reader};

/// Checked extensions, still in the bytes they came in. Keys grow, so none repeats.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions<'a> {
    bytes: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// No extensions.
    pub const EMPTY: Self = Self { bytes: &[] };
    /// Bit of a key that says that a receiver must understand the extension or refuse the frame.
    pub const CRITICAL: u16 = 0x8000;

    /// Checks encoded extensions. `known` lists the keys that the frame defines: a critical key
    /// outside it is refused, any other key is kept and may be ignored.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn parse(bytes: &'a [u8], known: &[u16]) -> Result<Self, Malformed> {
        if bytes.len() > EXTENSIONS_BYTES_MAX {
            return Err(Malformed::ExtensionsTooLong);
        }
        let mut reader = Reader::new(bytes);
        let mut last = None;
        let mut count = 0;
        while reader.len() > 0 {
            if count == EXTENSIONS_MAX {
                return Err(Malformed::ExtensionsCount);
            }
            count += 1;
            let (key, _) = read_extension(&mut reader).map_err(|_| Malformed::ExtensionCut)?;
            if last.is_some_and(|last| key <= last) {
                return Err(Malformed::ExtensionOrder(key));
            }
            if key & Self::CRITICAL != 0 && !known.contains(&key) {
                return Err(Malformed::ExtensionCritical(key));
            }
            last = Some(key);
        }
        Ok(Self { bytes })
    }

    /// The encoded extensions.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The extensions by growing key.
    #[must_use]
    pub const fn iter(&self) -> ExtensionsIter<'a> {
        ExtensionsIter(Reader::new(self.bytes))
    }

    /// The value of one extension.
    #[must_use]
    pub fn find(&self, key: u16) -> Option<&'a [u8]> {
        self.iter()
            .find(|(found, _)| *found == key)
            .map(|(_, value)| value)
    }

    /// Removes the first extension if it has this key.
    pub(crate) fn pop(&mut self, key: u16) -> Option<&'a [u8]> {
        let mut reader = Reader::new(self.bytes);
        let (found, value) = read_extension(&mut reader).ok()?;
        if found != key {
            return None;
        }
        self.bytes = reader.rest();
        Some(value)
    }
}

impl<'a> IntoIterator for Extensions<'a> {
    type Item = (u16, &'a [u8]);
    type IntoIter = ExtensionsIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Yields the pairs of [`Extensions`].
#[derive(Clone)]
pub struct ExtensionsIter<'a>(Reader<'a>);

impl std::fmt::Debug for ExtensionsIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtensionsIter")
            .field("bytes_left", &self.0.len())
            .finish()
    }
}

impl<'a> Iterator for ExtensionsIter<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // Checked bytes end at an extension's end, where the read of a key fails.
        read_extension(&mut self.0).ok()
    }
}

/// `key u16 | length u16 | value`
fn read_extension<'a>(reader: &mut Reader<'a>) -> Result<(u16, &'a [u8]), Malformed> {
    let &[key_low, key_high, len_low, len_high] = reader.fixed::<[u8; 4]>()?;
    let value = reader.take(usize::from(u16::from_le_bytes([len_low, len_high])))?;
    Ok((u16::from_le_bytes([key_low, key_high]), value))
}
