//! A place for wakers that any thread may register in and wake.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Wakers without a key kept per place; a further one replaces the oldest after waking it, so
/// nobody is lost. They are for conditions that one task waits for.
const WAITERS_MAX: usize = 8;

/// Wakers taken at a time, to be fired outside of the lock.
const BATCH: usize = 8;

/// Wakers of the tasks that wait for one condition.
///
/// `wake` costs one load while nobody waits; the lock is taken only when somebody does.
#[derive(Debug, Default)]
pub struct SharedWaker {
    armed: AtomicBool,
    waiting: Mutex<Waiting>,
}

/// A future's own place among the waiters, for conditions that any number of tasks wait for.
///
/// Whoever registers with a key gives the place up by [`SharedWaker::forget`], so that the places
/// are bounded by the futures that live.
#[derive(Debug, Default)]
pub struct WaitKey(Option<u64>);

#[derive(Debug, Default)]
struct Waiting {
    /// Oldest first; the number of a key, or none.
    wakers: Vec<(Option<u64>, Waker)>,
    keys: u64,
}

impl SharedWaker {
    /// Remembers `waker` until the next [`wake`](Self::wake). The caller must check its condition
    /// once more after this, since a wake may have come just before.
    pub fn register(&self, waker: &Waker) {
        let mut oldest = None;
        self.arm(|waiting| {
            let mut unkeyed = waiting.wakers.iter().filter(|(key, _)| key.is_none());
            if unkeyed.any(|(_, known)| known.will_wake(waker)) {
                return;
            }
            let mut unkeyed = waiting.wakers.iter().filter(|(key, _)| key.is_none());
            if unkeyed.nth(WAITERS_MAX - 1).is_some() {
                let at = waiting.wakers.iter().position(|(key, _)| key.is_none());
                oldest = at.map(|at| waiting.wakers.remove(at));
            }
            waiting.wakers.push((None, waker.clone()));
        });
        if let Some((_, oldest)) = oldest {
            oldest.wake();
        }
    }

    /// As [`register`](Self::register), in the place that `key` names.
    pub fn register_keyed(&self, key: &mut WaitKey, waker: &Waker) {
        self.arm(|waiting| {
            let known = key.0.is_some();
            let place = waiting
                .wakers
                .iter_mut()
                .find(|(k, _)| known && *k == key.0);
            if let Some((_, place)) = place {
                place.clone_from(waker);
                return;
            }
            waiting.keys += 1;
            key.0 = Some(waiting.keys);
            waiting.wakers.push((key.0, waker.clone()));
        });
    }

    /// Gives up the place that `key` names, if it has one.
    pub fn forget(&self, key: &mut WaitKey) {
        let Some(key) = key.0.take() else { return };
        let waker = {
            let mut waiting = self.lock();
            let at = waiting.wakers.iter().position(|(k, _)| *k == Some(key));
            at.map(|at| waiting.wakers.remove(at))
        };
        drop(waker);
    }

    /// Wakes everyone who waits.
    pub fn wake(&self) {
        // SeqCst pairs with `arm`: either this sees the flag, or the registrant's second look sees
        // the condition.
        fence(Ordering::SeqCst);
        self.wake_after_change();
    }

    /// [`wake`](Self::wake) right after a sequentially consistent read-modify-write of what the
    /// waiters wait for, which orders the two as a fence would, without the cost of one.
    pub fn wake_after_change(&self) {
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        let mut left = None;
        loop {
            // Fired outside of the lock: a waker may be the last owner of something that wakes
            // here as it goes.
            let mut woken = [const { None }; BATCH];
            {
                let mut waiting = self.lock();
                if left.is_none() {
                    self.armed.store(false, Ordering::SeqCst);
                }
                // Those that come meanwhile wait for the next wake.
                let here = left.unwrap_or(usize::MAX).min(waiting.wakers.len());
                let taken = here.min(BATCH);
                let wakers = waiting.wakers.drain(..taken);
                for (place, (_, waker)) in woken.iter_mut().zip(wakers) {
                    *place = Some(waker);
                }
                left = Some(here - taken);
            }
            woken.into_iter().flatten().for_each(Waker::wake);
            if left == Some(0) {
                return;
            }
        }
    }

    fn arm(&self, register: impl FnOnce(&mut Waiting)) {
        {
            let mut waiting = self.lock();
            register(&mut waiting);
            self.armed.store(true, Ordering::SeqCst);
        }
        // Keeps the caller's second look behind the flag, also on machines that would not.
        fence(Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
