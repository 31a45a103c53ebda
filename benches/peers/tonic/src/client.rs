//! The client: one channel, which is one connection.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use ringmain_bench_harness::{Caller, Failure, Items};
use tokio_stream::Stream as _;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use crate::message::{Call, Item, MESSAGE_BYTES_MAX, PATH};

/// At the default of 5 MiB three consumers that do not read, at 2 MiB a stream, stop all others.
const CONNECTION_WINDOW_BYTES: u32 = 64 * 1024 * 1024;

/// A channel, shared by its calls.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    endpoint: Endpoint,
    channel: Channel,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
        Self::connect_to(endpoint.initial_connection_window_size(CONNECTION_WINDOW_BYTES)).await
    }

    async fn connect_to(endpoint: Endpoint) -> anyhow::Result<Self> {
        let channel = endpoint.connect().await?;
        Ok(Self { endpoint, channel })
    }
}

impl Caller for Client {
    type Items = Answer;

    async fn call(self, request: Bytes) -> Result<Answer, Failure> {
        let mut grpc = Grpc::new(self.channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
        grpc.ready().await?;
        let call = Request::new(Call { data: request });
        let path = PathAndQuery::from_static(PATH);
        let codec = ProstCodec::<Call, Item>::default();
        let answer = grpc.server_streaming(call, path, codec).await?;
        Ok(Answer(answer.into_inner()))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect_to(self.endpoint).await
    }
}

/// The items of one call; dropping it resets the stream.
#[derive(Debug)]
pub(crate) struct Answer(Streaming<Item>);

impl Items for Answer {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        let item = ready!(Pin::new(&mut self.0).poll_next(cx));
        Poll::Ready(item.map(|item| match item {
            Ok(item) => Ok(take(&item.data)),
            Err(status) => Err(status.into()),
        }))
    }
}
