//! The client: an inbox per request, an empty message in it is the end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_nats::Subscriber;
use bytes::Bytes;
use ringmain_bench_harness::{Caller, Failure, Items};
use tokio::runtime::Handle;
use tokio_stream::Stream as _;

use crate::{CALL, CANCEL};

/// A connection to the broker, shared by its calls.
#[derive(Clone)]
pub(crate) struct Client {
    client: async_nats::Client,
    address: Arc<str>,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        Ok(Self {
            client: async_nats::connect(address).await?,
            address: address.into(),
        })
    }
}

impl Caller for Client {
    type Items = Answer;

    async fn call(self, request: Bytes) -> Result<Answer, Failure> {
        let inbox = self.client.new_inbox();
        let items = self.client.subscribe(inbox.clone()).await?;
        let published = self.client.publish_with_reply(CALL, inbox.clone(), request);
        published.await?;
        Ok(Answer {
            client: self.client,
            inbox,
            items,
            ended: false,
        })
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect(&self.address).await
    }
}

/// The items of one call.
pub(crate) struct Answer {
    client: async_nats::Client,
    inbox: String,
    items: Subscriber,
    ended: bool,
}

impl Items for Answer {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match ready!(Pin::new(&mut self.items).poll_next(cx)) {
            Some(message) if message.payload.is_empty() => {
                self.ended = true;
                Poll::Ready(None)
            }
            Some(message) => Poll::Ready(Some(Ok(take(&message.payload)))),
            None => {
                self.ended = true;
                Poll::Ready(Some(Err(Failure::msg("the subscription ended"))))
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // Without a runtime the connection is gone as well.
        if let Ok(runtime) = Handle::try_current() {
            let client = self.client.clone();
            let inbox = std::mem::take(&mut self.inbox);
            runtime.spawn(async move { client.publish(CANCEL, inbox.into()).await });
        }
    }
}
