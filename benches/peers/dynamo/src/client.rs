//! The client: a push router over the instances that discovery shows.

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use dynamo_runtime::component::Client as Instances;
use dynamo_runtime::engine::AsyncEngine as _;
use dynamo_runtime::pipeline::network::ResponsePlaneMode;
use dynamo_runtime::pipeline::network::egress::push_router::{PushRouter, RouterMode};
use dynamo_runtime::pipeline::{Context as Envelope, ManyOut};
use dynamo_runtime::protocols::maybe_error::MaybeError as _;
use ringmain_bench_harness::{Caller, Failure, Items};

use crate::message::{Call, Item};
use crate::plane;

/// How long a server gets to show up in discovery.
const ROUTABLE_WITHIN: Duration = Duration::from_secs(20);

/// A router, shared by its calls.
#[derive(Clone)]
pub(crate) struct Client(Arc<Shared>);

struct Shared {
    store: Box<Path>,
    response: ResponsePlaneMode,
    router: PushRouter<Call, Item>,
}

impl Client {
    /// Connects; returns once the router may send to an instance, not just knows of one.
    pub(crate) async fn connect(store: &Path, response: ResponsePlaneMode) -> anyhow::Result<Self> {
        let instances = plane::endpoint(store, response).await?.client().await?;
        tokio::time::timeout(ROUTABLE_WITHIN, routable(&instances))
            .await
            .context("no instance became routable")??;
        let router = PushRouter::from_client(instances, RouterMode::RoundRobin).await?;
        Ok(Self(Arc::new(Shared {
            store: store.into(),
            response,
            router,
        })))
    }
}

async fn routable(instances: &Instances) -> anyhow::Result<()> {
    let mut available = instances.instance_avail_watcher();
    available.wait_for(|ids| !ids.is_empty()).await?;
    Ok(())
}

impl Caller for Client {
    type Items = Answer;

    async fn call(self, request: Bytes) -> Result<Answer, Failure> {
        let data = request.into();
        let items = self.0.router.generate(Envelope::new(Call { data })).await?;
        Ok(Answer(items))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        Self::connect(&self.0.store, self.0.response).await
    }
}

/// The items of one call; dropping it cancels.
pub(crate) struct Answer(ManyOut<Item>);

impl Items for Answer {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        let item = ready!(self.0.as_mut().poll_next(cx));
        Poll::Ready(item.map(|item| match item.err() {
            None => Ok(take(&item.data)),
            Some(error) => Err(error.into()),
        }))
    }
}
