//! Whether it pays to spin before waiting in the kernel.

use std::time::{Duration, Instant};

use crate::config::IdlePolicy;

/// Mean of the gaps between turns with events, as a moving average over about this many.
const GAPS: u32 = 8;

/// Longest spin without a chance for the caller to look at its own queues.
const SLICE: Duration = Duration::from_micros(100);

#[derive(Debug)]
pub(super) struct Idle {
    policy: IdlePolicy,
    mean_gap: Duration,
    last_event: Option<Instant>,
}

impl Idle {
    pub(super) fn new(policy: IdlePolicy) -> Self {
        Self {
            policy,
            mean_gap: Duration::MAX / 2,
            last_event: None,
        }
    }

    pub(super) fn note_event(&mut self, now: Instant) {
        let IdlePolicy::Adaptive { spin_us: 1.. } = self.policy else {
            return;
        };
        if let Some(last) = self.last_event.replace(now) {
            // One long pause must not outweigh all the short gaps that follow it.
            let ceiling = self.spin() * 2;
            let gap = now.saturating_duration_since(last).min(ceiling);
            let mean = self.mean_gap.min(ceiling);
            self.mean_gap = (mean * (GAPS - 1) + gap) / GAPS;
        }
    }

    /// How long to ask the kernel without waiting; `None` = wait at once.
    pub(super) fn spin_budget(&self) -> Option<Duration> {
        match self.policy {
            IdlePolicy::Park => None,
            IdlePolicy::Spin => Some(SLICE),
            IdlePolicy::Adaptive { .. } => {
                let spin = self.spin();
                (self.mean_gap < spin).then_some(spin)
            }
        }
    }

    /// Whether a spin that found nothing may be followed by a wait.
    pub(super) fn may_park(&self) -> bool {
        self.policy != IdlePolicy::Spin
    }

    fn spin(&self) -> Duration {
        match self.policy {
            IdlePolicy::Adaptive { spin_us } => Duration::from_micros(u64::from(spin_us)),
            IdlePolicy::Park | IdlePolicy::Spin => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spins_after(gaps_us: &[u64]) -> bool {
        let mut idle = Idle::new(IdlePolicy::Adaptive { spin_us: 100 });
        let mut now = Instant::now();
        idle.note_event(now);
        for &gap in gaps_us {
            now += Duration::from_micros(gap);
            idle.note_event(now);
        }
        idle.spin_budget().is_some()
    }

    #[test]
    fn spins_only_while_events_come_close_together() {
        let close = [10; 16];
        assert!(!spins_after(&[]));
        assert!(spins_after(&close));
        assert!(!spins_after(&[150; 16]));
        // A pause among close events is forgiven, a change of pace is not.
        assert!(spins_after(&[&close[..], &[1_000_000]].concat()));
        assert!(!spins_after(&[&close[..], &[1_000_000; 8]].concat()));
        assert!(spins_after(&[&[1_000_000; 64][..], &close].concat()));
    }

    #[test]
    fn fixed_policies_do_not_adapt() {
        let adaptive_off = IdlePolicy::Adaptive { spin_us: 0 };
        for (policy, budget) in [
            (IdlePolicy::Park, None),
            (adaptive_off, None),
            (IdlePolicy::Spin, Some(SLICE)),
        ] {
            let mut idle = Idle::new(policy);
            let now = Instant::now();
            for _ in 0..16 {
                idle.note_event(now);
            }
            assert_eq!(idle.spin_budget(), budget, "{policy:?}");
        }
    }
}
