//! What a shard and a consumer on another thread share of one stream.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use ringmain_codec::InstanceId;
use ringmain_shard::{
    Inbox, LinkKey, Payload, ShardCtx, ShardHandle, ShardSignal, SharedWaker, StreamCell,
};

use super::HomeShared;
use super::role::ClientLink;
use crate::calls::{Calls, StreamKey, Terminal, Took};
use crate::error::CallError;

/// Ask the responder to finish early.
pub(super) const STOP: u8 = 1;
/// Drop the stream at the responder; the consumer still reads.
pub(super) const KILL: u8 = 2;
/// The consumer is gone.
pub(super) const DROPPED: u8 = 4;
/// The consumer has taken everything it had.
pub(super) const EMPTY: u8 = 8;

/// One stream between its shard and its consumer. The lock is held for moving messages only.
pub(crate) struct SharedStream {
    shard: ShardHandle,
    home: Arc<HomeShared>,
    inner: Mutex<Inner>,
    /// What the consumer took and the shard has not yet heard of.
    credit: AtomicU32,
    reserved_bytes: AtomicUsize,
    flags: AtomicU8,
    /// A signal is on its way.
    signalled: AtomicBool,
    /// The task on the shard that makes the call.
    task: SharedWaker,
    /// Bytes of a streamed request that wait.
    cell: Option<Arc<StreamCell>>,
    /// Credit to collect before the shard is told.
    pub(super) credit_step: u32,
}

pub(super) struct Inner {
    /// How the call went, until the caller has taken it.
    pub(super) outcome: Option<Result<InstanceId, CallError>>,
    pub(super) settled: bool,
    /// Where the stream is, while it is open there.
    pub(super) place: Option<(LinkKey, StreamKey)>,
    pub(super) inbox: Inbox,
    pub(super) end: Option<Terminal>,
    pub(super) report_empty: bool,
    pub(super) waker: Option<Waker>,
    pub(super) outgoing: VecDeque<Payload>,
    pub(super) finished: bool,
    /// Longest message that the responder takes.
    pub(super) message_bytes_max: u32,
}

impl SharedStream {
    pub(super) fn new(
        shard: ShardHandle,
        home: Arc<HomeShared>,
        streaming: bool,
        credit_step: u32,
    ) -> Arc<Self> {
        let inner = Inner {
            outcome: None,
            settled: false,
            place: None,
            inbox: Inbox::default(),
            end: None,
            report_empty: false,
            waker: None,
            outgoing: VecDeque::new(),
            finished: false,
            message_bytes_max: u32::MAX,
        };
        Arc::new(Self {
            shard,
            home,
            inner: Mutex::new(inner),
            credit: AtomicU32::new(0),
            reserved_bytes: AtomicUsize::new(0),
            flags: AtomicU8::new(0),
            signalled: AtomicBool::new(false),
            task: SharedWaker::default(),
            cell: streaming.then(Arc::default),
            credit_step,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn home(&self) -> &Arc<HomeShared> {
        &self.home
    }

    pub(super) fn cell(&self) -> Option<&Arc<StreamCell>> {
        self.cell.as_ref()
    }

    pub(super) const fn task(&self) -> &SharedWaker {
        &self.task
    }

    /// The consumer no longer wants an answer.
    pub(super) fn is_dropped(&self) -> bool {
        self.flags.load(Ordering::Acquire) & DROPPED != 0
    }

    /// Tells the caller how the call went; the first outcome counts.
    pub(super) fn settle(&self, outcome: Result<InstanceId, CallError>) {
        let waker = {
            let mut inner = self.lock();
            if std::mem::replace(&mut inner.settled, true) {
                return;
            }
            inner.outcome = Some(outcome);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Moves what a stream has whole to its consumer: one lock, one wake. Returns whether the
    /// stream has ended.
    pub(super) fn deliver<T>(&self, calls: &mut Calls<T>, key: StreamKey) -> bool {
        let (waker, ended) = {
            let mut inner = self.lock();
            let handed = calls.hand_over(key, &mut inner.inbox);
            inner.report_empty |= handed.report_empty;
            let ended = handed.end.is_some();
            if ended {
                inner.end = handed.end;
                inner.place = None;
                // Whoever waits for room in the queue is let go.
                inner.outgoing.clear();
            }
            (inner.waker.take(), ended)
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        ended
    }

    /// The stream is forgotten on the shard; a sink that is still held learns of it.
    fn detach(&self) {
        let mut inner = self.lock();
        inner.place = None;
        inner.outgoing.clear();
    }

    /// The consumer took this much since it last said so.
    pub(super) fn took(&self, credit: u32, reserved_bytes: usize) {
        self.credit.fetch_add(credit, Ordering::AcqRel);
        if reserved_bytes > 0 {
            self.reserved_bytes
                .fetch_add(reserved_bytes, Ordering::AcqRel);
        }
    }

    /// Raises flags and makes the shard look, once for all that it has not seen.
    pub(super) fn signal(self: &Arc<Self>, flags: u8) {
        if flags != 0 {
            self.flags.fetch_or(flags, Ordering::AcqRel);
        }
        if self.signalled.swap(true, Ordering::AcqRel) {
            return;
        }
        // A shard that has stopped has ended the stream.
        drop(self.shard.signal(Arc::<Self>::clone(self)));
    }

    /// Does on the shard what the consumer asked for.
    fn apply(&self, link_role: (&mut ringmain_shard::Link, &mut ClientLink), stream: StreamKey) {
        let (link, role) = link_role;
        let flags = self.flags.fetch_and(!EMPTY, Ordering::AcqRel);
        let took = Took {
            credit: self.credit.swap(0, Ordering::AcqRel),
            reserved_bytes: self.reserved_bytes.swap(0, Ordering::AcqRel),
            all: flags & EMPTY != 0,
        };
        let (outgoing, finished) = if self.cell.is_some() {
            let mut inner = self.lock();
            (std::mem::take(&mut inner.outgoing), inner.finished)
        } else {
            (VecDeque::new(), false)
        };
        let mut calls = role.calls().borrow_mut();
        calls.consumer_took(stream, link, took);
        for payload in outgoing {
            // The queue is bounded by the cell, so only an ended stream refuses.
            if calls.send(stream, link, payload).is_err() {
                break;
            }
        }
        if finished {
            calls.finish(stream, link);
        }
        if flags & DROPPED != 0 {
            calls.release(stream, link);
            drop(calls);
            self.detach();
        } else if flags & KILL != 0 {
            calls.kill(stream, link);
        } else if flags & STOP != 0 {
            calls.stop(stream, link);
        }
    }
}

impl ShardSignal for SharedStream {
    fn signalled(self: Arc<Self>, ctx: &ShardCtx) {
        // Reads what the last signaller wrote, and so sees all that it did before.
        self.signalled.swap(false, Ordering::AcqRel);
        self.task.wake();
        let place = self.lock().place;
        if let Some((key, stream)) = place {
            ctx.with_link(key, |link, role| {
                if let Some(role) = role.as_any().downcast_mut::<ClientLink>() {
                    self.apply((&mut *link, &mut *role), stream);
                    role.settle(ctx, key, link);
                }
            });
        }
    }
}

impl std::fmt::Debug for SharedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedStream")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}
