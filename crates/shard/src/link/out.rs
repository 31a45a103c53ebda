//! The two out-buffers of a link: one fills while the other is with the kernel.

/// Capacity that a fresh or long-idle buffer has.
const CAPACITY_MIN: usize = 4 * 1024;
/// Capacity that neither buffer ever passes.
pub(super) const CAPACITY_MAX: usize = 256 * 1024;

/// Two swapped buffers, at most one of them in flight.
#[derive(Debug, Default)]
pub(super) struct OutBuffers {
    filling: Vec<u8>,
    spare: Vec<u8>,
    in_flight: bool,
}

impl OutBuffers {
    /// The buffer that frames are appended to.
    pub(super) fn filling(&mut self) -> &mut Vec<u8> {
        if self.filling.capacity() == 0 {
            self.filling.reserve_exact(CAPACITY_MIN);
        }
        &mut self.filling
    }

    /// Doubles the filling buffer; false when it may not grow.
    pub(super) fn grow(&mut self) -> bool {
        let capacity = self.filling.capacity();
        if capacity >= CAPACITY_MAX {
            return false;
        }
        let target = (capacity * 2).clamp(CAPACITY_MIN, CAPACITY_MAX);
        self.filling.reserve_exact(target - self.filling.len());
        true
    }

    pub(super) fn filled(&self) -> usize {
        self.filling.len()
    }

    pub(super) fn room(&self) -> usize {
        CAPACITY_MAX - self.filling.len()
    }

    pub(super) const fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// Hands the filled buffer out and starts to fill the other one.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if self.in_flight || self.filling.is_empty() {
            return None;
        }
        self.in_flight = true;
        Some(std::mem::replace(
            &mut self.filling,
            std::mem::take(&mut self.spare),
        ))
    }

    /// Takes the buffer back that [`take`](Self::take) handed out.
    pub(super) fn give_back(&mut self, mut buf: Vec<u8>) {
        self.in_flight = false;
        buf.clear();
        self.spare = buf;
    }

    /// Returns the memory of buffers that grew, once the link has gone quiet.
    pub(super) fn shrink(&mut self) {
        if self.filling.is_empty() && self.filling.capacity() > CAPACITY_MIN {
            self.filling = Vec::new();
        }
        if self.spare.capacity() > CAPACITY_MIN {
            self.spare = Vec::new();
        }
    }
}
