//! The reading end of an endpoint's snapshots.

use std::{
    any::Any,
    fmt,
    future::Future,
    ops::Deref,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, Cache};

use crate::{
    Snapshot,
    waiters::{WaiterKey, Waiters},
};

/// Where the current snapshot lives.
#[derive(Debug)]
pub(crate) struct Cell {
    current: ArcSwap<Snapshot>,
    waiters: Waiters,
    closed: AtomicBool,
}

impl Cell {
    pub(crate) fn new(first: Snapshot) -> Self {
        Self {
            current: ArcSwap::from_pointee(first),
            waiters: Waiters::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn load(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    pub(crate) fn replace(&self, snapshot: Snapshot) {
        self.current.store(Arc::new(snapshot));
        self.waiters.wake_all();
    }

    /// No snapshot will follow.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.waiters.wake_all();
    }
}

/// Follows the snapshots of one endpoint. Cheap to clone; any thread. The watch behind it ends when
/// the last clone and the last [`CachedReader`] are dropped.
#[derive(Clone)]
pub struct SnapshotHandle {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    cell: Arc<Cell>,
    /// Ends the watch when it is dropped.
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl SnapshotHandle {
    pub(crate) fn new(cell: Arc<Cell>, guard: Option<Box<dyn Any + Send + Sync>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                cell,
                _guard: guard,
            }),
        }
    }

    pub(crate) fn from_shared(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The current snapshot. Never waits; costs two atomic operations on the shared count. Per
    /// request use a [`CachedReader`].
    #[must_use]
    pub fn load(&self) -> Arc<Snapshot> {
        self.shared.cell.load()
    }

    /// A reader for one thread that looks at the shared pointer only.
    #[must_use]
    pub fn reader(&self) -> CachedReader {
        CachedReader {
            cache: Cache::new(Source(Arc::clone(&self.shared))),
            handle: self.clone(),
        }
    }

    /// Waits, on any executor, for a snapshot that satisfies the predicate; at once if the current
    /// one does. Intermediate snapshots may be skipped. Dropping the future is safe at any time.
    pub fn wait_for<P: FnMut(&Snapshot) -> bool>(&self, predicate: P) -> WaitFor<P> {
        WaitFor {
            handle: self.clone(),
            predicate,
            key: None,
        }
    }

    /// Waits, on any executor, for a snapshot of another version than the given one.
    pub fn changed(&self, version: u64) -> WaitFor<impl FnMut(&Snapshot) -> bool + use<>> {
        self.wait_for(move |snapshot| snapshot.version() != version)
    }

    /// Blocks the calling thread as [`SnapshotHandle::wait_for`] waits, at most for `timeout`. Not
    /// for shards.
    ///
    /// Returns `Ok(None)` when the time ran out.
    ///
    /// # Errors
    /// [`Closed`] when no snapshot will follow.
    pub fn wait_blocking<P: FnMut(&Snapshot) -> bool>(
        &self,
        timeout: Duration,
        predicate: P,
    ) -> Result<Option<Arc<Snapshot>>, Closed> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut waiting = pin!(self.wait_for(predicate));
        let until = Instant::now().checked_add(timeout);
        loop {
            if let Poll::Ready(result) = waiting.as_mut().poll(&mut context) {
                return result.map(Some);
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.shared.cell.waiters.len()
    }
}

impl fmt::Debug for SnapshotHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SnapshotHandle").field(&self.load()).finish()
    }
}

/// One thread's view of an endpoint. Keeps the watch alive like a handle.
#[derive(Clone)]
pub struct CachedReader {
    cache: Cache<Source, Arc<Snapshot>>,
    handle: SnapshotHandle,
}

impl CachedReader {
    /// The current snapshot: one atomic load and a compare while nothing changes; no lock, no
    /// shared count, no allocation. Take it once per decision and use it for the whole of it.
    #[inline]
    pub fn load(&mut self) -> &Arc<Snapshot> {
        self.cache.load()
    }

    /// The handle it was made from.
    #[must_use]
    pub fn handle(&self) -> &SnapshotHandle {
        &self.handle
    }
}

impl fmt::Debug for CachedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CachedReader").field(&self.handle).finish()
    }
}

/// Lets the cache look through the shared part of a handle.
#[derive(Clone)]
struct Source(Arc<Shared>);

impl Deref for Source {
    type Target = ArcSwap<Snapshot>;

    fn deref(&self) -> &Self::Target {
        &self.0.cell.current
    }
}

/// No snapshot will follow: the publisher is gone. The last one stays readable.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the watch has ended: no snapshot will follow")]
pub struct Closed;

/// Future of [`SnapshotHandle::wait_for`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct WaitFor<P> {
    handle: SnapshotHandle,
    predicate: P,
    key: Option<WaiterKey>,
}

// The predicate is called, never pinned.
impl<P> Unpin for WaitFor<P> {}

impl<P: FnMut(&Snapshot) -> bool> Future for WaitFor<P> {
    type Output = Result<Arc<Snapshot>, Closed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let cell = &this.handle.shared.cell;
        // Registered before looking: a snapshot that comes in between wakes us.
        cell.waiters.register(&mut this.key, context.waker());
        // Read before the snapshot: what was published before the end is still looked at.
        let closed = cell.closed.load(Ordering::Acquire);
        let snapshot = cell.load();
        if (this.predicate)(&snapshot) {
            return Poll::Ready(Ok(snapshot));
        }
        if closed {
            Poll::Ready(Err(Closed))
        } else {
            Poll::Pending
        }
    }
}

impl<P> Drop for WaitFor<P> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.handle.shared.cell.waiters.remove(key);
        }
    }
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests;
