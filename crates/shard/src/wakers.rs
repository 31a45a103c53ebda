//! A place for wakers that any thread may register in and wake.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Wakers kept per place; a further one replaces the oldest after waking it, so nobody is lost.
const WAITERS_MAX: usize = 8;

/// Wakers of the tasks that wait for one condition.
///
/// `wake` costs one load while nobody waits; the lock is taken only when somebody does.
#[derive(Debug, Default)]
pub struct SharedWaker {
    armed: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl SharedWaker {
    /// Remembers `waker` until the next [`wake`](Self::wake). The caller must check its condition
    /// once more after this, since a wake may have come just before.
    pub fn register(&self, waker: &Waker) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            if waiting.len() == WAITERS_MAX {
                waiting.remove(0).wake();
            }
            waiting.push(waker.clone());
        }
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Wakes everyone who waits.
    pub fn wake(&self) {
        // SeqCst pairs with `register`: either this sees the flag, or the registrant's second
        // look sees the condition.
        std::sync::atomic::fence(Ordering::SeqCst);
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.armed.store(false, Ordering::SeqCst);
        for waker in waiting.drain(..) {
            waker.wake();
        }
    }
}
