//! The server: one method, called without a router in between.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use peer_host::TokioTimer;
use ringmain_bench_harness::Producer;
use tokio::net::TcpListener;
use tokio_stream::Stream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, ServerStreamingService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::message::{Call, Item, MESSAGE_BYTES_MAX};

/// As many streams as the largest workload opens, with room to spare.
const STREAMS_MAX: u32 = 8192;

/// Serves for as long as its runtime lives.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), tonic::transport::Error> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .max_concurrent_streams(STREAMS_MAX)
        .serve_with_incoming(Engine, incoming)
        .await
}

#[derive(Clone, Copy, Debug)]
struct Engine;

impl Service<http::Request<Body>> for Engine {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let grpc = Grpc::new(ProstCodec::<Item, Call>::default());
            let mut grpc = grpc.max_decoding_message_size(MESSAGE_BYTES_MAX);
            Ok(grpc.server_streaming(Generate, request).await)
        })
    }
}

struct Generate;

impl ServerStreamingService<Call> for Generate {
    type Response = Item;
    type ResponseStream = Answer;
    type Future = std::future::Ready<Result<Response<Answer>, Status>>;

    fn call(&mut self, request: Request<Call>) -> Self::Future {
        let call = request.into_inner();
        let producer = Producer::new(&call.data, TokioTimer);
        let answer = producer.map(|producer| Response::new(Answer(producer)));
        std::future::ready(answer.ok_or_else(|| Status::invalid_argument("not a request")))
    }
}

struct Answer(Producer<TokioTimer>);

impl Stream for Answer {
    type Item = Result<Item, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_item(cx).map(|item| {
            item.map(|item| {
                let data = Bytes::copy_from_slice(item);
                Ok(Item { data })
            })
        })
    }
}
