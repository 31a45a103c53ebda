//! Key-value pairs of a request and of its terminal (spec 6.3).

use super::{METADATA_BYTES_MAX, METADATA_KEY_BYTES_MAX, METADATA_PAIRS_MAX, Malformed, Reader};

/// Checked pairs, still in the bytes they came in. Keys may repeat; order is kept.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    bytes: &'a [u8],
    pairs: usize,
}

impl<'a> Metadata<'a> {
    /// No pairs.
    pub const EMPTY: Self = Self {
        bytes: &[],
        pairs: 0,
    };

    /// Checks encoded pairs: their bounds, and each key.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len() > METADATA_BYTES_MAX {
            return Err(Malformed::MetadataTooLong);
        }
        let mut reader = Reader::new(bytes);
        let mut pairs = 0;
        while reader.len() > 0 {
            if pairs == METADATA_PAIRS_MAX {
                return Err(Malformed::MetadataPairs);
            }
            let (key, _) = read_pair(&mut reader).map_err(|_| Malformed::MetadataCut)?;
            check_key(key)?;
            pairs += 1;
        }
        Ok(Self { bytes, pairs })
    }

    /// Encodes pairs into `out`, which is cleared first and grows to
    /// [`METADATA_BYTES_MAX`] at most. For building a request or a terminal; allocates when `out`
    /// is too small.
    ///
    /// # Errors
    /// The rule that the pairs break; `out` is empty then.
    pub fn encode_pairs<K, V>(
        pairs: impl IntoIterator<Item = (K, V)>,
        out: &'a mut Vec<u8>,
    ) -> Result<Self, Malformed>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        out.clear();
        let mut count = 0;
        for (key, value) in pairs {
            count += 1;
            if let Err(reason) = push_pair(count, key.as_ref(), value.as_ref(), out) {
                out.clear();
                return Err(reason);
            }
        }
        Ok(Self {
            bytes: out,
            pairs: count,
        })
    }

    /// The encoded pairs.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many pairs there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pairs
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// The pairs in the order in which they were written.
    #[must_use]
    pub const fn iter(&self) -> MetadataIter<'a> {
        MetadataIter(Reader::new(self.bytes))
    }

    /// The value of the first pair with this key.
    #[must_use]
    pub fn first(&self, key: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .find(|(found, _)| *found == key)
            .map(|(_, value)| value)
    }
}

impl<'a> IntoIterator for Metadata<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = MetadataIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Yields the pairs of [`Metadata`].
#[derive(Clone)]
pub struct MetadataIter<'a>(Reader<'a>);

impl std::fmt::Debug for MetadataIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetadataIter")
            .field("bytes_left", &self.0.len())
            .finish()
    }
}

impl<'a> Iterator for MetadataIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // Checked bytes end at a pair's end, where the read of a length fails.
        read_pair(&mut self.0).ok()
    }
}

/// `key_len u8 | value_len u16 | key | value`
fn read_pair<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    let &[key_len, low, high] = reader.fixed::<[u8; 3]>()?;
    let key = reader.take(usize::from(key_len))?;
    let value = reader.take(usize::from(u16::from_le_bytes([low, high])))?;
    Ok((key, value))
}

fn push_pair(count: usize, key: &[u8], value: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    if count > METADATA_PAIRS_MAX {
        return Err(Malformed::MetadataPairs);
    }
    check_key(key)?;
    let key_len = u8::try_from(key.len()).map_err(|_| Malformed::MetadataKey)?;
    let value_len = u16::try_from(value.len()).map_err(|_| Malformed::MetadataTooLong)?;
    if 3 + key.len() + value.len() > METADATA_BYTES_MAX - out.len() {
        return Err(Malformed::MetadataTooLong);
    }
    out.push(key_len);
    out.extend_from_slice(&value_len.to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    Ok(())
}

fn check_key(key: &[u8]) -> Result<(), Malformed> {
    let allowed = |b: &u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    if key.is_empty() || key.len() > METADATA_KEY_BYTES_MAX || !key.iter().all(allowed) {
        return Err(Malformed::MetadataKey);
    }
    Ok(())
}
