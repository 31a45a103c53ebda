//! Waiting for a point in time inside a shard task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ringmain_reactor::timer::TimerKey;
use slab::Slab;

use crate::ctx::{ShardCtx, TimerTarget};

/// Wakers of sleeping tasks, by the index that their timer carries.
#[derive(Debug, Default)]
pub(crate) struct Sleepers(Slab<Option<Waker>>);

impl Sleepers {
    /// The waker of a sleep that is over, to be fired once nothing is borrowed.
    pub(crate) fn take(&mut self, index: u32) -> Option<Waker> {
        self.0.get_mut(index as usize).and_then(Option::take)
    }
}

/// Completes at its deadline; made by [`ShardCtx::sleep_until`]. Dropping it cancels the timer.
pub struct Sleep {
    ctx: ShardCtx,
    deadline: Instant,
    armed: Option<(usize, TimerKey)>,
}

impl Sleep {
    pub(crate) const fn new(ctx: ShardCtx, deadline: Instant) -> Self {
        Self {
            ctx,
            deadline,
            armed: None,
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.ctx.now() >= self.deadline {
            return Poll::Ready(());
        }
        let waker = Some(cx.waker().clone());
        if let Some((index, _)) = self.armed {
            let before = std::mem::replace(&mut self.ctx.sleepers().borrow_mut().0[index], waker);
            drop(before);
        } else {
            let index = self.ctx.sleepers().borrow_mut().0.insert(waker);
            let target = TimerTarget::Sleeper(u32::try_from(index).unwrap_or(u32::MAX));
            let key = self.ctx.timers().borrow_mut().insert(self.deadline, target);
            self.armed = Some((index, key));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((index, key)) = self.armed.take() {
            self.ctx.timers().borrow_mut().cancel(key);
            let waker = self.ctx.sleepers().borrow_mut().0.remove(index);
            drop(waker);
        }
    }
}

impl std::fmt::Debug for Sleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
