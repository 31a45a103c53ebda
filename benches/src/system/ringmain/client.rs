//! The client, in each of its homes.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use anyhow::Context as _;
use bytes::Bytes;
use futures_core::Stream;
use ringmain_bench_harness::{Caller, ConnectArgs, Failure, Items, Job, Launcher, run_job};
use ringmain_client::{Call, Client, ClientConfig, Home, LocalClient, LocalStream, ResponseStream};
use ringmain_codec::EndpointId;
use ringmain_discovery::{Publisher, SnapshotHandle};
use ringmain_reactor::DriverConfig;
use ringmain_shard::{ShardCtx, ShardSet};
use tokio::runtime::Runtime;

use super::endpoint;
use super::options::{self, HomeKind};

/// Starts a client in the home that the options name.
pub(super) fn connect(args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
    options::check(&args.set)?;
    let home = options::home(&args.set)?;
    let lanes = args.lanes.max(1);
    let (publisher, source) = options::snapshot(&args.addresses)?;
    let shards = match home {
        HomeKind::Inline => None,
        HomeKind::Local | HomeKind::Shards => {
            Some(options::shards(&args.set, lanes, DriverConfig::client())?)
        }
    };
    let plan = Arc::new(Building {
        source,
        shards: shards.clone(),
        config: ClientConfig {
            links_per_instance: args.connections.max(1),
            ..ClientConfig::default()
        },
        endpoint: endpoint()?,
        _publisher: publisher,
    });
    let client = plan.client();
    if let (HomeKind::Local, Some(shards)) = (home, shards) {
        return Ok(Arc::new(OnShards {
            plan,
            client,
            shards,
        }));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(lanes)
        .enable_all()
        .build()
        .context("cannot start tokio")?;
    Ok(Arc::new(OnTokio {
        caller: TokioCaller { plan, client },
        runtime,
    }))
}

/// What another client like the first one is built from.
struct Building {
    source: SnapshotHandle,
    shards: Option<Arc<ShardSet>>,
    config: ClientConfig,
    endpoint: EndpointId,
    _publisher: Publisher,
}

impl Building {
    fn client(&self) -> Client {
        let home = self.shards.as_ref().map(Arc::clone);
        let home = home.map_or(Home::Inline, Home::Shards);
        let builder = Client::builder(Arc::new(self.source.clone()), home);
        builder.config(self.config.clone()).build()
    }
}

/// The load runs on tokio.
struct OnTokio {
    caller: TokioCaller,
    runtime: Runtime,
}

impl Launcher for OnTokio {
    fn launch(&self, _lane: usize, job: Job) {
        self.runtime.spawn(run_job(self.caller.clone(), job));
    }
}

#[derive(Clone)]
struct TokioCaller {
    plan: Arc<Building>,
    client: Client,
}

impl Caller for TokioCaller {
    type Items = Responses;

    async fn call(self, request: Bytes) -> Result<Responses, Failure> {
        let call = self.client.call(&self.plan.endpoint, Call::new(request));
        Ok(Responses(call.await?))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        let client = self.plan.client();
        let plan = self.plan;
        Ok(Self { plan, client })
    }
}

struct Responses(ResponseStream);

impl Items for Responses {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        let item = ready!(std::pin::Pin::new(&mut self.0).poll_next(cx));
        Poll::Ready(item.map(|item| Ok(take(&item?))))
    }
}

/// The load runs on the shards themselves.
struct OnShards {
    plan: Arc<Building>,
    client: Client,
    shards: Arc<ShardSet>,
}

impl Launcher for OnShards {
    fn launch(&self, lane: usize, job: Job) {
        let (plan, client) = (Arc::clone(&self.plan), self.client.clone());
        let work = move |ctx: &ShardCtx| {
            if let Some(local) = client.local(ctx) {
                let caller = LocalCaller {
                    plan,
                    ctx: ctx.clone(),
                    local,
                };
                ctx.spawn(run_job(caller, job)).detach();
            }
        };
        let handles = self.shards.handles();
        // Refused only by shards that have stopped, and then nobody waits for the job.
        handles[lane % handles.len()]
            .run_assured(Box::new(work))
            .ok();
    }

    fn lanes(&self) -> usize {
        self.shards.handles().len()
    }
}

#[derive(Clone)]
struct LocalCaller {
    plan: Arc<Building>,
    ctx: ShardCtx,
    local: LocalClient,
}

impl Caller for LocalCaller {
    type Items = LocalItems;

    async fn call(self, request: Bytes) -> Result<LocalItems, Failure> {
        let call = self.local.call(&self.plan.endpoint, Call::new(request));
        Ok(LocalItems(call.await?))
    }

    async fn fresh(self) -> Result<Self, Failure> {
        let local = self.plan.client().local(&self.ctx);
        let local = local.context("the client has no links on this shard")?;
        let Self { plan, ctx, .. } = self;
        Ok(Self { plan, ctx, local })
    }
}

struct LocalItems(LocalStream);

impl Items for LocalItems {
    fn poll_item<R>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Poll<Option<Result<R, Failure>>> {
        let item = ready!(self.0.poll_next_with(cx, take));
        Poll::Ready(item.map(|item| item.map_err(Failure::from)))
    }
}
