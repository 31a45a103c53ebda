//! Timers of one thread: a hierarchical wheel of quarters of a millisecond.

use std::time::{Duration, Instant};

mod slab;
mod wheel;

use slab::Slab;
use wheel::{TICK_MAX, Wheel};

/// Length of a tick. A handler that paces its tokens by these timers is late by up to one; shorter
/// ones would wake a thread with thousands of timers for a few of them at a time.
const TICK: Duration = Duration::from_micros(250);
const TICK_NS: u64 = TICK.as_nanos() as u64;

/// Deadlines to a quarter of a millisecond, each with a `T`; one thread's.
///
/// A timer never fires early and at most one tick after its deadline, if it is looked for then; all
/// that are due fire in the order of their ticks, and of their insertion
/// within a tick. Insert and cancel are O(1) however far the deadline; a timer moves down a level
/// at most seven times before it fires. Memory is reused: nothing is allocated unless more timers
/// live than ever before.
#[derive(Debug)]
pub struct TimerWheel<T> {
    /// Tick 0.
    origin: Instant,
    timers: Slab<T>,
    wheel: Wheel,
}

/// Names a timer; one that fired or was cancelled is never named again in practice (the generation
/// wraps after 2^32 timers in one place).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerKey {
    index: u32,
    generation: u32,
}

impl<T: Copy> TimerWheel<T> {
    /// An empty wheel; `now` may be any time up to the present one.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self::with_capacity(now, 0)
    }

    /// An empty wheel with room for `timers` before it allocates.
    #[must_use]
    pub fn with_capacity(now: Instant, timers: usize) -> Self {
        Self {
            origin: now,
            timers: Slab::with_capacity(timers),
            wheel: Wheel::new(),
        }
    }

    /// Sets a timer; a deadline that has passed fires at the next look.
    ///
    /// # Panics
    ///
    /// With 2^32 - 1 timers alive.
    pub fn insert(&mut self, deadline: Instant, value: T) -> TimerKey {
        let tick = self.tick_at_or_after(deadline);
        let (index, generation) = self.timers.insert(value);
        self.wheel.link(&mut self.timers, index, tick);
        TimerKey { index, generation }
    }

    /// Takes a timer back; false if it has fired or was cancelled.
    pub fn cancel(&mut self, key: TimerKey) -> bool {
        if !self.timers.contains(key.index, key.generation) {
            return false;
        }
        self.wheel.unlink(&mut self.timers, key.index);
        self.timers.remove(key.index);
        true
    }

    /// When to look next: no timer is due before.
    ///
    /// The tick of the earliest timer, except that after a cancel of an earlier one in the same
    /// slot it may be up to that one's tick early; a look then costs nothing and corrects it.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let tick = self.wheel.next_tick()?;
        self.origin
            .checked_add(Duration::from_nanos(tick.saturating_mul(TICK_NS)))
    }

    /// Takes the next timer that is due at `now`; call it until `None`, or fewer times to bound
    /// the work of a turn.
    pub fn poll_expired(&mut self, now: Instant) -> Option<T> {
        let tick = self.tick_at_or_before(now);
        let index = self.wheel.pop(&mut self.timers, tick)?;
        Some(self.timers.remove(index))
    }

    /// Appends all that are due at `now` to `expired`.
    pub fn expire(&mut self, now: Instant, expired: &mut Vec<T>) {
        while let Some(value) = self.poll_expired(now) {
            expired.push(value);
        }
    }

    /// How many timers are set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.timers.len()
    }

    /// Whether no timer is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn tick_at_or_before(&self, at: Instant) -> u64 {
        (self.since_origin_ns(at) / TICK_NS).min(TICK_MAX)
    }

    /// Rounds up: a timer fires when its whole tick has passed.
    fn tick_at_or_after(&self, at: Instant) -> u64 {
        self.since_origin_ns(at).div_ceil(TICK_NS).min(TICK_MAX)
    }

    /// Nanoseconds up to some 580 years, which is as good as never.
    fn since_origin_ns(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.origin);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
