//! Where the tasks of a load record their latencies.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::output::Latency;

/// Recorders; tasks spread over them so that they rarely meet.
const LANES: usize = 8;

/// Latencies of a load, in a few lanes.
pub(crate) struct Recorders(Vec<Mutex<Recorded>>);

/// What was recorded.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) ttft: Latency,
    pub(crate) itl: Latency,
    pub(crate) e2e: Latency,
    pub(crate) tokens: u64,
}

impl Recorded {
    fn new() -> Self {
        Self {
            ttft: Latency::new(),
            itl: Latency::new(),
            e2e: Latency::new(),
            tokens: 0,
        }
    }
}

impl Default for Recorders {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorders {
    pub(crate) fn new() -> Self {
        Self((0..LANES).map(|_| Mutex::new(Recorded::new())).collect())
    }

    /// One token: the first counts from the call's start, the others from the one before.
    pub(crate) fn token(&self, task: usize, since_start: Duration, since_last: Option<Duration>) {
        self.with(task, |lane| {
            lane.tokens += 1;
            match since_last {
                None => lane.ttft.record(since_start),
                Some(gap) => lane.itl.record(gap),
            }
        });
    }

    /// The end of a whole answer.
    pub(crate) fn end(&self, task: usize, since_start: Duration) {
        self.with(task, |lane| lane.e2e.record(since_start));
    }

    pub(crate) fn merge(&self) -> Recorded {
        let mut all = Recorded::new();
        for task in 0..LANES {
            self.with(task, |lane| {
                all.ttft.merge(&lane.ttft);
                all.itl.merge(&lane.itl);
                all.e2e.merge(&lane.e2e);
                all.tokens += lane.tokens;
            });
        }
        all
    }

    fn with(&self, task: usize, f: impl FnOnce(&mut Recorded)) {
        f(&mut self.0[task % LANES]
            .lock()
            .unwrap_or_else(PoisonError::into_inner));
    }
}
