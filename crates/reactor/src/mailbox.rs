//! A bounded queue from any threads to one, which wakes that one only if it sleeps.

use std::fmt;

use crate::doorbell::Doorbell;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Ordering, Waker};

mod ring;

use ring::{PushError, Ring};

/// A mailbox of at least `capacity` items (rounded up to a power of two, two at the least) with a
/// doorbell of its own.
///
/// The slots are allocated here; sending and receiving allocate nothing.
#[must_use]
pub fn channel<T: Send>(capacity: usize, waker: Waker) -> (Sender<T>, Receiver<T>) {
    channel_on(capacity, Doorbell::new(waker))
}

/// A mailbox as by [`channel`] that rings `doorbell`, so that one thread's queues share one flag.
///
/// The thread then parks by [`Doorbell::prepare_park`] with a look into all of them
/// ([`Receiver::has_work`]).
#[must_use]
pub fn channel_on<T: Send>(capacity: usize, doorbell: Doorbell) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan {
        ring: Ring::new(capacity),
        doorbell,
        senders: AtomicUsize::new(1),
        full: AtomicU64::new(0),
    });
    let sender = Sender { chan: chan.clone() };
    let receiver = Receiver {
        chan,
        head: 0,
        end_seen: false,
    };
    (sender, receiver)
}

/// The sending half; any thread, any number of clones.
pub struct Sender<T> {
    chan: Arc<Chan<T>>,
}

/// The receiving half; one thread, the one that its waker wakes.
pub struct Receiver<T> {
    chan: Arc<Chan<T>>,
    /// Position of the next item; only the receiver moves it.
    head: u64,
    /// The last sender is gone and the receiver knows.
    end_seen: bool,
}

/// Why an item was not taken; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<T> {
    /// `capacity` items wait; counted by [`Receiver::full_total`].
    Full(T),
    /// The receiver is gone.
    Closed(T),
}

struct Chan<T> {
    ring: Ring<T>,
    doorbell: Doorbell,
    senders: AtomicUsize,
    full: AtomicU64,
}

impl<T> Sender<T> {
    /// Leaves `item` for the receiver and wakes it if it sleeps; never waits, locks or allocates.
    ///
    /// # Errors
    ///
    /// The item comes back if the mailbox is full or the receiver is gone.
    #[inline]
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        match self.chan.ring.push(item) {
            Ok(()) => {
                self.chan.doorbell.ring();
                Ok(())
            }
            Err(PushError::Full(item)) => {
                self.chan.full.fetch_add(1, Ordering::Relaxed);
                Err(TrySendError::Full(item))
            }
            Err(PushError::Closed(item)) => Err(TrySendError::Closed(item)),
        }
    }

    /// Whether the receiver is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan.ring.is_closed()
    }

    /// How many items can wait.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.chan.ring.capacity()
    }
}

impl<T> Receiver<T> {
    /// Takes the oldest item.
    ///
    /// `None` while a producer is between claiming its place and filling it, too: nothing waits
    /// here for a producer that was descheduled. [`has_work`](Self::has_work) is true then.
    #[inline]
    pub fn try_recv(&mut self) -> Option<T> {
        let item = self.chan.ring.pop(self.head)?;
        self.head += 1;
        Some(item)
    }

    /// Whether the thread may wait as far as this mailbox goes; see [`Doorbell::prepare_park`].
    ///
    /// False if something arrived, or if the last sender went and [`is_closed`](Self::is_closed)
    /// has not told so yet.
    #[must_use]
    pub fn prepare_park(&self) -> bool {
        self.chan.doorbell.prepare_park(|| self.has_work())
    }

    /// Takes the sleeping flag down after the thread waited.
    pub fn unpark(&self) {
        self.chan.doorbell.unpark();
    }

    /// Whether there is anything to receive or the end to notice.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.is_empty() || (!self.end_seen && self.chan.senders.load(Ordering::SeqCst) == 0)
    }

    /// Whether no item waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chan.ring.tail() == self.head
    }

    /// How many items wait.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.chan.ring.tail() - self.head) as usize
    }

    /// Whether the last sender is gone and nothing is left; once true it stays true, and parking
    /// is allowed again.
    pub fn is_closed(&mut self) -> bool {
        // The senders first: an item of the last one is visible once it is known to be gone.
        let closed = self.chan.senders.load(Ordering::SeqCst) == 0 && self.is_empty();
        self.end_seen |= closed;
        closed
    }

    /// How many items can wait.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.chan.ring.capacity()
    }

    /// How many items were refused because the mailbox was full.
    #[must_use]
    pub fn full_total(&self) -> u64 {
        self.chan.full.load(Ordering::Relaxed)
    }

    /// The doorbell that senders ring.
    #[must_use]
    pub fn doorbell(&self) -> &Doorbell {
        &self.chan.doorbell
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.chan.senders.fetch_add(1, Ordering::Relaxed);
        Self {
            chan: self.chan.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.chan.senders.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.chan.doorbell.ring();
        }
    }
}

impl<T> Drop for Receiver<T> {
    /// Refuses what comes from now on and drops what waits; an item that is being sent at this
    /// moment is dropped with the last sender at the latest.
    fn drop(&mut self) {
        self.chan.ring.close();
        while self.try_recv().is_some() {}
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<T> TrySendError<T> {
    /// The item that was not taken.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(item) | Self::Closed(item) => item,
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "mailbox is full",
            Self::Closed(_) => "mailbox has no receiver",
        })
    }
}

impl<T> std::error::Error for TrySendError<T> {}

#[cfg(all(test, not(loom)))]
mod tests;
