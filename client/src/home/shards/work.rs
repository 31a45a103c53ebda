//! A call on its way to a shard and on it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use ringmain_codec::InstanceId;
use ringmain_shard::{ShardCtx, ShardWork};

use super::host::{Delivery, LocalHost};
use super::part::ShardPart;
use super::role::Reader;
use super::shared::{DROPPED, SharedStream};
use super::stream::ShardStream;
use crate::call::Request;
use crate::calls::register;
use crate::driver::{Driver, Opened};
use crate::error::CallError;

/// The item of the shard's mailbox.
pub(super) struct CallWork {
    request: Arc<Request>,
    answer: Answer,
}

impl CallWork {
    pub(super) const fn new(request: Arc<Request>, shared: Arc<SharedStream>) -> Self {
        Self {
            request,
            answer: Answer(shared),
        }
    }
}

impl ShardWork for CallWork {
    fn run(self: Box<Self>, ctx: &ShardCtx) {
        let home = self.answer.0.home();
        let part = ShardPart::of(ctx, home);
        ctx.spawn(make_call(ctx.clone(), part, *self)).detach();
    }
}

/// Makes the call and, once it is taken, ties the stream to its consumer.
async fn make_call(ctx: ShardCtx, part: Rc<ShardPart>, work: CallWork) {
    let CallWork {
        request,
        answer: Answer(shared),
    } = &work;
    let host = LocalHost {
        ctx: ctx.clone(),
        part,
        delivery: Delivery::Messages,
    };
    let mut driver = Driver::new(host, Arc::clone(request));
    let mut sleep = pin!(request.deadline.map(|deadline| ctx.sleep_until(deadline)));
    shared.task().register(&waker().await);
    let outcome = poll_fn(|cx| {
        if shared.is_dropped() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(outcome) = driver.poll(cx) {
            return Poll::Ready(Some(outcome));
        }
        match sleep.as_mut().as_pin_mut().map(|sleep| sleep.poll(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(Some(Err(driver.deadline_error()))),
            _ => Poll::Pending,
        }
    });
    match outcome.await {
        // Whoever asked is gone; dropping the driver undoes what it did.
        None => {}
        Some(Err(error)) => shared.settle(Err(error)),
        Some(Ok(opened)) => attach(&ctx, shared, opened),
    }
}

/// The task's own waker.
async fn waker() -> std::task::Waker {
    poll_fn(|cx| Poll::Ready(cx.waker().clone())).await
}

fn attach(ctx: &ShardCtx, shared: &Arc<SharedStream>, opened: Opened<super::LocalLink>) {
    let Opened {
        link,
        stream,
        instance,
    } = opened;
    let message_bytes_max = ctx.with_link(link.key, |link, _| {
        link.connection()
            .peer()
            .map(|peer| peer.limits.message_bytes_max)
    });
    {
        let mut inner = shared.lock();
        inner.place = Some((link.key, stream));
        if let Some(max) = message_bytes_max.flatten() {
            inner.message_bytes_max = max;
        }
    }
    let ended = {
        let mut calls = link.calls().borrow_mut();
        if let Some(place) = calls.attachment_mut(stream) {
            *place = Reader::There(Arc::clone(shared));
        }
        let ended = shared.deliver(&mut calls, stream);
        if ended {
            calls.forget(stream);
        }
        ended
    };
    shared.settle(Ok(instance));
    if !ended && shared.is_dropped() {
        link.release(ctx, stream);
    }
}

/// However the work ends, also when the shard never runs it, the caller hears something.
struct Answer(Arc<SharedStream>);

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.settle(Err(CallError::Closed));
    }
}

/// Ends a client's part of a shard.
pub(super) struct CloseWork {
    pub(super) client: u64,
}

impl ShardWork for CloseWork {
    fn run(self: Box<Self>, ctx: &ShardCtx) {
        ShardPart::close(ctx, self.client);
    }
}

/// The caller's wait for the outcome. Dropping it drops the call.
pub(super) struct WaitForCall {
    shared: Option<Arc<SharedStream>>,
}

impl WaitForCall {
    pub(super) const fn new(shared: Arc<SharedStream>) -> Self {
        Self {
            shared: Some(shared),
        }
    }
}

impl Future for WaitForCall {
    type Output = Result<ShardStream, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(shared) = &self.shared else {
            return Poll::Ready(Err(CallError::Closed));
        };
        let outcome: Result<InstanceId, CallError> = {
            let mut inner = shared.lock();
            let Some(outcome) = inner.outcome.take() else {
                register(&mut inner.waker, cx);
                return Poll::Pending;
            };
            outcome
        };
        let Some(shared) = self.shared.take() else {
            return Poll::Ready(Err(CallError::Closed));
        };
        Poll::Ready(outcome.map(|instance| ShardStream::new(shared, instance)))
    }
}

impl Drop for WaitForCall {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.signal(DROPPED);
        }
    }
}
