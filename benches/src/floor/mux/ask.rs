//! The one request: which items, and when they are due.

use std::io::{self, ErrorKind, Read};

use anyhow::ensure;
use ringmain_bench_harness::{ITEM_BYTES_MIN, Load, Plan, PlanKind, next_on_grid, paced_requests};

/// Bytes before the streams: their number, bytes and number of items (4 each), the interval (8).
const HEAD_BYTES: usize = 20;
/// More than any plan has; a number beyond it is no request.
const STREAMS_MAX: u32 = 1 << 20;

/// What the server is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Bytes of one item.
    pub(super) item_bytes: u32,
    /// Items of each stream.
    pub(super) items: u32,
    /// Time between the items of one stream.
    pub(super) interval_ns: u64,
    /// When the first item of each stream is due.
    pub(super) first_ns: Vec<u64>,
}

impl Ask {
    /// The streams of a paced load that starts at `start_ns`.
    ///
    /// # Errors
    ///
    /// If the plan has another load, or items that a frame cannot hold.
    pub(super) fn new(plan: &Plan, start_ns: u64) -> anyhow::Result<Self> {
        ensure!(
            plan.load == Load::Paced && plan.interval_us > 0 && plan.streams > 0,
            "bare_mux has timed items only"
        );
        let on_grid = match plan.kind {
            PlanKind::Paced => false,
            PlanKind::Grid | PlanKind::Step => true,
            PlanKind::Ready | PlanKind::Yield => anyhow::bail!("bare_mux has timed items only"),
        };
        let mut ask = Self {
            item_bytes: plan.item_bytes,
            items: 0,
            interval_ns: plan.interval_us * 1000,
            first_ns: Vec::with_capacity(plan.streams),
        };
        for (after_ns, request) in paced_requests(plan) {
            let opens = start_ns + after_ns;
            ask.items = request.items;
            ask.first_ns.push(match on_grid {
                true => next_on_grid(opens, request.interval_ns),
                false => opens + request.phase_ns,
            });
        }
        ensure!(
            ask.is_possible(),
            "bare_mux cannot send items of {} B on {} streams",
            ask.item_bytes,
            plan.streams
        );
        Ok(ask)
    }

    /// All items of all streams.
    pub(super) fn total(&self) -> u64 {
        self.first_ns.len() as u64 * u64::from(self.items)
    }

    /// The wire form.
    pub(super) fn encode(&self) -> Vec<u8> {
        let streams = u32::try_from(self.first_ns.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.first_ns.len() * 8);
        bytes.extend_from_slice(&streams.to_le_bytes());
        bytes.extend_from_slice(&self.item_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.items.to_le_bytes());
        bytes.extend_from_slice(&self.interval_ns.to_le_bytes());
        for first in &self.first_ns {
            bytes.extend_from_slice(&first.to_le_bytes());
        }
        bytes
    }

    /// Reads a request.
    ///
    /// # Errors
    ///
    /// If it does not arrive whole, or is not possible.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Self> {
        let streams = read_u32(stream)?;
        let mut ask = Self {
            item_bytes: read_u32(stream)?,
            items: read_u32(stream)?,
            interval_ns: read_u64(stream)?,
            first_ns: Vec::new(),
        };
        if streams > STREAMS_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        for _ in 0..streams {
            ask.first_ns.push(read_u64(stream)?);
        }
        match ask.is_possible() {
            true => Ok(ask),
            false => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn is_possible(&self) -> bool {
        let sizes = ITEM_BYTES_MIN..=u32::from(u16::MAX);
        let streams = 1..=STREAMS_MAX as usize;
        sizes.contains(&self.item_bytes)
            && streams.contains(&self.first_ns.len())
            && self.interval_ns > 0
    }
}

fn read_u32(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_u64(stream: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::Ask;

    #[test]
    fn a_request_reads_back_and_a_cut_one_does_not() {
        let ask = Ask {
            item_bytes: 128,
            items: 3,
            interval_ns: 1_000_000,
            first_ns: vec![5, 6, u64::MAX],
        };
        let bytes = ask.encode();
        assert_eq!(Ask::read(&mut &bytes[..]).unwrap(), ask);
        for cut in 0..bytes.len() {
            assert!(Ask::read(&mut &bytes[..cut]).is_err(), "{cut}");
        }
        assert_eq!(ask.total(), 9);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let good = Ask {
            item_bytes: 16,
            items: 1,
            interval_ns: 1,
            first_ns: vec![1],
        };
        assert!(Ask::read(&mut &good.encode()[..]).is_ok());
        for bad in [
            Ask {
                item_bytes: 15,
                ..good.clone()
            },
            Ask {
                item_bytes: 65_536,
                ..good.clone()
            },
            Ask {
                interval_ns: 0,
                ..good.clone()
            },
            Ask {
                first_ns: Vec::new(),
                ..good.clone()
            },
        ] {
            assert!(Ask::read(&mut &bad.encode()[..]).is_err(), "{bad:?}");
        }
    }
}
