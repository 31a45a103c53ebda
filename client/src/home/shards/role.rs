//! A client's side of one link on a shard.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ringmain_codec::{ConnectionError, Status, StreamHandle};
use ringmain_reactor::Address;
use ringmain_shard::{Link, LinkDown, LinkKey, LinkRole, ShardCtx};
use ringmain_telemetry::{Counter, Gauge};

use super::host::LocalLink;
use super::part::ShardPart;
use super::shared::SharedStream;
use crate::calls::{Attachment, CallCounts, Calls, Forward};
use crate::home::{dial_failure, down_status, publish};
use crate::pool::{Dial, PeerKey};

/// The streams of one link.
pub(crate) type LinkCalls = Calls<Reader>;

/// Who reads a stream.
pub(crate) enum Reader {
    /// A task of this shard.
    Here,
    /// Somebody on another thread.
    There(Arc<SharedStream>),
    /// Whoever takes its pieces as they arrive.
    Forward(Rc<dyn Forward>),
}

impl Attachment for Reader {
    fn forward(&self) -> Option<&dyn Forward> {
        match self {
            Self::Forward(forward) => Some(&**forward),
            Self::Here | Self::There(_) => None,
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here => "Here",
            Self::There(_) => "There",
            Self::Forward(_) => "Forward",
        })
    }
}

/// A dial and the addresses that are left to try, the next one last.
pub(super) struct Dialing {
    pub(super) dial: Dial,
    pub(super) addresses: Vec<Address>,
}

/// Drives the calls of one link.
pub(crate) struct ClientLink {
    part: Rc<ShardPart>,
    peer: PeerKey,
    /// Until the handshake is done.
    dialing: Option<Dialing>,
    /// Shared with the consumers on this shard, who may read what is left when the link is gone.
    calls: Rc<RefCell<LinkCalls>>,
    /// No new streams; close once the open ones have ended.
    closing: bool,
    closed: bool,
}

impl ClientLink {
    pub(super) fn new(
        part: Rc<ShardPart>,
        dialing: Dialing,
        calls: Rc<RefCell<LinkCalls>>,
    ) -> Self {
        let peer = dialing.dial.key.peer;
        Self {
            part,
            peer,
            dialing: Some(dialing),
            calls,
            closing: false,
            closed: false,
        }
    }

    pub(super) fn calls(&self) -> &RefCell<LinkCalls> {
        &self.calls
    }

    pub(super) fn set_closing(&mut self) {
        self.closing = true;
    }

    /// After anything happened to the streams: tells consumers, pool, timers and counters.
    pub(super) fn settle(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link) {
        // Counted before it is told: whoever sees an end finds it counted.
        let counts = self.calls.borrow_mut().take_counts();
        if counts != CallCounts::default() {
            publish(counts, |counter, n| ctx.count(counter, n));
            ctx.cells().gauge_add(Gauge::StreamsOpen, counts.started);
            ctx.cells().gauge_sub(Gauge::StreamsOpen, counts.ended());
        }
        self.hand_over();
        let mut calls = self.calls.borrow_mut();
        while let Some(timer) = calls.next_spent_timer() {
            ctx.cancel_timer(timer);
        }
        let news = calls.take_news();
        drop(calls);
        if news.ready {
            self.ready(ctx, key, link);
        }
        if let Some(status) = news.goaway {
            self.closing = true;
            let (peer, name) = (self.peer, self.name(key));
            let at_fault = status == Status::Draining;
            self.part.with_pool(ctx, |pool| {
                pool.link_ended(peer, &name, at_fault, ctx.now())
            });
        }
        if self.closing && !self.closed && self.calls.borrow().streams_open() == 0 {
            self.closed = true;
            ctx.close(key);
        }
    }

    /// Moves messages and ends to the consumers, one lock per stream; wakes tasks of this shard.
    fn hand_over(&self) {
        let mut calls = self.calls.borrow_mut();
        while let Some(key) = calls.next_touched() {
            if let Some(waker) = calls.take_waker(key) {
                waker.wake();
            }
            let Some(Reader::There(shared)) = calls.attachment_mut(key) else {
                continue;
            };
            let shared = Arc::clone(shared);
            if shared.deliver(&mut calls, key) {
                calls.forget(key);
            }
        }
    }

    fn ready(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link) {
        let Some(dialing) = self.dialing.take() else {
            return;
        };
        ctx.count(Counter::LinksOpened, 1);
        let name = self.name(key);
        if !self
            .part
            .with_pool(ctx, |pool| pool.dialed(dialing.dial.key, name))
        {
            link.goaway(Status::Ok, "not wanted any more");
            self.closing = true;
        }
    }

    fn name(&self, key: LinkKey) -> LocalLink {
        LocalLink::new(key, Rc::clone(&self.calls))
    }
}

impl LinkRole for ClientLink {
    fn on_bytes(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        chunk: &[u8],
    ) -> Result<(), ConnectionError> {
        let result = self.calls.borrow_mut().on_bytes(ctx.now(), link, chunk);
        self.settle(ctx, key, link);
        result
    }

    fn on_stream_timer(
        &mut self,
        ctx: &ShardCtx,
        key: LinkKey,
        link: &mut Link,
        stream: StreamHandle,
    ) {
        self.calls.borrow_mut().expire_handle(stream, link);
        self.settle(ctx, key, link);
    }

    fn on_down(&mut self, ctx: &ShardCtx, key: LinkKey, link: &mut Link, down: &LinkDown) {
        self.closed = true;
        if let Some(dialing) = self.dialing.take() {
            if let Some(dialing) = self.part.dial_next(ctx, dialing) {
                self.part.dial_failed(ctx, &dialing, &dial_failure(down));
            }
            return;
        }
        let (status, message) = down_status(down);
        self.calls.borrow_mut().fail_all(link, status, &message);
        self.settle(ctx, key, link);
        let at_fault = *down != LinkDown::Local;
        let (peer, name) = (self.peer, self.name(key));
        self.part.with_pool(ctx, |pool| {
            pool.link_ended(peer, &name, at_fault, ctx.now())
        });
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A shard that ends without saying goodbye still ends its streams.
impl Drop for ClientLink {
    fn drop(&mut self) {
        let Ok(mut calls) = self.calls.try_borrow_mut() else {
            return;
        };
        calls.lost(Status::ConnectionLost, "the shard has stopped");
        drop(calls);
        self.hand_over();
    }
}
