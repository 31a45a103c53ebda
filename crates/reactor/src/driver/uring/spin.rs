//! When spinning before a park pays.

use std::time::{Duration, Instant};

use crate::config::IdlePolicy;

/// Longest spin without giving the caller a chance to do something else.
const SLICE: Duration = Duration::from_micros(100);

/// The mean gap between events follows a new gap by one part in this many.
const MEAN_SHARE: u32 = 8;

/// Gaps count at most this long, so that one idle night is forgotten within a few events.
const GAP_MAX: Duration = Duration::from_millis(10);

/// Decides whether and how long to spin.
#[derive(Debug)]
pub(super) struct Spinner {
    policy: IdlePolicy,
    mean_gap: Duration,
    last_event: Option<Instant>,
}

impl Spinner {
    pub(super) const fn new(policy: IdlePolicy) -> Self {
        Self {
            policy,
            mean_gap: GAP_MAX,
            last_event: None,
        }
    }

    /// Notes that a turn found events.
    pub(super) fn on_events(&mut self, now: Instant) {
        if !matches!(self.policy, IdlePolicy::Adaptive { spin_us } if spin_us > 0) {
            return;
        }
        if let Some(last) = self.last_event.replace(now) {
            let gap = now.saturating_duration_since(last).min(GAP_MAX);
            self.mean_gap = (self.mean_gap * (MEAN_SHARE - 1) + gap) / MEAN_SHARE;
        }
    }

    /// How long to spin now; `None` means to park at once.
    pub(super) fn spin_time(&self) -> Option<Duration> {
        match self.policy {
            IdlePolicy::Park => None,
            IdlePolicy::Spin => Some(SLICE),
            IdlePolicy::Adaptive { spin_us } => {
                let limit = Duration::from_micros(u64::from(spin_us));
                (self.mean_gap < limit).then_some(limit)
            }
        }
    }

    /// Whether a spin that found nothing may be followed by a park.
    pub(super) fn may_park(&self) -> bool {
        self.policy != IdlePolicy::Spin
    }
}

#[cfg(test)]
mod tests;
