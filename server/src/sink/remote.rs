//! The sink of a handler that runs elsewhere.

use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_shard::{ShardCtx, ShardHandle, ShardSignal, StreamCell};
use ringmain_telemetry::Counter;

use super::{StreamKey, refusal};
use crate::error::SinkError;
use crate::role::{Pushed, ServerLink};
use crate::step::StepSink;

/// Sends tokens from any thread to the stream's shard.
///
/// Tokens of one stream collect in its queue until the shard takes them all in one turn, so a
/// burst costs one wake-up. A send waits only while `sink_bytes_max` bytes wait already. No
/// allocation per token once the queue has grown.
pub struct Sink {
    shared: Arc<Shared>,
    sink_bytes_max: usize,
}

struct Shared {
    shard: ShardHandle,
    key: StreamKey,
    cell: Arc<StreamCell>,
    queue: Mutex<Queue>,
    /// The shard has been told about the queue and has not looked yet.
    signalled: AtomicBool,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    lens: Vec<u32>,
    trailers: Vec<(Bytes, Bytes)>,
}

impl Sink {
    pub(crate) fn new(
        shard: ShardHandle,
        key: StreamKey,
        cell: Arc<StreamCell>,
        sink_bytes_max: usize,
    ) -> Self {
        let queue = Mutex::default();
        let signalled = AtomicBool::new(false);
        Self {
            shared: Arc::new(Shared {
                shard,
                key,
                cell,
                queue,
                signalled,
            }),
            sink_bytes_max,
        }
    }

    /// Sends one message: `Ok` means queued for the shard, not delivered.
    ///
    /// Cancel-safe: a send dropped while it waits for room has sent nothing.
    ///
    /// # Errors
    ///
    /// The caller dropped the stream, the stream has ended, or the message is too large.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), SinkError> {
        poll_fn(|cx| self.poll_enter(cx, message)).await?;
        self.shared.signal();
        Ok(())
    }

    fn poll_enter(&self, cx: &Context<'_>, message: &[u8]) -> Poll<Result<(), SinkError>> {
        let Ok(len) = u32::try_from(message.len()) else {
            return Poll::Ready(Err(SinkError::TooLarge));
        };
        let cell = &self.shared.cell;
        if let Some(error) = refusal(cell) {
            return Poll::Ready(Err(error));
        }
        if !cell.try_enter_queue(message.len(), self.sink_bytes_max) {
            self.shared.shard.count(Counter::SinkFull, 1);
            cell.register_sender(cx.waker());
            if let Some(error) = refusal(cell) {
                return Poll::Ready(Err(error));
            }
            if !cell.try_enter_queue(message.len(), self.sink_bytes_max) {
                return Poll::Pending;
            }
        }
        let mut queue = self.shared.lock();
        queue.bytes.extend_from_slice(message);
        queue.lens.push(len);
        Poll::Ready(Ok(()))
    }

    /// Attaches a pair to the terminal, for example a usage record.
    pub fn add_trailer(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.shared.lock().trailers.push((key.into(), value.into()));
    }

    /// A handle with which an engine thread pushes this stream's tokens through a
    /// [`StepWriter`](crate::StepWriter) while the handler waits.
    pub fn step_sink(&self) -> StepSink {
        let Shared {
            shard, key, cell, ..
        } = &*self.shared;
        StepSink::new(shard.clone(), *key, Arc::clone(cell), self.sink_bytes_max)
    }

    /// What moves the queue to the link on the shard, for whoever ends the stream.
    pub(crate) fn drain(&self) -> SinkDrain {
        SinkDrain(Arc::clone(&self.shared))
    }
}

/// Moves what a sink has queued to its link, before the terminal.
pub(crate) struct SinkDrain(Arc<Shared>);

impl SinkDrain {
    pub(crate) fn run(&self, ctx: &ShardCtx) {
        self.0.deliver_all(ctx);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the shard that there is something.
    fn signal(self: &Arc<Self>) {
        if self.signalled.swap(true, Ordering::AcqRel) {
            return;
        }
        let signal = Arc::clone(self) as Arc<dyn ShardSignal>;
        if self.shard.signal(signal).is_err() {
            // A stopped shard never takes anything again.
            self.cell.set_closed();
        }
    }

    fn deliver_all(&self, ctx: &ShardCtx) {
        let mut queue = self.lock();
        let queue = &mut *queue;
        let StreamKey { link, stream } = self.key;
        let taken = ctx.with_link(link, |link, role| {
            let role = ServerLink::of(role);
            let mut rest = queue.bytes.as_slice();
            for len in &queue.lens {
                let (message, after) = rest.split_at(*len as usize);
                rest = after;
                match role.push(ctx, link, stream, message) {
                    Pushed::Taken => ctx.count(Counter::TokensSent, 1),
                    Pushed::Refused => {}
                    Pushed::Gone => self.cell.left_queue(message.len()),
                }
            }
            for pair in queue.trailers.drain(..) {
                role.add_trailer(stream, pair);
            }
        });
        if taken.is_none() {
            self.cell.set_closed();
            for len in &queue.lens {
                self.cell.left_queue(*len as usize);
            }
        }
        queue.bytes.clear();
        queue.lens.clear();
    }
}

impl ShardSignal for Shared {
    fn signalled(self: Arc<Self>, ctx: &ShardCtx) {
        // Cleared first: what is queued from here on signals again.
        self.signalled.store(false, Ordering::Release);
        self.deliver_all(ctx);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("key", &self.shared.key)
            .finish_non_exhaustive()
    }
}
