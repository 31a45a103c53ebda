//! A stream's messages for a consumer on another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use ringmain_codec::StreamHandle;

use crate::ctx::ShardCtx;
use crate::key::LinkKey;
use crate::link::Inbox;
use crate::mailboxes::ShardHandle;
use crate::message::ShardSignal;
use crate::wakers::SharedWaker;

/// Credit that the consumer may owe before it tells the shard, unless it runs dry first.
const OWED_BYTES_MAX: u32 = 16 * 1024;

/// Whole messages handed from a shard to a consumer anywhere, and credit handed back.
///
/// The shard fills it once per chunk it received, not once per message: one lock and at most one
/// wake-up a batch. The consumer signals the shard once per 16 KiB taken, or when it runs dry.
pub struct SharedInbox {
    shard: ShardHandle,
    link: LinkKey,
    stream: StreamHandle,
    state: Mutex<State>,
    reader: SharedWaker,
    signalled: AtomicBool,
}

#[derive(Default)]
struct State {
    inbox: Inbox,
    closed: bool,
    owed: u32,
    /// Credit of long messages, kept while the consumer has others to take.
    held: u32,
}

impl SharedInbox {
    /// An empty inbox of one stream, which lives on `shard`.
    pub fn new(shard: ShardHandle, link: LinkKey, stream: StreamHandle) -> Self {
        Self {
            shard,
            link,
            stream,
            state: Mutex::default(),
            reader: SharedWaker::default(),
            signalled: AtomicBool::new(false),
        }
    }

    /// Shard: moves every whole message over and wakes the consumer if there was one. `held` is
    /// credit that goes back once they are taken.
    pub fn fill(&self, from: &mut Inbox, held: u32) {
        if from.ready() == 0 {
            return;
        }
        {
            let mut state = self.lock();
            from.drain_into(&mut state.inbox);
            state.held += held;
        }
        self.reader.wake();
    }

    /// Shard: keeps the credit of a piece until the consumer has taken all that is whole; false,
    /// if it has nothing to take.
    pub fn hold(&self, credit: u32) -> bool {
        let mut state = self.lock();
        if state.inbox.ready() == 0 {
            return false;
        }
        state.held += credit;
        true
    }

    /// Shard: nothing more will come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.reader.wake();
    }

    /// Consumer: the next message, `None` once closed and empty.
    pub fn poll_next(self: &Arc<Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.take() {
            Poll::Pending => {
                self.reader.register(cx.waker());
                self.take()
            }
            ready @ Poll::Ready(_) => ready,
        }
    }

    /// Bytes that wait for the consumer.
    pub fn bytes(&self) -> usize {
        self.lock().inbox.bytes()
    }

    fn take(self: &Arc<Self>) -> Poll<Option<Bytes>> {
        let mut state = self.lock();
        let Some(message) = state.inbox.pop() else {
            return if state.closed {
                Poll::Ready(None)
            } else {
                Poll::Pending
            };
        };
        state.owed += message.credit;
        let is_dry = state.inbox.ready() == 0;
        if is_dry {
            state.owed += std::mem::take(&mut state.held);
        }
        let due = state.owed >= OWED_BYTES_MAX || (is_dry && state.owed > 0);
        let due = due && !state.closed;
        drop(state);
        if due {
            self.signal();
        }
        Poll::Ready(Some(message.bytes))
    }

    fn signal(self: &Arc<Self>) {
        if self.signalled.swap(true, Ordering::AcqRel) {
            return;
        }
        // A shard that has stopped owes nobody credit.
        drop(self.shard.signal(Arc::clone(self) as Arc<dyn ShardSignal>));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ShardSignal for SharedInbox {
    fn signalled(self: Arc<Self>, ctx: &ShardCtx) {
        self.signalled.store(false, Ordering::Release);
        let owed = std::mem::take(&mut self.lock().owed);
        if owed > 0 {
            ctx.with_link(self.link, |link, _| link.release(self.stream, owed));
        }
    }
}

impl fmt::Debug for SharedInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInbox")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
