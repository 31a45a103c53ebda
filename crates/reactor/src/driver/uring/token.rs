//! The 64 bits that travel with an operation and come back with its completion.

/// Bits of a slot index in a token; bounds how many slots a driver may have.
const INDEX_BITS: u32 = 24;

/// Most slots that tokens can tell apart.
pub(super) const SLOTS_MAX: u32 = 1 << INDEX_BITS;

/// Which operation completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    /// A wake-up from another thread.
    Wake = 1,
    /// Multishot receive of a socket.
    Recv,
    /// Send of a socket.
    Send,
    /// Connect of a socket.
    Connect,
    /// Cancel of a socket's operations.
    Cancel,
    /// Multishot accept of a listener.
    Accept,
    /// Cancel of a listener's accept.
    AcceptCancel,
    /// Poll of a foreign descriptor.
    Poll,
    /// Cancel of such a poll.
    PollCancel,
    /// Cancel of everything, at shutdown.
    CancelAll,
    /// The driver's own timeout.
    Alarm,
}

const OPS: [Op; 11] = [
    Op::Wake,
    Op::Recv,
    Op::Send,
    Op::Connect,
    Op::Cancel,
    Op::Accept,
    Op::AcceptCancel,
    Op::Poll,
    Op::PollCancel,
    Op::CancelAll,
    Op::Alarm,
];

/// An operation and the slot use it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) op: Op,
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Token {
    pub(super) const fn new(op: Op, index: u32, generation: u32) -> Self {
        Self {
            op,
            index,
            generation,
        }
    }

    /// The token as user data: operation, index, generation from the top.
    pub(super) const fn encode(self) -> u64 {
        let high = (self.op as u64) << INDEX_BITS | (self.index & (SLOTS_MAX - 1)) as u64;
        high << 32 | self.generation as u64
    }

    /// The token of user data; `None` for bits that are none of ours.
    pub(super) fn decode(bits: u64) -> Option<Self> {
        let high = (bits >> 32) as u32;
        let op = *OPS.get(((high >> INDEX_BITS) as usize).checked_sub(1)?)?;
        Some(Self {
            op,
            index: high & (SLOTS_MAX - 1),
            generation: bits as u32,
        })
    }
}

#[cfg(test)]
mod tests;
