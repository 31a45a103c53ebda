//! Liveness (spec 8.1): silence leads to PING, and silence after PING to the end.

use std::time::{Duration, Instant};

/// What a passed deadline asks for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Overdue {
    /// The deadline is not reached.
    No,
    /// Send PING.
    Ping { missed: bool, granted: bool },
    /// Nothing was heard for too long.
    Dead,
}

#[derive(Debug)]
pub(crate) struct Keepalive {
    idle: Option<Duration>,
    active: Option<Duration>,
    misses_max: u32,
    /// The silence is counted from here.
    since: Instant,
    misses: u32,
    grants: u32,
    /// Nothing was heard since the last PING.
    unanswered: bool,
    /// The last PING: its payload and when it was queued.
    ping: Option<(u64, Instant)>,
    ping_due: bool,
    next_payload: u64,
}

impl Keepalive {
    pub(crate) fn new(idle_ms: u32, active_ms: u32, misses_max: u32, now: Instant) -> Self {
        let interval = |ms: u32| (ms > 0).then(|| Duration::from_millis(ms.into()));
        Self {
            idle: interval(idle_ms),
            active: interval(active_ms),
            misses_max,
            since: now,
            misses: 0,
            grants: 0,
            unanswered: false,
            ping: None,
            ping_due: false,
            next_payload: 1,
        }
    }

    /// A byte was received, of whatever kind.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.since = now;
        self.misses = 0;
        self.grants = 0;
        self.unanswered = false;
    }

    /// The first stream was opened: from now on the shorter interval counts.
    pub(crate) fn activated(&mut self, now: Instant) {
        self.since = self.since.max(now);
    }

    pub(crate) fn deadline(&self, active: bool) -> Option<Instant> {
        self.interval(active).map(|interval| self.since + interval)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, active: bool) -> Overdue {
        let Some(interval) = self.interval(active) else {
            return Overdue::No;
        };
        let Some(late) = now.checked_duration_since(self.since + interval) else {
            return Overdue::No;
        };
        self.since = now;
        let (mut missed, mut granted) = (false, false);
        if self.unanswered {
            // That much too late, it is this process that was not running, and the answer may lie
            // in its own socket. The number of grants is bounded, so that a process that is always
            // late finds a dead peer too.
            granted = late > interval / 2 && self.grants < self.misses_max;
            missed = !granted;
            self.grants += u32::from(granted);
            self.misses += u32::from(missed);
            if self.misses >= self.misses_max {
                return Overdue::Dead;
            }
        }
        self.unanswered = true;
        self.ping = Some((self.next_payload, now));
        self.next_payload += 1;
        self.ping_due = true;
        Overdue::Ping { missed, granted }
    }

    /// The payload of the PING to write, if one is due.
    pub(crate) fn ping_due(&self) -> Option<u64> {
        self.ping
            .filter(|_| self.ping_due)
            .map(|(payload, _)| payload)
    }

    pub(crate) fn ping_written(&mut self) {
        self.ping_due = false;
    }

    /// The round trip of the last PING, if `payload` answers it.
    pub(crate) fn answered(&mut self, payload: u64, now: Instant) -> Option<Duration> {
        let (_, sent) = self
            .ping
            .take_if(|(sent, _)| *sent == payload && !self.ping_due)?;
        Some(now.saturating_duration_since(sent))
    }

    fn interval(&self, active: bool) -> Option<Duration> {
        if active { self.active } else { self.idle }
    }
}
