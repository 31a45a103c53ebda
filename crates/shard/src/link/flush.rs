//! When a link's out-buffer leaves.

use std::time::{Duration, Instant};

/// Flush at once past this size, where coalescing stops paying (docs/why/flush.md).
const FLUSH_BYTES: usize = 32 * 1024;
/// Flush at the latest after this many turns since the first byte.
const FLUSH_TURNS: u32 = 4;
/// Flush at the latest this long after the first byte.
const FLUSH_AFTER: Duration = Duration::from_micros(50);

/// Why a link's bytes leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// A first token, terminal, accept or cancel is among them, or a step is complete.
    Urgent,
    /// The out-buffer reached the size past which waiting gains nothing.
    Size,
    /// The bytes have waited as long as they may.
    Age,
    /// The shard has nothing else to do.
    Idle,
}

/// How long the bytes at hand have waited.
#[derive(Debug, Default)]
pub(super) struct FlushClock {
    since: Option<Instant>,
    turns: u32,
    urgent: bool,
}

impl FlushClock {
    pub(super) const fn mark_urgent(&mut self) {
        self.urgent = true;
    }

    /// Decides once per turn for a link with `bytes` to send.
    pub(super) fn decide(&mut self, now: Instant, bytes: usize, idle: bool) -> Option<FlushReason> {
        let since = *self.since.get_or_insert(now);
        self.turns += 1;
        if self.urgent {
            Some(FlushReason::Urgent)
        } else if bytes >= FLUSH_BYTES {
            Some(FlushReason::Size)
        } else if idle {
            Some(FlushReason::Idle)
        } else if self.turns >= FLUSH_TURNS || now.saturating_duration_since(since) >= FLUSH_AFTER {
            Some(FlushReason::Age)
        } else {
            None
        }
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}
