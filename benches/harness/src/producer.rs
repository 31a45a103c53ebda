//! The engine of every benchmarked server: items as the request asks for them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use crate::cancels;
use crate::clock::now_ns;
use crate::request::{Kind, Request};

/// Sleeping, by the timers of the system under test.
pub trait Timer: 'static {
    /// Ends at or after the asked instant.
    type Sleep: Future<Output = ()> + 'static;

    /// Sleeps until `at_ns` of [`now_ns`].
    fn sleep_until(&self, at_ns: u64) -> Self::Sleep;
}

/// Produces the items of one request. Dropping an endless one unfinished keeps the instant as
/// that of its cancel.
///
/// An item begins with two words, little-endian. Of a timed kind they are the instant at which
/// the producer (for a grid: the first producer of that step) woke, and the instant at which it
/// should have. Of an untimed kind they are its number from 0, and 0.
pub struct Producer<T: Timer> {
    request: Request,
    timer: T,
    sleep: Option<Pin<Box<T::Sleep>>>,
    item: Vec<u8>,
    produced: u32,
    due_ns: u64,
    yielded: bool,
}

impl<T: Timer> Producer<T> {
    /// A producer for an encoded request, or `None` if it is none.
    #[must_use]
    pub fn new(request: &[u8], timer: T) -> Option<Self> {
        let request = Request::decode(request)?;
        let now = now_ns();
        let due_ns = match request.kind {
            Kind::Paced | Kind::Endless => now + request.phase_ns,
            Kind::Grid | Kind::Step if request.interval_ns > 0 => {
                next_on_grid(now, request.interval_ns)
            }
            _ => 0,
        };
        Some(Self {
            item: vec![0; request.item_bytes as usize],
            request,
            timer,
            sleep: None,
            produced: 0,
            due_ns,
            yielded: false,
        })
    }

    /// What is being produced.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The item that was produced last, for a transport that had no room for it.
    #[must_use]
    pub fn item(&self) -> &[u8] {
        &self.item
    }

    /// The next item, or `None` after the last.
    pub fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<&[u8]>> {
        if self.produced == self.request.items && self.request.kind != Kind::Endless {
            return Poll::Ready(None);
        }
        let words = match self.request.kind {
            Kind::Ready => (u64::from(self.produced), 0),
            Kind::Yield => {
                self.yielded = !self.yielded;
                if !self.yielded {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                (u64::from(self.produced), 0)
            }
            Kind::CancelledAt => (cancels::seen_at(self.request.id).unwrap_or(0), 0),
            Kind::Allocations => (ringmain_bench_allocator::allocations(), 0),
            Kind::Grid | Kind::Step if self.request.interval_ns == 0 => {
                (u64::from(self.produced), 0)
            }
            Kind::Paced | Kind::Endless | Kind::Grid | Kind::Step => {
                let due = self.due_ns;
                let woke = match self.poll_due(cx) {
                    Poll::Ready(woke) => woke,
                    Poll::Pending => return Poll::Pending,
                };
                self.due_ns += self.request.interval_ns;
                (woke, due)
            }
        };
        self.produced += 1;
        write_words(&mut self.item, words);
        Poll::Ready(Some(&self.item))
    }

    /// As [`Producer::poll_item`], for handlers written as async functions.
    pub async fn next_item(&mut self) -> Option<Vec<u8>> {
        std::future::poll_fn(|cx| self.poll_item(cx).map(|item| item.map(<[u8]>::to_vec))).await
    }

    /// Waits for the due instant; the instant it woke at.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<u64> {
        let mut now = now_ns();
        while now < self.due_ns {
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(self.timer.sleep_until(self.due_ns)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            now = now_ns();
        }
        self.sleep = None;
        if matches!(self.request.kind, Kind::Grid | Kind::Step) {
            now = first_of_step(self.due_ns, self.request.interval_ns, now);
        }
        Poll::Ready(now)
    }
}

impl<T: Timer> Drop for Producer<T> {
    fn drop(&mut self) {
        if self.request.kind == Kind::Endless {
            cancels::record(self.request.id);
        }
    }
}

/// The first instant after `now` on the grid of `interval_ns`.
#[must_use]
pub fn next_on_grid(now: u64, interval_ns: u64) -> u64 {
    (now / interval_ns + 1) * interval_ns
}

/// Writes the two words that an item begins with.
pub fn write_words(item: &mut [u8], (first, second): (u64, u64)) {
    item[..8].copy_from_slice(&first.to_le_bytes());
    item[8..16].copy_from_slice(&second.to_le_bytes());
}

/// The two words of an item; zeros if it is too short to hold them.
#[must_use]
pub fn read_words(item: &[u8]) -> (u64, u64) {
    let word = |at: usize| {
        let bytes = item.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    (word(0), word(8))
}

/// Steps whose first instants are kept, so that streams that lag behind find theirs.
const STEPS_KEPT: usize = 4096;

/// The instant at which the first stream of the step that was due at `due_ns` woke.
fn first_of_step(due_ns: u64, interval_ns: u64, now: u64) -> u64 {
    static STEPS: [Mutex<(u64, u64)>; STEPS_KEPT] = [const { Mutex::new((0, 0)) }; STEPS_KEPT];
    let number = due_ns / interval_ns.max(1);
    // The remainder is below the number of steps kept.
    let place = usize::try_from(number % STEPS_KEPT as u64).unwrap_or(0);
    let mut step = STEPS[place].lock().unwrap_or_else(PoisonError::into_inner);
    if step.0 != due_ns {
        *step = (due_ns, now);
    }
    step.1
}

#[cfg(test)]
mod tests {
    use super::first_of_step;

    #[test]
    fn a_stream_that_lags_finds_the_first_instant_of_its_own_step() {
        assert_eq!(first_of_step(1_000, 1_000, 1_010), 1_010);
        assert_eq!(first_of_step(2_000, 1_000, 2_020), 2_020);
        assert_eq!(first_of_step(1_000, 1_000, 5_000), 1_010);
        assert_eq!(first_of_step(2_000, 1_000, 5_000), 2_020);
    }
}
