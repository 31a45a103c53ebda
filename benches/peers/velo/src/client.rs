//! The client: an anchor per call, bound before the call leaves.

use std::task::{Context, Poll, ready};

use anyhow::Context as _;
use bytes::Bytes;
use ringmain_bench_harness::{Caller, Failure, Items};
use velo::streaming::FlushPolicy;
use velo::{PeerInfo, StreamAnchor, StreamFrame, Velo};

use crate::{call, node};

/// A node that knows the server, shared by its calls.
#[derive(Clone)]
pub(crate) struct Client {
    node: Velo,
    server: PeerInfo,
}

impl Client {
    pub(crate) async fn connect(server: PeerInfo) -> anyhow::Result<Self> {
        let node = node::start(FlushPolicy::default()).await?;
        node.register_peer(server.clone())?;
        node.wait_for_handler(server.instance_id(), call::CALL)
            .await?;
        Ok(Self { node, server })
    }
}

impl Caller for Client {
    type Items = Answer;

    async fn call(self, request: Bytes) -> Result<Answer, Failure> {
        let anchor = self.node.create_anchor::<Bytes>();
        let ticket = self.node.prebind_anchor(anchor.handle());
        let ticket = ticket.context("no ticket for a stream")?;
        let message = call::encode(&request, anchor.handle(), &ticket)?;
        // A send that fails shows at the anchor; its admission need not be waited for.
        drop(
            self.node
                .am_send(call::CALL)?
                .raw_payload(message)
                .instance(self.server.instance_id())
                .send(),
        );
        Ok(Answer(anchor))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect(self.server).await
    }
}

/// The items of one call; dropping it cancels.
pub(crate) struct Answer(StreamAnchor<Bytes>);

impl Items for Answer {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        let frame = ready!(self.0.poll_next_bytes(cx));
        Poll::Ready(match frame {
            Some(Ok(StreamFrame::Item(item))) => Some(Ok(take(&item))),
            Some(Ok(StreamFrame::Finalized)) | None => None,
            Some(Ok(other)) => Some(Err(anyhow::anyhow!("the stream ended as {other:?}"))),
            Some(Err(error)) => Some(Err(error.into())),
        })
    }
}
