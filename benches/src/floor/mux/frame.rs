//! One item on the wire: its stream, its length, its bytes.

/// Bytes before those of the item: stream (4), length (2), little-endian.
const HEAD_BYTES: usize = 6;
/// Bytes of the longest frame.
pub(super) const FRAME_BYTES_MAX: usize = HEAD_BYTES + u16::MAX as usize;

/// An item that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) stream: u32,
    pub(super) item: &'a [u8],
}

/// The first frame of `bytes` and what follows it; `None` if it is not whole yet.
pub(super) fn split(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (stream, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (item, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let stream = u32::from_le_bytes(*stream);
    Some((Frame { stream, item }, rest))
}

/// Appends a frame. An item that is longer than a length can say is cut.
pub(super) fn push(buffer: &mut Vec<u8>, stream: u32, item: &[u8]) {
    let length = u16::try_from(item.len()).unwrap_or(u16::MAX);
    buffer.extend_from_slice(&stream.to_le_bytes());
    buffer.extend_from_slice(&length.to_le_bytes());
    buffer.extend_from_slice(&item[..usize::from(length)]);
}

#[cfg(test)]
mod tests {
    use super::{FRAME_BYTES_MAX, Frame, push, split};

    #[test]
    fn frames_are_read_one_after_the_other() {
        let mut bytes = Vec::new();
        push(&mut bytes, 7, b"one");
        push(&mut bytes, u32::MAX, b"");
        let (first, rest) = split(&bytes).unwrap();
        let item = b"one";
        assert_eq!(first, Frame { stream: 7, item });
        let (second, rest) = split(rest).unwrap();
        assert_eq!((second.stream, second.item.len()), (u32::MAX, 0));
        assert_eq!(split(rest), None);
    }

    #[test]
    fn a_frame_cut_anywhere_is_not_whole() {
        let mut bytes = Vec::new();
        push(&mut bytes, 1, &[9; 20]);
        for cut in 0..bytes.len() {
            assert_eq!(split(&bytes[..cut]), None, "{cut}");
        }
        assert!(split(&bytes).is_some());
    }

    #[test]
    fn the_longest_item_fits_and_a_longer_one_is_cut() {
        for length in [65_535, 65_536] {
            let mut bytes = Vec::new();
            push(&mut bytes, 1, &vec![1; length]);
            assert_eq!(bytes.len(), FRAME_BYTES_MAX);
            assert_eq!(split(&bytes).unwrap().0.item.len(), 65_535);
        }
    }
}
