//! Leaving without losing a stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ringmain_shard::WaitKey;

use crate::admission::Admission;

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOutcome {
    /// Every request had ended.
    Clean,
    /// The deadline came first.
    Forced {
        /// Requests that were still running or waiting.
        requests: usize,
    },
}

/// Completes when no request is running or waiting; made by
/// [`Server::drained`](crate::Server::drained). Cancel-safe, any thread, any executor.
#[must_use = "futures do nothing unless awaited"]
pub struct Drained {
    admission: Arc<Admission>,
    key: WaitKey,
}

impl Drained {
    pub(crate) fn new(admission: Arc<Admission>) -> Self {
        Self {
            admission,
            key: WaitKey::default(),
        }
    }
}

impl Future for Drained {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { admission, key } = self.get_mut();
        let is_quiet = || admission.in_flight() == 0;
        if is_quiet() {
            return Poll::Ready(());
        }
        admission.quiet().register_keyed(key, cx.waker());
        if is_quiet() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        self.admission.quiet().forget(&mut self.key);
    }
}

impl std::fmt::Debug for Drained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let in_flight = self.admission.in_flight();
        f.debug_struct("Drained")
            .field("in_flight", &in_flight)
            .finish_non_exhaustive()
    }
}
