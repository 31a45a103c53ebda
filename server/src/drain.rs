//! Leaving without losing a stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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
}

impl Drained {
    pub(crate) const fn new(admission: Arc<Admission>) -> Self {
        Self { admission }
    }
}

impl Future for Drained {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_quiet = || self.admission.in_flight() == 0;
        if is_quiet() {
            return Poll::Ready(());
        }
        self.admission.quiet().register(cx.waker());
        if is_quiet() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
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
