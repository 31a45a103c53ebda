//! Random numbers for plans, from a seed.

/// A small generator (splitmix64): equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct SimRng(u64);

impl SimRng {
    /// Starts at a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed ^ 0x5eed_0f51_a1b2_c3d4)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }

    /// True in so many of a hundred cases.
    pub const fn percent(&mut self, chance: u64) -> bool {
        self.draw() % 100 < chance
    }

    /// One of the choices.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.draw() % choices.len() as u64) as usize]
    }
}
