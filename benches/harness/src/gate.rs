//! Many jobs that are to start at one instant.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::clock::now_ns;

/// Closed at first; opened once, from within the executor whose jobs wait.
#[derive(Debug, Default)]
pub struct Gate {
    opened_ns: AtomicU64,
    waiting: Mutex<Vec<Waker>>,
}

impl Gate {
    /// Opens it: every waiting job becomes ready at once.
    pub fn open(&self) {
        self.opened_ns.store(now_ns(), Ordering::Release);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for waker in waiting.drain(..) {
            waker.wake();
        }
    }

    /// Jobs that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.len()
    }

    /// Waits until it is open; the instant of the opening.
    pub async fn pass(&self) -> u64 {
        let mut queued = false;
        poll_fn(|cx| {
            let opened = self.opened_ns.load(Ordering::Acquire);
            if opened > 0 {
                return Poll::Ready(opened);
            }
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = self.opened_ns.load(Ordering::Acquire);
            if opened > 0 {
                return Poll::Ready(opened);
            }
            if !queued {
                queued = true;
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}
