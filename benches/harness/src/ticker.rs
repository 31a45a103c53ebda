//! Timers of the load generator: one thread, the same for every system.
//!
//! A system's own timers differ (tokio's have a grain of 1 ms), and an open loop that is late
//! by a system's timer would charge that system for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::now_ns;

#[derive(Default)]
struct State {
    next: u64,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    wakers: std::collections::HashMap<u64, Waker>,
}

/// The timer thread, shared by all jobs of a client.
#[derive(Clone, Default)]
pub struct Ticker {
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Ticker {
    /// Starts the thread; it lives as long as the process.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start() -> std::io::Result<Self> {
        let ticker = Self::default();
        let own = ticker.clone();
        std::thread::Builder::new()
            .name("ticker".to_owned())
            .spawn(move || own.run())?;
        Ok(ticker)
    }

    /// Sleeps until `at_ns`; wakes about 60 microseconds late on an idle core.
    pub async fn sleep_until(&self, at_ns: u64) {
        let mut registered = None;
        poll_fn(|cx| {
            if now_ns() >= at_ns {
                return Poll::Ready(());
            }
            let mut state = self.lock();
            let key = *registered.get_or_insert_with(|| {
                let key = state.next;
                state.next += 1;
                state.due.push(Reverse((at_ns, key)));
                self.shared.1.notify_one();
                key
            });
            state.wakers.insert(key, cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(self) {
        let mut state = self.lock();
        let mut due = Vec::new();
        loop {
            let now = now_ns();
            while let Some(&Reverse((at, key))) = state.due.peek() {
                if at > now {
                    break;
                }
                state.due.pop();
                due.extend(state.wakers.remove(&key));
            }
            if !due.is_empty() {
                drop(state);
                due.drain(..).for_each(Waker::wake);
                state = self.lock();
                continue;
            }
            let wait = state.due.peek().map_or(u64::MAX / 2, |next| next.0.0 - now);
            let wait = Duration::from_nanos(wait.min(1_000_000_000));
            let waited = self.shared.1.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
