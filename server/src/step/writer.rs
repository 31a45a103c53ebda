//! The engine thread's end of all its streams.

use std::fmt;
use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use ringmain_shard::{ShardHandle, ShardWork};
use ringmain_telemetry::Counter;

use super::batch::{Batch, Record, RecordKind};
use super::sink::StepSink;

/// Arenas per shard. A writer that is so many steps ahead of a shard fills its last one further.
const ARENAS_MAX: usize = 16;

/// What became of a pushed token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It leaves with the next flush.
    Queued,
    /// The token was not taken: earlier ones wait, for the caller's credit or for room on its link,
    /// or `sink_bytes_max` bytes are on their way to the shard. The engine decides: hold it, pause
    /// the stream, or drop the stream.
    Full,
    /// It leaves with the next flush, and the caller has asked to finish early.
    Stopped,
    /// Not taken: the caller dropped the stream.
    Killed,
    /// Not taken: the stream has ended.
    Closed,
}

/// What a flush did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushReport {
    /// Batches handed to shards.
    pub handed_over: usize,
    /// Batches that stay because the shard is behind: its mailbox is full or it has all the
    /// arenas. They go first with the next flush, so an engine that falls idle flushes until
    /// nothing is refused.
    pub refused: usize,
}

/// Pushes tokens of many streams, then hands each shard its part in one piece.
///
/// For an engine that produces one token for every running stream per forward pass: one copy per
/// token into an arena, one mailbox item per shard per step, one send per link. Neither
/// [`push`](Self::push) nor [`flush`](Self::flush) ever blocks or, once the arenas have grown,
/// allocates. One writer belongs to one thread at a time; order is kept per writer.
#[derive(Default)]
pub struct StepWriter {
    lanes: Vec<Lane>,
    batches_refused: u64,
}

struct Lane {
    shard: ShardHandle,
    current: Box<Batch>,
    refused: Option<Box<dyn ShardWork>>,
    home: Arc<ArrayQueue<Box<Batch>>>,
    /// Arenas made so far.
    arenas: usize,
}

impl StepWriter {
    /// A writer without streams; lanes to shards open as sinks of them are first used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one token of one stream to the step. Copies it; never blocks.
    pub fn push(&mut self, sink: &StepSink, token: &[u8]) -> Push {
        let flags = sink.cell.flags();
        if flags.killed {
            return Push::Killed;
        }
        if flags.closed {
            return Push::Closed;
        }
        let Ok(len) = u32::try_from(token.len()) else {
            return Push::Full;
        };
        if flags.held || !sink.cell.try_enter_queue(token.len(), sink.sink_bytes_max) {
            sink.shard.count(Counter::SinkFull, 1);
            return Push::Full;
        }
        let batch = &mut self.lane(sink).current;
        batch.bytes.extend_from_slice(token);
        batch.records.push(Record {
            key: sink.key,
            kind: RecordKind::Token { len },
        });
        if flags.stopped {
            Push::Stopped
        } else {
            Push::Queued
        }
    }

    /// Ends a stream after what was pushed for it; its handler's
    /// [`finished`](StepSink::finished) completes once the shard has it all.
    pub fn end(&mut self, sink: &StepSink) {
        let batch = &mut self.lane(sink).current;
        batch.records.push(Record {
            key: sink.key,
            kind: RecordKind::End,
        });
    }

    /// Hands everything pushed since the last flush to the shards: one item per shard.
    ///
    /// What a shard that is behind cannot take yet stays, in order, and is counted.
    pub fn flush(&mut self) -> FlushReport {
        let mut report = FlushReport::default();
        for lane in &mut self.lanes {
            let before = report.refused;
            lane.flush(&mut report);
            let refused = (report.refused - before) as u64;
            if refused > 0 {
                lane.shard.count(Counter::BatchesRefused, refused);
            }
        }
        self.batches_refused += report.refused as u64;
        report
    }

    /// Batches that a shard that was behind refused so far.
    pub const fn batches_refused(&self) -> u64 {
        self.batches_refused
    }

    fn lane(&mut self, sink: &StepSink) -> &mut Lane {
        let index = sink.shard.index();
        let known = self
            .lanes
            .iter()
            .position(|lane| lane.shard.index() == index);
        let at = known.unwrap_or_else(|| {
            self.lanes.push(Lane::new(sink.shard.clone()));
            self.lanes.len() - 1
        });
        &mut self.lanes[at]
    }
}

impl Lane {
    fn new(shard: ShardHandle) -> Self {
        let home = Arc::new(ArrayQueue::new(ARENAS_MAX));
        let current = Batch::new(Arc::clone(&home));
        Self {
            shard,
            current,
            refused: None,
            home,
            arenas: 1,
        }
    }

    /// An empty arena, unless the shard has them all.
    fn fresh(&mut self) -> Option<Box<Batch>> {
        self.home.pop().or_else(|| {
            let may_make = self.arenas < ARENAS_MAX;
            self.arenas += usize::from(may_make);
            may_make.then(|| Batch::new(Arc::clone(&self.home)))
        })
    }

    fn flush(&mut self, report: &mut FlushReport) {
        if self.shard.is_stopped() {
            // Its streams have ended; nothing will ever be taken.
            self.refused = None;
            self.current.bytes.clear();
            self.current.records.clear();
            return;
        }
        if let Some(work) = self.refused.take() {
            match self.shard.run(work) {
                Ok(()) => report.handed_over += 1,
                Err(work) => {
                    // What is new stays behind what was refused, so order holds.
                    self.refused = Some(work);
                    report.refused += 1;
                    return;
                }
            }
        }
        if self.current.records.is_empty() {
            return;
        }
        let Some(fresh) = self.fresh() else {
            report.refused += 1;
            return;
        };
        let full = std::mem::replace(&mut self.current, fresh);
        match self.shard.run(full) {
            Ok(()) => report.handed_over += 1,
            Err(work) => {
                self.refused = Some(work);
                report.refused += 1;
            }
        }
    }
}

impl fmt::Debug for StepWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepWriter")
            .field("lanes", &self.lanes.len())
            .field("batches_refused", &self.batches_refused)
            .finish_non_exhaustive()
    }
}
