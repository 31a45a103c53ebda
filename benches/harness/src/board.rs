//! What the jobs of a client share: the window, the counts, the histograms.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;

use crate::caller::Launcher;
use crate::ticker::Ticker;

/// Highest latency a histogram holds; longer ones count as this.
const HIGHEST_NS: u64 = 120_000_000_000;
/// Failure texts kept for the report.
const FAILURES_MAX: usize = 5;

/// What a latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Latency {
    /// The main figure of the workload.
    Main = 0,
    /// From the intended opening of a stream to its first item.
    FirstToken = 1,
    /// From the producer's wake-up to the client, where the main figure counts from the
    /// intended time.
    Produced = 2,
    /// How late the load generator itself was.
    Generator = 3,
}

impl Latency {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Main,
        Self::FirstToken,
        Self::Produced,
        Self::Generator,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "latency",
            Self::FirstToken => "ttft",
            Self::Produced => "produced",
            Self::Generator => "generator",
        }
    }
}

/// The histograms of one thread.
struct Lane {
    histograms: Mutex<[Histogram<u64>; 4]>,
}

/// Shared by all jobs of one repetition.
pub struct Board {
    /// Starts further jobs.
    pub launcher: Arc<dyn Launcher>,
    /// Timers of the load generator.
    pub ticker: Ticker,
    lanes: Vec<Lane>,
    measuring: AtomicBool,
    stopping: AtomicBool,
    items: AtomicU64,
    bytes: AtomicU64,
    calls: AtomicU64,
    running: AtomicU64,
    failed: AtomicU64,
    wrong: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Counts at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Items that arrived.
    pub items: u64,
    /// Bytes of those items.
    pub bytes: u64,
    /// Calls that ended well.
    pub calls: u64,
}

impl Board {
    /// A board for the lanes of `launcher`.
    #[must_use]
    pub fn new(launcher: Arc<dyn Launcher>, ticker: Ticker) -> Self {
        let lane = |_| Lane {
            histograms: Mutex::new(std::array::from_fn(|_| histogram())),
        };
        Self {
            lanes: (0..launcher.lanes().max(1)).map(lane).collect(),
            launcher,
            ticker,
            measuring: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            items: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            running: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            failures: Mutex::default(),
        }
    }

    /// Whether latencies count now.
    #[must_use]
    pub fn is_measuring(&self) -> bool {
        self.measuring.load(Ordering::Relaxed)
    }

    /// Opens or closes the window.
    pub fn set_measuring(&self, measuring: bool) {
        self.measuring.store(measuring, Ordering::Relaxed);
    }

    /// Whether jobs are to end after their call.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Tells jobs to end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Keeps a latency, if the window is open.
    pub fn record(&self, lane: usize, what: Latency, ns: u64) {
        if self.is_measuring() {
            let lane = &self.lanes[lane % self.lanes.len()];
            let mut histograms = lock(&lane.histograms);
            histograms[what as usize].saturating_record(ns.max(1));
        }
    }

    /// Adds items that arrived.
    pub fn add_items(&self, items: u64, bytes: u64) {
        self.items.fetch_add(items, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds a call that ended well.
    pub fn add_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a call that failed, and keeps the first few reasons.
    pub fn add_failure(&self, reason: &anyhow::Error) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let mut failures = lock(&self.failures);
        if failures.len() < FAILURES_MAX {
            failures.push(format!("{reason:#}"));
        }
    }

    /// Adds a call whose items were not those asked for.
    pub fn add_wrong(&self) {
        self.wrong.fetch_add(1, Ordering::Relaxed);
    }

    /// A job starts.
    pub fn enter(&self) {
        self.running.fetch_add(1, Ordering::AcqRel);
    }

    /// A job has ended.
    pub fn leave(&self) {
        self.running.fetch_sub(1, Ordering::AcqRel);
    }

    /// Jobs that run.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Acquire)
    }

    /// Calls that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Calls with other items than asked for.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }

    /// The first few reasons of failures.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        lock(&self.failures).clone()
    }

    /// The counts now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            items: self.items.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
        }
    }

    /// The histogram of all lanes.
    #[must_use]
    pub fn merged(&self, what: Latency) -> Histogram<u64> {
        let mut merged = histogram();
        for lane in &self.lanes {
            let histograms = lock(&lane.histograms);
            // Same bounds, so adding cannot fail.
            let added = merged.add(&histograms[what as usize]);
            debug_assert!(added.is_ok());
        }
        merged
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty histogram of nanoseconds, with the bounds of every latency: three digits, up to two
/// minutes.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    #[expect(
        clippy::expect_used,
        reason = "the bounds are constants that are in order"
    )]
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("bounds in order")
}
