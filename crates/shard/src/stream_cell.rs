//! What the producer of a stream may know without asking the shard that owns it.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use crate::wakers::{SharedWaker, WaitKey};

const STOPPED: u32 = 1;
const KILLED: u32 = 2;
const CLOSED: u32 = 4;
const HELD: u32 = 8;

/// Shared state of one stream's sending side: cancel flags and bytes that wait.
///
/// Written by the owning shard, read by producers on any thread with one load. Bytes are counted
/// from the push until they are in the link's out-buffer or dropped, so the count returns to zero
/// on every exit.
///
/// What a token needs is on one cache line: with thousands of streams each step finds it cold.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct StreamCell {
    flags: AtomicU32,
    buffered_bytes: AtomicUsize,
    /// Messages in the codec's queue; the owning shard alone counts.
    held: AtomicU32,
    /// The task that waits for room.
    sender: SharedWaker,
    /// The task that waits for a cancel.
    canceller: SharedWaker,
}

impl StreamCell {
    /// All flags, in one load.
    pub fn flags(&self) -> StreamFlags {
        let flags = self.flags.load(Ordering::Acquire);
        StreamFlags {
            stopped: flags & (STOPPED | KILLED) != 0,
            killed: flags & KILLED != 0,
            closed: flags & CLOSED != 0,
            held: flags & HELD != 0,
        }
    }

    /// The peer asked to finish early (also set by a kill).
    pub fn is_stopped(&self) -> bool {
        self.flags().stopped
    }

    /// The peer dropped the stream, or its connection is gone.
    pub fn is_killed(&self) -> bool {
        self.flags().killed
    }

    /// The stream has ended; nothing more can be sent.
    pub fn is_closed(&self) -> bool {
        self.flags().closed
    }

    /// Raises the stop flag and wakes whoever waits for a cancel.
    pub fn set_stopped(&self) {
        self.raise(STOPPED);
    }

    /// Raises the kill flag; wakes whoever waits for a cancel or for room.
    pub fn set_killed(&self) {
        self.raise(STOPPED | KILLED);
    }

    /// Marks the stream as ended; wakes whoever waits for room.
    pub fn set_closed(&self) {
        self.raise(CLOSED);
    }

    /// Bytes pushed and not yet in the link's out-buffer.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes.load(Ordering::Acquire)
    }

    /// Adds a message of `bytes` unless that would pass `max`; an empty queue takes one message of
    /// any size. An empty message counts as one byte, so that the queue is bounded in any case.
    ///
    /// Producers of one stream may call it from several threads.
    pub fn try_enter_queue(&self, bytes: usize, max: usize) -> bool {
        let bytes = weight(bytes);
        let enter = |now: usize| (now == 0 || now + bytes <= max).then_some(now + bytes);
        self.buffered_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, enter)
            .is_ok()
    }

    /// Takes a message of `bytes` off and wakes the producer that waits for room.
    pub fn left_queue(&self, bytes: usize) {
        let bytes = weight(bytes);
        let before = self.buffered_bytes.fetch_sub(bytes, Ordering::SeqCst);
        assert!(before >= bytes, "more bytes left the queue than entered it");
        self.sender.wake_after_change();
    }

    /// Wakes the producer that waits, because credit came back.
    pub fn wake_sender(&self) {
        self.sender.wake();
    }

    /// A message has to wait in the codec's queue; on the owning shard.
    pub(crate) fn hold(&self) {
        let held = self.held.load(Ordering::Relaxed);
        self.held.store(held + 1, Ordering::Relaxed);
        if held == 0 {
            self.flags.fetch_or(HELD, Ordering::AcqRel);
        }
    }

    /// Takes a message of `bytes` that was on hold off, as [`left_queue`](Self::left_queue).
    pub(crate) fn let_go(&self, bytes: usize) {
        let held = self.held.load(Ordering::Relaxed);
        self.held.store(held - 1, Ordering::Relaxed);
        if held == 1 {
            self.flags.fetch_and(!HELD, Ordering::AcqRel);
        }
        self.left_queue(bytes);
    }

    /// Registers the task that waits for room; check the condition again afterwards.
    pub fn register_sender(&self, waker: &Waker) {
        self.sender.register(waker);
    }

    /// Waits, for the future that `key` belongs to, until `is_over` holds, which looks at the
    /// flags. The future gives its place back with [`forget_canceller`](Self::forget_canceller).
    pub fn poll_flags(
        &self,
        key: &mut WaitKey,
        cx: &Context<'_>,
        is_over: impl Fn(&Self) -> bool,
    ) -> Poll<()> {
        if is_over(self) {
            return Poll::Ready(());
        }
        self.canceller.register_keyed(key, cx.waker());
        // A flag raised just before the registration woke nobody.
        if is_over(self) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// The future that `key` belongs to waits no longer.
    pub fn forget_canceller(&self, key: &mut WaitKey) {
        self.canceller.forget(key);
    }

    fn raise(&self, flags: u32) {
        self.flags.fetch_or(flags, Ordering::SeqCst);
        self.canceller.wake_after_change();
        self.sender.wake_after_change();
    }
}

/// What a producer may look at before it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFlags {
    /// The peer asked to finish early, or dropped the stream.
    pub stopped: bool,
    /// The peer dropped the stream, or its connection is gone.
    pub killed: bool,
    /// The stream has ended.
    pub closed: bool,
    /// Messages wait for credit, or for room in the link's out-buffer.
    pub held: bool,
}

/// What a message counts for.
const fn weight(bytes: usize) -> usize {
    if bytes == 0 { 1 } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_empty_messages_is_bounded_and_comes_back_to_nothing() {
        let cell = StreamCell::default();
        let entered = (0..1000).filter(|_| cell.try_enter_queue(0, 64)).count();
        assert_eq!(entered, 64);
        (0..entered).for_each(|_| cell.left_queue(0));
        assert_eq!(cell.buffered_bytes(), 0);
        assert!(cell.try_enter_queue(1000, 64), "an empty queue takes any");
        assert!(!cell.try_enter_queue(0, 64));
        cell.left_queue(1000);
        assert_eq!(cell.buffered_bytes(), 0);
    }
}
