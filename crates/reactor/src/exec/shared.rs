//! What the executor, its spawners and its tasks' wakers share.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Waker;

use async_task::Runnable;
use slab::Slab;

use super::owner::OwnerCell;
use super::task::{Task, Tracked};
use crate::doorbell::Doorbell;
use crate::inbox::{Inbox, Linked};
use crate::sync::AtomicPtr;

/// The part of an executor that outlives it with its last waker.
///
/// Tasks leave the owner's thread only as links in `woken`, and come back from there: whatever
/// polls or drops a future runs on the owner's thread. A queued task holds its `Shared`, so the
/// queues of a `Shared` that is dropped, on whatever thread, are empty.
pub(super) struct Shared {
    pub(super) local: OwnerCell<Local>,
    /// Tasks woken by other threads.
    pub(super) woken: Inbox<Runnable<Link>>,
    pub(super) doorbell: Doorbell,
}

/// The owner's side.
pub(super) struct Local {
    /// Tasks ready to run; keeps its capacity.
    pub(super) ready: VecDeque<Runnable<Link>>,
    /// A waker of each task that has not ended, with which to get hold of it at the end.
    pub(super) live: Slab<Waker>,
    pub(super) tasks_max: usize,
    /// The executor is gone: nothing is spawned any more.
    pub(super) closed: bool,
    pub(super) panics: u64,
    pub(super) spawned: u64,
    pub(super) over_max: u64,
}

/// What the executor keeps inside each task.
pub(super) struct Link {
    shared: Arc<Shared>,
    next: AtomicPtr<()>,
    name: &'static str,
}

/// Why a future was not spawned.
pub(super) enum Refused<F> {
    Full(F),
    Closed(F),
}

impl Shared {
    pub(super) fn new(doorbell: Doorbell, tasks_max: usize, ready: usize) -> Arc<Self> {
        Arc::new(Self {
            local: OwnerCell::new(Local {
                ready: VecDeque::with_capacity(ready),
                live: Slab::with_capacity(ready),
                tasks_max,
                closed: false,
                panics: 0,
                spawned: 0,
                over_max: 0,
            }),
            woken: Inbox::new(),
            doorbell,
        })
    }

    /// Makes a task of `future` and queues it, within `tasks_max` unless `always`.
    pub(super) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        name: &'static str,
        always: bool,
    ) -> Result<Task<F::Output>, Refused<F>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let spawned = self.local.with(|local| {
            if local.closed {
                return Err(Refused::Closed(future));
            }
            if local.live.len() >= local.tasks_max {
                local.over_max += 1;
                if !always {
                    return Err(Refused::Full(future));
                }
            }
            local.spawned += 1;
            let entry = local.live.vacant_entry();
            let tracked = Tracked::new(future, self.clone(), entry.key());
            let link = Link {
                shared: self.clone(),
                next: AtomicPtr::new(ptr::null_mut()),
                name,
            };
            let builder = async_task::Builder::new().metadata(link);
            // SAFETY: the future and its output are 'static. The future need not be `Send`
            // because its runnable is used and dropped on this thread only (see `Shared`) and the
            // task handle is not `Send`. `schedule` captures nothing, so that its wakers may go
            // to any thread.
            let (runnable, task) = unsafe { builder.spawn_unchecked(|_| tracked, schedule) };
            entry.insert(runnable.waker());
            Ok((runnable, Task::new(task.fallible())))
        });
        let Some(spawned) = spawned else {
            unreachable!("a spawner does not leave the executor's thread");
        };
        let (runnable, task) = spawned?;
        runnable.schedule();
        Ok(task)
    }

    /// Takes the next ready task.
    #[inline]
    pub(super) fn pop(&self) -> Option<Runnable<Link>> {
        self.local.with(|local| local.ready.pop_front()).flatten()
    }

    /// Moves what other threads woke to the ready tasks; returns how many are ready.
    #[inline]
    pub(super) fn collect(&self) -> usize {
        self.local
            .with(|local| {
                self.woken.drain_into(&mut local.ready);
                local.ready.len()
            })
            .unwrap_or(0)
    }

    pub(super) fn count_panic(&self, panicked: bool) {
        if panicked {
            self.local.with(|local| local.panics += 1);
        }
    }

    /// A task's future is gone.
    pub(super) fn forget_task(&self, key: usize) {
        let waker = self.local.with(|local| local.live.try_remove(key));
        // Outside of the borrow, as any drop of a task's reference must be.
        drop(waker);
    }

    /// Cancels all tasks and drops their futures; the owner's thread only.
    pub(super) fn close(&self) {
        let wakers = self.local.with(|local| {
            local.closed = true;
            local
                .live
                .iter()
                .map(|(_, waker)| waker.clone())
                .collect::<Vec<_>>()
        });
        for waker in wakers.unwrap_or_default() {
            waker.wake();
        }
        // Each live task is now in a queue, or a foreign thread that woke it is about to put it
        // into one: there is nothing to do but wait for that push of a few instructions.
        while self.local.with(|local| !local.live.is_empty()) == Some(true) {
            self.collect();
            let mut idle = true;
            while let Some(runnable) = self.pop() {
                drop(runnable);
                idle = false;
            }
            if idle {
                std::thread::yield_now();
            }
        }
        // Tasks that had ended and were cancelled late hold no future, but go here as well.
        self.collect();
        while let Some(runnable) = self.pop() {
            drop(runnable);
        }
    }
}

impl Link {
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }
}

/// Queues a woken task; async-task calls it on the thread that wakes.
fn schedule(runnable: Runnable<Link>) {
    let shared: *const Shared = Arc::as_ptr(&runnable.metadata().shared);
    // SAFETY: `runnable` holds the `Arc` behind the pointer until it is moved below.
    let here = unsafe { (*shared).local.is_here() };
    if here {
        // SAFETY: on the owner's thread nothing runs between the move of `runnable` into the
        // queue and the end of the call, so that it keeps the `Arc` alive from there.
        let local = unsafe { &(*shared).local };
        local.with(|local| local.ready.push_back(runnable));
    } else {
        // Once it is pushed the owner may run and free it; the bell must not go with it.
        let shared = runnable.metadata().shared.clone();
        shared.woken.push(runnable);
        shared.doorbell.ring();
    }
}

// SAFETY: async-task documents the raw round trip to give the same task. `next` is in the task's
// metadata, which does not move and lives as long as the task, and nothing else uses it.
unsafe impl Linked for Runnable<Link> {
    fn into_raw(self) -> NonNull<()> {
        Self::into_raw(self)
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: passed on to the caller: `raw` is of `into_raw` above, whose metadata is `Link`.
        unsafe { Self::from_raw(raw) }
    }

    fn next(&self) -> &AtomicPtr<()> {
        &self.metadata().next
    }
}
