//! A copy of every value, to be shown.

use crate::{Aggregate, Counter, Descriptor, Gauge, cells::Copied};

/// Every value at about one time. Plain data: it may be kept, sent and compared with a later one.
#[derive(Clone, Debug)]
pub struct Snapshot {
    shards: Box<[Copied]>,
    process: Copied,
}

impl Snapshot {
    pub(crate) fn new(shards: Box<[Copied]>, process: Copied) -> Self {
        Self { shards, process }
    }

    /// A counter over all shards and the process.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        self.blocks()
            .map(|(_, block)| block.counters[counter.index()])
            .fold(0, u64::wrapping_add)
    }

    /// A gauge over all shards and the process, summed or the largest as the gauge says.
    #[must_use]
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        let values = self.blocks().map(|(_, block)| block.gauges[gauge.index()]);
        match gauge.descriptor().aggregate {
            Aggregate::Sum => values.fold(0, u64::saturating_add),
            Aggregate::Max => values.max().unwrap_or(0),
        }
    }

    /// One sample per metric, merged over the process; members of a family follow one another.
    pub fn totals(&self) -> impl Iterator<Item = Sample> + '_ {
        let counters = Counter::ALL
            .iter()
            .map(|&counter| (counter.descriptor(), self.counter(counter)));
        let gauges = Gauge::ALL
            .iter()
            .map(|&gauge| (gauge.descriptor(), self.gauge(gauge)));
        counters.chain(gauges).map(|(descriptor, value)| Sample {
            descriptor,
            origin: Origin::All,
            value,
        })
    }

    /// One sample per metric and block: each shard apart, then the process. Samples of one metric
    /// follow one another, and so do the members of a family, as text formats demand.
    pub fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        let counters = Counter::ALL.iter().flat_map(move |&counter| {
            self.blocks().map(move |(origin, block)| {
                (
                    counter.descriptor(),
                    origin,
                    block.counters[counter.index()],
                )
            })
        });
        let gauges = Gauge::ALL.iter().flat_map(move |&gauge| {
            self.blocks().map(move |(origin, block)| {
                (gauge.descriptor(), origin, block.gauges[gauge.index()])
            })
        });
        counters
            .chain(gauges)
            .map(|(descriptor, origin, value)| Sample {
                descriptor,
                origin,
                value,
            })
    }

    fn blocks(&self) -> impl Iterator<Item = (Origin, &Copied)> {
        let shards = self
            .shards
            .iter()
            .enumerate()
            .map(|(index, block)| (Origin::Shard(index), block));
        shards.chain([(Origin::Process, &self.process)])
    }
}

/// Where a sample was taken.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Origin {
    /// One shard, by index.
    Shard(usize),
    /// Everything outside shards.
    Process,
    /// The whole process, merged.
    All,
}

/// One value with all that is needed to show it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Sample {
    /// Name, label, unit, kind and help.
    pub descriptor: &'static Descriptor,
    /// Where it was taken.
    pub origin: Origin,
    /// Stored value; shown as `value / descriptor.unit.divisor()`.
    pub value: u64,
}
