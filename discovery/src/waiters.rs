//! Who wants to be woken when a snapshot is replaced.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use slab::Slab;

/// Registered wakers of any executor. Only those who wait take its lock, never those who read.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    wakers: Mutex<Slab<Waker>>,
}

/// Names one registered waker.
#[derive(Debug)]
pub(crate) struct WaiterKey(usize);

impl Waiters {
    /// Registers a waker, or renews the one under the key.
    pub(crate) fn register(&self, key: &mut Option<WaiterKey>, waker: &Waker) {
        let mut wakers = self.lock();
        match key {
            Some(WaiterKey(place)) => wakers[*place].clone_from(waker),
            None => *key = Some(WaiterKey(wakers.insert(waker.clone()))),
        }
    }

    /// Forgets a waker.
    pub(crate) fn remove(&self, key: WaiterKey) {
        self.lock().remove(key.0);
    }

    /// Wakes everybody; they stay registered until they remove themselves.
    pub(crate) fn wake_all(&self) {
        // Woken outside the lock: a waker may run foreign code.
        let wakers: Vec<_> = self.lock().iter().map(|(_, waker)| waker.clone()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Slab<Waker>> {
        // Nothing panics under the lock with the slab half changed.
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}
