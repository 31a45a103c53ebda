//! Guards against peers that make work without doing any (spec 9.3).

use std::time::{Duration, Instant};

use super::error::FloodKind;
use super::{Config, ConnectionError};

#[derive(Debug)]
pub(crate) struct Flood {
    pings: Rate,
    churn: Rate,
    unknown: Rate,
    empty_run: u32,
    empty_frames_max: u32,
}

impl Flood {
    pub(crate) fn new(config: &Config, now: Instant) -> Self {
        Self {
            pings: Rate::new(config.pings_per_second_max, now),
            churn: Rate::new(config.churn_per_second_max, now),
            unknown: Rate::new(config.unknown_frames_per_second_max, now),
            empty_run: 0,
            empty_frames_max: config.empty_frames_max,
        }
    }

    pub(crate) fn ping(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.pings.count(now, FloodKind::Pings)
    }

    pub(crate) fn churn(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.churn.count(now, FloodKind::Churn)
    }

    pub(crate) fn unknown(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.unknown.count(now, FloodKind::UnknownFrames)
    }

    /// A frame that carried something.
    pub(crate) fn useful(&mut self) {
        self.empty_run = 0;
    }

    /// A frame that carried nothing.
    pub(crate) fn empty(&mut self) -> Result<(), ConnectionError> {
        self.empty_run += 1;
        if self.empty_run > self.empty_frames_max {
            return Err(ConnectionError::Flood(FloodKind::EmptyFrames));
        }
        Ok(())
    }
}

/// How often something happened in the present second.
#[derive(Debug)]
struct Rate {
    start: Instant,
    count: u32,
    max: u32,
}

impl Rate {
    fn new(max: u32, now: Instant) -> Self {
        Self {
            start: now,
            count: 0,
            max,
        }
    }

    fn count(&mut self, now: Instant, kind: FloodKind) -> Result<(), ConnectionError> {
        if now.saturating_duration_since(self.start) >= Duration::from_secs(1) {
            self.start = now;
            self.count = 0;
        }
        self.count += 1;
        if self.count > self.max {
            return Err(ConnectionError::Flood(kind));
        }
        Ok(())
    }
}
