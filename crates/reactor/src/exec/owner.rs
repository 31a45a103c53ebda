//! Data that one thread alone may touch, inside a structure that all threads share.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a thread for the life of the process; 0 is no thread.
///
/// Not the address of a thread-local, which a later thread may get again, and not
/// `std::thread::ThreadId`, which costs more to ask for.
fn this_thread() -> u64 {
    TOKEN.with(Cell::get)
}

fn name_this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    TOKEN.with(|token| {
        if token.get() == 0 {
            token.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        token.get()
    })
}

thread_local! {
    // Constant and without a destructor: readable at any time of a thread's life.
    static TOKEN: Cell<u64> = const { Cell::new(0) };
}

/// A `T` that only the thread that made it may use.
pub(super) struct OwnerCell<T> {
    owner: u64,
    value: RefCell<T>,
}

// SAFETY: `with` compares the thread before it touches the value, so only the owner ever has a
// reference to it or to the borrow flag. `T: Send` because the last holder, which drops it, may be
// another thread.
unsafe impl<T: Send> Sync for OwnerCell<T> {}

impl<T> OwnerCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            owner: name_this_thread(),
            value: RefCell::new(value),
        }
    }

    /// Whether this is the owner's thread.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.owner == this_thread()
    }

    /// Calls `f` with the value, or returns `None` on a thread that is not the owner's.
    ///
    /// `f` must not run code of others (drop a task, wake): it might come back here.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.is_here().then(|| f(&mut self.value.borrow_mut()))
    }
}
