//! The sleeping flag: wakes a parked thread once, and costs an awake one a single load.

use crossbeam_utils::CachePadded;

use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, Waker, store_load_barrier};

/// One thread's doorbell; every queue that other threads fill for it shares this one.
///
/// A producer publishes, then [`ring`](Self::ring)s. The owner, before it waits in its driver,
/// calls [`prepare_park`](Self::prepare_park), which sets the flag and only then looks into the
/// queues, and calls [`unpark`](Self::unpark) after it waited:
///
/// ```text
///   producer                     owner
///   publish (SeqCst)             sleeping = true (SeqCst)
///   sleeping? (SeqCst) -> wake   anything published? (SeqCst) -> do not park
/// ```
///
/// In the single order of those four accesses either the owner's look comes after the publication
/// and it does not park, or the producer's look comes after the flag and it wakes. This needs the
/// publication to be a `SeqCst` write to the very variable that the owner's look reads with
/// `SeqCst`; both queues of this crate do that. Whoever takes the flag down by a wake is the only
/// one to wake, so a sleep costs one wake however many producers ring.
#[derive(Clone, Debug)]
pub struct Doorbell {
    bell: Arc<Bell>,
}

#[derive(Debug)]
struct Bell {
    /// On its own cache line: producers only read it while the owner is awake.
    sleeping: CachePadded<AtomicBool>,
    wakes: AtomicU64,
    waker: Waker,
}

impl Doorbell {
    /// A doorbell for the thread that `waker` wakes; that thread is awake.
    #[must_use]
    pub fn new(waker: Waker) -> Self {
        Self {
            bell: Arc::new(Bell {
                sleeping: CachePadded::new(AtomicBool::new(false)),
                wakes: AtomicU64::new(0),
                waker,
            }),
        }
    }

    /// Tells the owner that something was published for it; from any thread.
    ///
    /// One load while the owner is awake; the first ring of a sleep is a system call.
    #[inline]
    pub fn ring(&self) {
        store_load_barrier();
        if self.bell.sleeping.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Whether the owner may wait now; on the owner's thread.
    ///
    /// Sets the sleeping flag, then asks `has_work`, which must look into every queue whose
    /// producers ring here. If there is work the flag is taken down again.
    pub fn prepare_park(&self, has_work: impl FnOnce() -> bool) -> bool {
        self.bell.sleeping.store(true, Ordering::SeqCst);
        store_load_barrier();
        if has_work() {
            self.unpark();
            return false;
        }
        true
    }

    /// Takes the sleeping flag down; on the owner's thread, after it waited.
    pub fn unpark(&self) {
        self.bell.sleeping.store(false, Ordering::SeqCst);
    }

    /// How many sleeps were ended by a wake; grows only.
    #[must_use]
    pub fn wakes_total(&self) -> u64 {
        self.bell.wakes.load(Ordering::Relaxed)
    }

    #[cold]
    fn wake(&self) {
        // Not a swap: a flag that is down already must not be written once more.
        let taken =
            self.bell
                .sleeping
                .compare_exchange(true, false, Ordering::SeqCst, Ordering::SeqCst);
        if taken.is_ok() {
            self.bell.wakes.fetch_add(1, Ordering::Relaxed);
            self.bell.waker.wake();
        }
    }
}

impl From<Waker> for Doorbell {
    fn from(waker: Waker) -> Self {
        Self::new(waker)
    }
}

impl From<&Self> for Doorbell {
    fn from(doorbell: &Self) -> Self {
        doorbell.clone()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
