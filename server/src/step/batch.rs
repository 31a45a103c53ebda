//! The tokens of one step for one shard.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use ringmain_shard::{ShardCtx, ShardWork};
use ringmain_telemetry::Counter;

use crate::role::{Pushed, ServerLink};
use crate::sink::StreamKey;

/// Tokens in one arena and whose they are. Goes to the shard and comes back empty.
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Record>,
    pub(super) home: Arc<ArrayQueue<Box<Self>>>,
}

/// One token, or the end of a stream.
pub(super) struct Record {
    pub(super) key: StreamKey,
    pub(super) kind: RecordKind,
}

pub(super) enum RecordKind {
    Token { len: u32 },
    End,
}

impl Batch {
    pub(super) fn new(home: Arc<ArrayQueue<Box<Self>>>) -> Box<Self> {
        Box::new(Self {
            bytes: Vec::new(),
            records: Vec::new(),
            home,
        })
    }

    fn apply(&self, ctx: &ShardCtx) {
        let mut rest = self.bytes.as_slice();
        let mut records = self.records.as_slice();
        let mut tokens = 0;
        while let Some(first) = records.first() {
            // One look-up for a run of records on one link.
            let same = |record: &Record| record.key.link == first.key.link;
            let run = records.iter().take_while(|record| same(record)).count();
            let (these, after) = records.split_at(run);
            records = after;
            let bytes: usize = these.iter().map(Record::len).sum();
            let (mut these_bytes, after) = rest.split_at(bytes);
            rest = after;
            ctx.with_link(first.key.link, |link, role| {
                let role = ServerLink::of(role);
                for record in these {
                    let (message, after) = these_bytes.split_at(record.len());
                    these_bytes = after;
                    match record.kind {
                        RecordKind::Token { .. } => {
                            let pushed = role.push(ctx, link, record.key.stream, message);
                            tokens += u64::from(pushed == Pushed::Taken);
                        }
                        RecordKind::End => role.engine_ended(record.key.stream),
                    }
                }
                link.mark_urgent();
            });
        }
        ctx.count(Counter::TokensSent, tokens);
    }
}

impl Record {
    const fn len(&self) -> usize {
        match self.kind {
            RecordKind::Token { len } => len as usize,
            RecordKind::End => 0,
        }
    }
}

impl ShardWork for Batch {
    fn run(mut self: Box<Self>, ctx: &ShardCtx) {
        self.apply(ctx);
        self.bytes.clear();
        self.records.clear();
        let home = Arc::clone(&self.home);
        // A writer that is gone needs no arenas.
        drop(home.push(self));
    }
}
