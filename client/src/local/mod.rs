//! Calls made on a shard, by tasks of that shard.

mod forward;
mod sink;
mod stream;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use ringmain_codec::EndpointId;
use ringmain_shard::ShardCtx;

pub use self::forward::{ForwardCall, ForwardEnd, Waiting};
pub use self::sink::LocalRequestSink;
pub use self::stream::{LocalStream, PieceStream};
use crate::call::{Call, Request};
use crate::calls::Forward;
use crate::driver::{Driver, Opened};
use crate::error::CallError;
use crate::home::shards::{Delivery, LocalHost, LocalLink, ShardPart, ShardsHome};
use crate::pick::Policy;

/// A client for the tasks of one shard: no hand-off, no lock, no copy for borrowed payloads.
///
/// Made by [`Client::local`](crate::Client::local); shares the links that the client has on this
/// shard. Cheap to clone.
#[derive(Clone)]
pub struct LocalClient {
    ctx: ShardCtx,
    part: Rc<ShardPart>,
    /// Keeps the client's links open.
    home: Arc<ShardsHome>,
    policy: Policy,
}

impl LocalClient {
    pub(crate) fn new(ctx: &ShardCtx, home: Arc<ShardsHome>, policy: Policy) -> Self {
        let part = ShardPart::of(ctx, home.shared());
        Self {
            ctx: ctx.clone(),
            part,
            home,
            policy,
        }
    }

    /// Calls an endpoint; completes when the responder takes the request. Dropping the future
    /// drops the call.
    ///
    /// # Errors
    ///
    /// Nobody took the request; the error says why and whether a handler may have started.
    pub async fn call(&self, endpoint: &EndpointId, call: Call) -> Result<LocalStream, CallError> {
        let request = Arc::new(call.prepare(endpoint, self.ctx.now(), false, self.policy)?);
        let opened = self.open(Arc::clone(&request), Delivery::Messages).await?;
        Ok(LocalStream::new(
            self.ctx.clone(),
            opened,
            request.request_id,
        ))
    }

    /// As [`call`](Self::call), for a request of several messages. The call's data, unless empty,
    /// is the first; the sink sends the others.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_streaming(
        &self,
        endpoint: &EndpointId,
        call: Call,
    ) -> Result<(LocalRequestSink, LocalStream), CallError> {
        let request = Arc::new(call.prepare(endpoint, self.ctx.now(), true, self.policy)?);
        let opened = self.open(Arc::clone(&request), Delivery::Messages).await?;
        let max = self.home.shared().config.queue_bytes_max;
        let sink = LocalRequestSink::new(&self.ctx, &opened.link, opened.stream, max);
        let stream = LocalStream::new(self.ctx.clone(), opened, request.request_id);
        Ok((sink, stream))
    }

    /// Makes a call whose response is offered to `to` piece by piece, while the bytes are still
    /// in the receive buffer: for passing it on with one copy. With `streaming`, the request has
    /// further messages. Nothing happens before the call is polled.
    ///
    /// # Errors
    ///
    /// The call is not valid.
    pub fn forward(
        &self,
        endpoint: &EndpointId,
        call: Call,
        streaming: bool,
        to: Rc<dyn Forward>,
    ) -> Result<ForwardCall, CallError> {
        let request = call.prepare(endpoint, self.ctx.now(), streaming, self.policy)?;
        let host = self.host(Delivery::Forward(to));
        let queue_bytes_max = self.home.shared().config.queue_bytes_max;
        Ok(ForwardCall::new(host, Arc::new(request), queue_bytes_max))
    }

    /// As [`call`](Self::call), with the response in pieces as they arrive: for passing them on.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn call_pieces(
        &self,
        endpoint: &EndpointId,
        call: Call,
    ) -> Result<PieceStream, CallError> {
        let request = Arc::new(call.prepare(endpoint, self.ctx.now(), false, self.policy)?);
        let opened = self.open(Arc::clone(&request), Delivery::Pieces).await?;
        Ok(PieceStream::new(
            self.ctx.clone(),
            opened,
            request.request_id,
        ))
    }

    /// The shard this client is for.
    pub const fn ctx(&self) -> &ShardCtx {
        &self.ctx
    }

    fn host(&self, delivery: Delivery) -> LocalHost {
        LocalHost {
            ctx: self.ctx.clone(),
            part: Rc::clone(&self.part),
            delivery,
        }
    }

    async fn open(
        &self,
        request: Arc<Request>,
        delivery: Delivery,
    ) -> Result<Opened<LocalLink>, CallError> {
        let deadline = request.deadline;
        let mut driver = Driver::new(self.host(delivery), request);
        let mut sleep = pin!(deadline.map(|deadline| self.ctx.sleep_until(deadline)));
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = driver.poll(cx) {
                return Poll::Ready(outcome);
            }
            match sleep.as_mut().as_pin_mut().map(|sleep| sleep.poll(cx)) {
                Some(Poll::Ready(())) => Poll::Ready(Err(driver.deadline_error())),
                _ => Poll::Pending,
            }
        })
        .await
    }
}

impl std::fmt::Debug for LocalClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalClient")
            .field("shard", &self.ctx.index())
            .field("client", &self.home.shared().client)
            .finish_non_exhaustive()
    }
}
