//! One stream as an engine thread names it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ringmain_shard::{ShardHandle, StreamCell, WaitKey};

use crate::sink::StreamKey;

/// Names one response stream for [`StepWriter::push`](crate::StepWriter::push). Any thread.
#[derive(Clone)]
pub struct StepSink {
    pub(super) shard: ShardHandle,
    pub(super) key: StreamKey,
    pub(super) cell: Arc<StreamCell>,
    pub(super) sink_bytes_max: usize,
}

impl StepSink {
    pub(crate) const fn new(
        shard: ShardHandle,
        key: StreamKey,
        cell: Arc<StreamCell>,
        sink_bytes_max: usize,
    ) -> Self {
        Self {
            shard,
            key,
            cell,
            sink_bytes_max,
        }
    }

    /// The caller asked to finish early, or dropped the stream. One load.
    pub fn is_stopped(&self) -> bool {
        self.cell.is_stopped()
    }

    /// The caller dropped the stream. One load.
    pub fn is_killed(&self) -> bool {
        self.cell.is_killed()
    }

    /// Completes once the engine has ended the stream with
    /// [`StepWriter::end`](crate::StepWriter::end) (after everything pushed before it), or the
    /// stream is gone. What a handler awaits while an engine serves its stream. Cancel-safe.
    pub fn finished(&self) -> Finished {
        Finished {
            cell: Arc::clone(&self.cell),
            key: WaitKey::default(),
        }
    }
}

impl fmt::Debug for StepSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepSink")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Completes when an engine has ended its stream; made by [`StepSink::finished`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Finished {
    cell: Arc<StreamCell>,
    key: WaitKey,
}

impl Future for Finished {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { cell, key } = self.get_mut();
        cell.poll_flags(key, cx, |cell| cell.is_closed() || cell.is_killed())
    }
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.cell.forget_canceller(&mut self.key);
    }
}
