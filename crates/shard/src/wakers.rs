//! A place for wakers that any thread may register in and wake.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
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
        let mut oldest = None;
        {
            let mut waiting = self.lock();
            if !waiting.iter().any(|known| known.will_wake(waker)) {
                if waiting.len() == WAITERS_MAX {
                    oldest = Some(waiting.remove(0));
                }
                waiting.push(waker.clone());
            }
            self.armed.store(true, Ordering::SeqCst);
        }
        // Keeps the caller's second look behind the flag, also on machines that would not.
        fence(Ordering::SeqCst);
        if let Some(oldest) = oldest {
            oldest.wake();
        }
    }

    /// Wakes everyone who waits.
    pub fn wake(&self) {
        // SeqCst pairs with `register`: either this sees the flag, or the registrant's second
        // look sees the condition.
        fence(Ordering::SeqCst);
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        // Fired outside of the lock: a waker may be the last owner of something that wakes here.
        let mut woken = [const { None }; WAITERS_MAX];
        {
            let mut waiting = self.lock();
            self.armed.store(false, Ordering::SeqCst);
            for (place, waker) in woken.iter_mut().zip(waiting.drain(..)) {
                *place = Some(waker);
            }
        }
        for waker in woken.into_iter().flatten() {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
