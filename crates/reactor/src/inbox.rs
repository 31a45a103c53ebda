//! Where other threads leave woken tasks: an intrusive stack that the owner takes as a whole.
//!
//! The link lives in the task, so a push allocates nothing and there is no capacity to exceed: a
//! task is in at most one queue at a time.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicPtr, Ordering};

/// Something that can be in an [`Inbox`].
///
/// # Safety
///
/// `from_raw` of what `into_raw` gave is the same item. `next` is the same memory before and after
/// such a round trip, lives while the item does, and is used by the inbox alone.
pub(crate) unsafe trait Linked: Sized {
    fn into_raw(self) -> NonNull<()>;

    /// # Safety
    ///
    /// `raw` came from `into_raw`, and one item at most is dropped of those made from it.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;

    fn next(&self) -> &AtomicPtr<()>;
}

/// A stack of `L` that any thread pushes to and one takes all of.
pub(crate) struct Inbox<L: Linked> {
    head: CachePadded<AtomicPtr<()>>,
    items: PhantomData<L>,
}

impl<L: Linked> Inbox<L> {
    pub(crate) fn new() -> Self {
        Self {
            head: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
            items: PhantomData,
        }
    }

    /// Leaves `item`; from any thread.
    pub(crate) fn push(&self, item: L) {
        let raw = item.into_raw();
        // SAFETY: `raw` is of `into_raw`; this view of the item is never dropped.
        let view = ManuallyDrop::new(unsafe { L::from_raw(raw) });
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            view.next().store(head, Ordering::Relaxed);
            // Once this succeeds the owner may free the item: `view` is not used after it.
            // SeqCst: this is the publication that the doorbell's protocol speaks of.
            match self.head.compare_exchange_weak(
                head,
                raw.as_ptr(),
                Ordering::SeqCst,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Moves everything to the end of `queue`, oldest first; on the owner's thread.
    #[inline]
    pub(crate) fn drain_into(&self, queue: &mut VecDeque<L>) {
        if !self.is_empty() {
            self.take_all(queue);
        }
    }

    /// Whether nothing was left here.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::SeqCst).is_null()
    }

    fn take_all(&self, queue: &mut VecDeque<L>) {
        let newest = self.head.swap(ptr::null_mut(), Ordering::AcqRel);
        let mut oldest = ptr::null_mut();
        let mut rest = newest;
        while let Some(raw) = NonNull::new(rest) {
            // SAFETY: what is linked came from `into_raw` in `push`; the view is not dropped.
            let view = ManuallyDrop::new(unsafe { L::from_raw(raw) });
            rest = view.next().load(Ordering::Relaxed);
            view.next().store(oldest, Ordering::Relaxed);
            oldest = raw.as_ptr();
        }
        let mut rest = oldest;
        while let Some(raw) = NonNull::new(rest) {
            // SAFETY: the swap made this thread the only one that holds the chain, and each of its
            // links becomes an item once.
            let item = unsafe { L::from_raw(raw) };
            rest = item.next().load(Ordering::Relaxed);
            queue.push_back(item);
        }
    }
}

impl<L: Linked> Drop for Inbox<L> {
    fn drop(&mut self) {
        self.take_all(&mut VecDeque::new());
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
