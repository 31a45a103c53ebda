//! How a call's driver reaches pool and links of its shard.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use ringmain_codec::{OpenError, Status};
use ringmain_shard::{Link, LinkKey, ShardCtx};

use super::part::ShardPart;
use super::role::{ClientLink, LinkCalls, Reader};
use crate::call::Request;
use crate::calls::{Forward, Sink, StreamKey, Terminal};
use crate::driver::Host;
use crate::pool::Pool;
use crate::source::Watches;

/// A link of this shard and its streams.
#[derive(Clone, Debug)]
pub(crate) struct LocalLink {
    pub(super) key: LinkKey,
    calls: Rc<RefCell<LinkCalls>>,
}

impl LocalLink {
    pub(super) const fn new(key: LinkKey, calls: Rc<RefCell<LinkCalls>>) -> Self {
        Self { key, calls }
    }

    /// The streams alone: what has arrived can be read when the link is gone.
    pub(crate) fn calls(&self) -> &RefCell<LinkCalls> {
        &self.calls
    }

    /// Runs `f` on the link if it is still there, and settles what it did.
    pub(crate) fn with<R>(
        &self,
        ctx: &ShardCtx,
        f: impl FnOnce(&mut LinkCalls, &mut Link) -> R,
    ) -> Option<R> {
        ctx.with_link(self.key, |link, role| {
            let result = f(&mut self.calls.borrow_mut(), link);
            if let Some(role) = role.as_any().downcast_mut::<ClientLink>() {
                role.settle(ctx, self.key, link);
            }
            result
        })
    }

    /// Kills the stream if it is open, and forgets it.
    pub(crate) fn release(&self, ctx: &ShardCtx, stream: StreamKey) {
        let released = self.with(ctx, |calls, link| calls.release(stream, link));
        if released.is_none() {
            self.calls.borrow_mut().forget(stream);
        }
    }

    /// No new streams; the link closes when the last one has ended.
    pub(super) fn close_when_unused(&self, ctx: &ShardCtx, message: &str) {
        ctx.with_link(self.key, |link, role| {
            link.goaway(Status::Ok, message);
            if let Some(role) = role.as_any().downcast_mut::<ClientLink>() {
                role.set_closing();
                role.settle(ctx, self.key, link);
            }
        });
    }
}

impl PartialEq for LocalLink {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// How a response comes.
#[derive(Clone)]
pub(crate) enum Delivery {
    /// In whole messages.
    Messages,
    /// In pieces as they arrive.
    Pieces,
    /// In pieces that are offered at once.
    Forward(Rc<dyn Forward>),
}

/// A shard's side of calls: for tasks on it.
pub(crate) struct LocalHost {
    pub(crate) ctx: ShardCtx,
    pub(crate) part: Rc<ShardPart>,
    pub(crate) delivery: Delivery,
}

impl Host for LocalHost {
    type Link = LocalLink;

    fn now(&self) -> Instant {
        self.ctx.now()
    }

    fn watches(&self) -> &Watches {
        &self.part.home().watches
    }

    fn with_pool<R>(&self, f: impl FnOnce(&mut Pool<LocalLink>) -> R) -> R {
        self.part.with_pool(&self.ctx, f)
    }

    fn open(&self, link: &LocalLink, request: &Request) -> Result<StreamKey, OpenError> {
        let now = self.ctx.now();
        let opened = link.with(&self.ctx, |calls, link| {
            let (sink, reader) = match &self.delivery {
                Delivery::Messages => (calls.messages(), Reader::Here),
                Delivery::Pieces => (Sink::pieces(), Reader::Here),
                Delivery::Forward(forward) => (Sink::pieces(), Reader::Forward(Rc::clone(forward))),
            };
            calls.open_request(now, link, request, sink, reader)
        });
        let stream = opened.unwrap_or(Err(OpenError::Closed))?;
        let mut calls = link.calls.borrow_mut();
        if let Some(deadline) = request.deadline
            && let Some(handle) = calls.handle(stream)
        {
            calls.set_timer(
                stream,
                self.ctx.set_stream_timer(link.key, handle, deadline),
            );
        }
        Ok(stream)
    }

    fn poll_accepted(
        &self,
        link: &LocalLink,
        stream: StreamKey,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Terminal>> {
        link.calls.borrow_mut().poll_accepted(stream, cx)
    }

    fn release(&self, link: &LocalLink, stream: StreamKey) {
        link.release(&self.ctx, stream);
    }
}
