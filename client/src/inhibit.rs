//! Why an instance is set aside on this client's own evidence, and until when.
//!
//! Discovery says who exists; this says whom not to bother for a while. An instance that refused
//! or lost a connection is set aside until its record changes or a dial to it succeeds. After a
//! growing pause one dial with handshake, never a request, finds out.

use std::time::{Duration, Instant};

/// Bounds of the pause before an instance is dialed again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
}

/// The evidence against one instance in its present record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inhibition {
    failures: u32,
    failed_at: Instant,
    probe_at: Instant,
}

impl Inhibition {
    /// A connection failed or was lost, on top of what was known before.
    pub(crate) fn failed(before: Option<Self>, backoff: Backoff, now: Instant) -> Self {
        let failures = before.map_or(0, |before| before.failures);
        let pause = backoff
            .min
            .saturating_mul(2_u32.saturating_pow(failures))
            .min(backoff.max);
        Self {
            failures: failures.saturating_add(1),
            failed_at: now,
            probe_at: now.checked_add(pause).unwrap_or(now),
        }
    }

    /// When it failed last.
    pub(crate) const fn failed_at(&self) -> Instant {
        self.failed_at
    }

    /// When one dial may find out whether it is back.
    pub(crate) const fn probe_at(&self) -> Instant {
        self.probe_at
    }
}

#[cfg(test)]
mod tests;
