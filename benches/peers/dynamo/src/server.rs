//! The worker: an engine behind Dynamo's ingress.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::Context as _;
use dynamo_runtime::component::StartedEndpoint;
use dynamo_runtime::engine::{AsyncEngine, AsyncEngineContextProvider as _, async_trait};
use dynamo_runtime::pipeline::network::{Ingress, ResponsePlaneMode};
use dynamo_runtime::pipeline::{Error, ManyOut, ResponseStream, SingleIn};
use futures_core::Stream;
use peer_host::TokioTimer;
use ringmain_bench_harness::Producer;

use crate::message::{Call, Item};
use crate::plane;

/// Serves and is registered for as long as the result lives.
pub(crate) async fn serve(
    store: &Path,
    response: ResponsePlaneMode,
) -> anyhow::Result<StartedEndpoint> {
    let endpoint = plane::endpoint(store, response).await?;
    let ingress = Ingress::for_engine(Arc::new(Engine))?;
    endpoint
        .endpoint_builder()
        .handler(ingress)
        .start_with_registration()
        .await
}

struct Engine;

#[async_trait]
impl AsyncEngine<SingleIn<Call>, ManyOut<Item>, Error> for Engine {
    async fn generate(&self, input: SingleIn<Call>) -> Result<ManyOut<Item>, Error> {
        let (call, rest) = input.into_parts();
        let context = rest.context();
        let watched = Arc::clone(&context);
        let answer = Answer {
            producer: Some(Producer::new(&call.data, TokioTimer).context("not a request")?),
            stopped: Box::pin(async move { watched.stopped().await }),
        };
        Ok(ResponseStream::new(Box::pin(answer), context))
    }
}

/// The items of one call. The pump behind it does not look for a cancel, so it does itself.
struct Answer {
    producer: Option<Producer<TokioTimer>>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Stream for Answer {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let Some(producer) = &mut self.producer else {
            return Poll::Ready(None);
        };
        let item = producer.poll_item(cx).map(|item| {
            item.map(|item| Item {
                data: item.to_vec(),
            })
        });
        if item.is_pending() && self.stopped.as_mut().poll(cx).is_ready() {
            self.producer = None;
            return Poll::Ready(None);
        }
        item
    }
}
