//! The only source of chance in a simulation.

/// SplitMix64: tiny, and a good enough mixer for faults.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low);
        if span == u64::MAX {
            return self.next();
        }
        // The bias of a modulus is far below anything a fault plan could notice.
        low + self.next() % (span + 1)
    }

    /// True in `ppm` of a million draws. Draws nothing for 0, so a fault that is switched off
    /// leaves the rest of the run as it was.
    pub(crate) fn chance(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.next() % 1_000_000 < u64::from(ppm)
    }
}

/// A bijection of `u64` in which each input bit reaches each output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
