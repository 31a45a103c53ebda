//! A spawned task: the handle that its spawner holds and the future that the executor polls.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::panics::{Panicked, panics, poll_caught};
use super::shared::{Link, Shared};

/// The spawner's handle to a task: await it for the output, drop it to cancel.
///
/// A cancelled task is not polled again; its future is dropped by the executor's next run, on its
/// own thread. The output is `Err` if the task panicked or will never end.
#[must_use = "dropping a task cancels it; detach it to let it run"]
pub struct Task<T> {
    /// `None` if it was spawned on an executor that was gone.
    inner: Option<async_task::FallibleTask<Result<T, Panicked>, Link>>,
    /// Futures and outputs need not be `Send`, so the handle must stay on the thread.
    _not_send: PhantomData<*mut ()>,
}

/// Why a task has no output.
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// The executor was dropped before the task ended.
    Cancelled,
    /// The task panicked.
    Panicked(Panicked),
}

impl<T> Task<T> {
    pub(super) const fn new(inner: async_task::FallibleTask<Result<T, Panicked>, Link>) -> Self {
        Self {
            inner: Some(inner),
            _not_send: PhantomData,
        }
    }

    /// A task that never was.
    pub(super) const fn cancelled() -> Self {
        Self {
            inner: None,
            _not_send: PhantomData,
        }
    }

    /// Lets the task run to its end without a handle; its output is dropped there.
    pub fn detach(self) {
        if let Some(task) = self.inner {
            task.detach();
        }
    }

    /// Cancels the task and waits until its future is dropped; the output if it had ended already.
    pub async fn cancel(self) -> Option<Result<T, Panicked>> {
        self.inner?.cancel().await
    }

    /// Whether the task has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.as_ref().is_none_or(|task| task.is_finished())
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(task) = &mut self.inner else {
            return Poll::Ready(Err(TaskError::Cancelled));
        };
        Pin::new(task).poll(cx).map(|ended| match ended {
            Some(Ok(output)) => Ok(output),
            Some(Err(panicked)) => Err(TaskError::Panicked(panicked)),
            None => Err(TaskError::Cancelled),
        })
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the executor of the task is gone"),
            Self::Panicked(_) => f.write_str("the task panicked"),
        }
    }
}

impl std::error::Error for TaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cancelled => None,
            Self::Panicked(panicked) => Some(panicked),
        }
    }
}

/// What the executor polls: the user's future, its panics caught, its end noted.
pub(super) struct Tracked<F> {
    /// Pinned; `None` once it has ended.
    future: Option<F>,
    shared: Arc<Shared>,
    /// The task's place among the live ones.
    key: usize,
}

impl<F: Future> Tracked<F> {
    pub(super) const fn new(future: F, shared: Arc<Shared>, key: usize) -> Self {
        Self {
            future: Some(future),
            shared,
            key,
        }
    }
}

impl<F> Tracked<F> {
    fn future(self: Pin<&mut Self>) -> Pin<&mut Option<F>> {
        // SAFETY: `future` is pinned whenever the whole is: nothing moves it out, `Pin::set` drops
        // it in place, and `drop` below treats it as pinned.
        unsafe { self.map_unchecked_mut(|tracked| &mut tracked.future) }
    }

    fn drop_future(self: Pin<&mut Self>) -> bool {
        let mut future = self.future();
        future.is_some() && panics(|| future.set(None))
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.as_mut().future().as_pin_mut() else {
            unreachable!("an ended task is not polled");
        };
        let polled = poll_caught(future, cx);
        if let Poll::Ready(output) = &polled {
            let panicked = output.is_err();
            let panicked_again = self.as_mut().drop_future();
            self.shared.count_panic(panicked);
            self.shared.count_panic(panicked_again);
        }
        polled
    }
}

impl<F> Drop for Tracked<F> {
    fn drop(&mut self) {
        // SAFETY: this is the drop of a value that was pinned, and nothing moves it any more.
        let mut tracked = unsafe { Pin::new_unchecked(self) };
        let panicked = tracked.as_mut().drop_future();
        let shared = &tracked.shared;
        shared.count_panic(panicked);
        shared.forget_task(tracked.key);
    }
}
