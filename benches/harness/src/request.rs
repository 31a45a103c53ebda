//! The 64 bytes of a request: what the server is to produce.

/// Length of an encoded request; longer ones are padded with zeros.
pub const REQUEST_BYTES: usize = 64;
/// Shortest item, so that a stamp and an intended time fit.
pub const ITEM_BYTES_MIN: u32 = 16;

const MAGIC: u32 = 0x5247_4d42;

/// How items become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// All at once.
    Ready = 0,
    /// One per turn of the scheduler: the producer yields after each.
    Yield = 1,
    /// One per `interval_ns`, from the request's arrival plus `phase_ns`.
    Paced = 2,
    /// One per `interval_ns`, on a grid that all streams share.
    Grid = 3,
    /// One per `interval_ns` until cancelled; the instant of the cancel is kept under `id`.
    Endless = 4,
    /// One item: the instant at which stream `id` saw its cancel, or zero.
    CancelledAt = 5,
    /// One item: the process's allocation counter.
    Allocations = 6,
    /// As [`Kind::Grid`] (or [`Kind::Ready`] when `interval_ns` is zero), pushed by an engine
    /// thread that hands over a whole step; a system without such a way treats it as those.
    Step = 7,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Ready,
        Self::Yield,
        Self::Paced,
        Self::Grid,
        Self::Endless,
        Self::CancelledAt,
        Self::Allocations,
        Self::Step,
    ];
}

/// What to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How items become ready.
    pub kind: Kind,
    /// Bytes of one item, at least [`ITEM_BYTES_MIN`].
    pub item_bytes: u32,
    /// Number of items.
    pub items: u32,
    /// Time between items of one stream.
    pub interval_ns: u64,
    /// Delay of the first item of a [`Kind::Paced`] stream.
    pub phase_ns: u64,
    /// The stream, unique within a run.
    pub id: u64,
}

impl Request {
    /// One small item at once.
    pub const UNARY: Self = Self {
        kind: Kind::Ready,
        item_bytes: 64,
        items: 1,
        interval_ns: 0,
        phase_ns: 0,
        id: 0,
    };

    /// The wire form; the rest of the 64 bytes is zero.
    #[must_use]
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[8..12].copy_from_slice(&self.item_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.items.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.interval_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.phase_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    /// Reads a request of at least 64 bytes; `None` if it is none of ours.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; REQUEST_BYTES] = bytes.get(..REQUEST_BYTES)?.try_into().ok()?;
        if u32_at(head, 0) != MAGIC {
            return None;
        }
        let kind = *Kind::ALL.get(usize::from(head[4]))?;
        let request = Self {
            kind,
            item_bytes: u32_at(head, 8),
            items: u32_at(head, 12),
            interval_ns: u64_at(head, 16),
            phase_ns: u64_at(head, 24),
            id: u64_at(head, 32),
        };
        (request.item_bytes >= ITEM_BYTES_MIN).then_some(request)
    }
}

fn u32_at(bytes: &[u8; REQUEST_BYTES], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8; REQUEST_BYTES], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Request};

    #[test]
    fn a_request_reads_back() {
        for kind in Kind::ALL {
            let request = Request {
                kind,
                item_bytes: 128,
                items: 3,
                interval_ns: 4,
                phase_ns: 5,
                id: 6,
            };
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(Request::decode(&[]), None);
        assert_eq!(Request::decode(&[0; 64]), None);
        let mut unknown = Request::UNARY.encode();
        unknown[4] = 99;
        assert_eq!(Request::decode(&unknown), None);
        let short = Request {
            item_bytes: 8,
            ..Request::UNARY
        };
        assert_eq!(Request::decode(&short.encode()), None);
    }
}
