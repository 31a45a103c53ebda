//! A fingerprint of a run.

use std::time::Duration;

use super::rng::mix;

/// What happened in a simulation, folded into one number: equal seeds, configurations and callers
/// give equal traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimTrace {
    /// Steps recorded.
    pub steps: u64,
    /// All of them, in order, with their virtual times and bytes.
    pub hash: u64,
}

impl SimTrace {
    pub(super) fn note(&mut self, at: Duration, kind: u64, subject: u64, bytes: &[u8]) {
        self.steps += 1;
        for word in [at.as_nanos() as u64, kind, subject, bytes.len() as u64] {
            self.fold(word);
        }
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.fold(u64::from_le_bytes(word));
        }
    }

    fn fold(&mut self, word: u64) {
        self.hash = mix(self.hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
}
