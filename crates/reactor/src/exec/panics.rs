//! Panics as values: a task's panic ends the task and nothing else.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A task panicked; holds what it panicked with.
pub struct Panicked {
    payload: Box<dyn Any + Send>,
}

impl Panicked {
    /// The text it panicked with, if it was text.
    #[must_use]
    pub fn message(&self) -> &str {
        if let Some(text) = self.payload.downcast_ref::<&'static str>() {
            text
        } else if let Some(text) = self.payload.downcast_ref::<String>() {
            text
        } else {
            "a payload that is no text"
        }
    }

    /// What it panicked with, for `std::panic::resume_unwind`.
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
    }
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panicked").field(&self.message()).finish()
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message())
    }
}

impl std::error::Error for Panicked {}

/// Runs `future` so that its panic becomes an error, for a task that must answer for it itself.
///
/// After a panic the future is dropped; a panic of that drop ends the task as usual.
///
/// # Errors
///
/// When `future` panicked.
pub async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| poll_caught(future.as_mut(), cx)).await
}

/// Polls once; a panic is ready with an error, and the future must not be polled again.
pub(super) fn poll_caught<F: Future>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, Panicked>> {
    // Unwind safe because a future that panicked is only dropped afterwards.
    match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(payload) => Poll::Ready(Err(Panicked { payload })),
    }
}

/// Calls `f`, which runs destructors; returns whether they panicked.
pub(super) fn panics(f: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        return false;
    };
    // A payload may panic in its own drop, whose payload may: one round is enough to be polite.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
    true
}
