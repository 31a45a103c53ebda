//! Where values live: one padded block per shard, one for the rest of the process.

use std::{
    array,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crossbeam_utils::CachePadded;

use crate::{Aggregate, Counter, Gauge, Snapshot};

/// All values of the process.
///
/// Created once at start and shared; any thread may read it at any time. Reads are relaxed, so a
/// snapshot is not one instant of the whole process, but no counter ever seems to go back.
#[derive(Debug)]
pub struct Telemetry {
    shards: Box<[ShardCells]>,
    process: ProcessCells,
}

impl Telemetry {
    /// Cells for `shards` shards (0 is fine for tools that run none), all zero.
    #[must_use]
    pub fn new(shards: usize) -> Arc<Self> {
        Arc::new(Self {
            shards: (0..shards).map(|_| ShardCells::new()).collect(),
            process: ProcessCells {
                values: Values::new(),
            },
        })
    }

    /// The cells of one shard. Only the thread of that shard may write them.
    ///
    /// # Panics
    /// When there is no such shard.
    #[must_use]
    pub fn shard(&self, shard_index: usize) -> &ShardCells {
        &self.shards[shard_index]
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The cells for whatever happens outside shards; any thread may write them.
    #[must_use]
    pub fn process(&self) -> &ProcessCells {
        &self.process
    }

    /// A counter over all shards and the process.
    #[must_use]
    pub fn counter_total(&self, counter: Counter) -> u64 {
        self.blocks()
            .map(|values| values.counter(counter))
            .fold(0, u64::wrapping_add)
    }

    /// A gauge over all shards and the process, summed or the largest as the gauge says.
    #[must_use]
    pub fn gauge_total(&self, gauge: Gauge) -> u64 {
        let values = self.blocks().map(|values| values.gauge(gauge));
        match gauge.descriptor().aggregate {
            Aggregate::Sum => values.fold(0, u64::saturating_add),
            Aggregate::Max => values.max().unwrap_or(0),
        }
    }

    /// Copies every value, for exposition and tests. Allocates; not for shards.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(
            self.shards
                .iter()
                .map(|shard| shard.values.copy())
                .collect(),
            self.process.values.copy(),
        )
    }

    fn blocks(&self) -> impl Iterator<Item = &Values> {
        self.shards
            .iter()
            .map(|shard| &*shard.values)
            .chain([&self.process.values])
    }
}

/// The values of one shard, on cache lines of their own.
///
/// The owner writes with a plain load and store: no locked instruction, no line shared with another
/// shard. That is right because exactly one thread writes; a second writer would lose counts (never
/// memory safety).
#[derive(Debug)]
pub struct ShardCells {
    values: CachePadded<Values>,
}

impl ShardCells {
    fn new() -> Self {
        Self {
            values: CachePadded::new(Values::new()),
        }
    }

    /// Adds one.
    #[inline]
    pub fn inc(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds `amount`. Owner thread only; about a nanosecond.
    #[inline]
    pub fn add(&self, counter: Counter, amount: u64) {
        let cell = &self.values.counters[counter.index()];
        cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Sets a gauge. Owner thread only.
    #[inline]
    pub fn set(&self, gauge: Gauge, value: u64) {
        self.values.gauges[gauge.index()].store(value, Relaxed);
    }

    /// Raises a gauge by `amount`. Owner thread only.
    #[inline]
    pub fn gauge_add(&self, gauge: Gauge, amount: u64) {
        let cell = &self.values.gauges[gauge.index()];
        cell.store(cell.load(Relaxed).saturating_add(amount), Relaxed);
    }

    /// Lowers a gauge by `amount`, not below zero: a gauge that would go below is an accounting
    /// fault, which debug builds catch. Owner thread only.
    #[inline]
    pub fn gauge_sub(&self, gauge: Gauge, amount: u64) {
        let cell = &self.values.gauges[gauge.index()];
        let before = cell.load(Relaxed);
        debug_assert!(before >= amount, "{gauge:?} would fall below zero");
        cell.store(before.saturating_sub(amount), Relaxed);
    }

    /// Keeps the larger of the gauge and `value`. Owner thread only.
    #[inline]
    pub fn gauge_max(&self, gauge: Gauge, value: u64) {
        let cell = &self.values.gauges[gauge.index()];
        if value > cell.load(Relaxed) {
            cell.store(value, Relaxed);
        }
    }

    /// This shard's share of a counter. Any thread.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        self.values.counter(counter)
    }

    /// This shard's share of a gauge. Any thread.
    #[must_use]
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        self.values.gauge(gauge)
    }
}

/// Values of everything outside shards. Any thread may write: additions are atomic.
#[derive(Debug)]
pub struct ProcessCells {
    values: Values,
}

impl ProcessCells {
    /// Adds one.
    pub fn inc(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds `amount`.
    pub fn add(&self, counter: Counter, amount: u64) {
        self.values.counters[counter.index()].fetch_add(amount, Relaxed);
    }

    /// Sets a gauge.
    pub fn set(&self, gauge: Gauge, value: u64) {
        self.values.gauges[gauge.index()].store(value, Relaxed);
    }

    /// Raises a gauge by `amount`.
    pub fn gauge_add(&self, gauge: Gauge, amount: u64) {
        self.values.gauges[gauge.index()].fetch_add(amount, Relaxed);
    }

    /// Lowers a gauge by `amount`, not below zero (an accounting fault that debug builds catch).
    pub fn gauge_sub(&self, gauge: Gauge, amount: u64) {
        let cell = &self.values.gauges[gauge.index()];
        let mut before = cell.load(Relaxed);
        loop {
            debug_assert!(before >= amount, "{gauge:?} would fall below zero");
            let after = before.saturating_sub(amount);
            match cell.compare_exchange_weak(before, after, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(current) => before = current,
            }
        }
    }

    /// Keeps the larger of the gauge and `value`.
    pub fn gauge_max(&self, gauge: Gauge, value: u64) {
        self.values.gauges[gauge.index()].fetch_max(value, Relaxed);
    }

    /// The process's share of a counter.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        self.values.counter(counter)
    }

    /// The process's share of a gauge.
    #[must_use]
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        self.values.gauge(gauge)
    }
}

#[derive(Debug)]
struct Values {
    counters: [AtomicU64; Counter::COUNT],
    gauges: [AtomicU64; Gauge::COUNT],
}

impl Values {
    fn new() -> Self {
        Self {
            counters: array::from_fn(|_| AtomicU64::new(0)),
            gauges: array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter.index()].load(Relaxed)
    }

    fn gauge(&self, gauge: Gauge) -> u64 {
        self.gauges[gauge.index()].load(Relaxed)
    }

    fn copy(&self) -> Copied {
        Copied {
            counters: array::from_fn(|index| self.counters[index].load(Relaxed)),
            gauges: array::from_fn(|index| self.gauges[index].load(Relaxed)),
        }
    }
}

/// One block of values as it was when it was copied.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    pub(crate) counters: [u64; Counter::COUNT],
    pub(crate) gauges: [u64; Gauge::COUNT],
}
