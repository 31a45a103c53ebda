//! The server: a handler on each shard, and an engine thread for whole steps.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::Context;
use ringmain::Relay;
use ringmain_bench_harness::{Kind, Producer, ServeArgs, Serving, Timer, now_ns};
use ringmain_client::{Client, ClientConfig, Home};
use ringmain_discovery::fresh_instance_id;
use ringmain_reactor::{Address, DriverConfig, ListenOptions};
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, Server, ServerConfig};
use ringmain_shard::ShardCtx;

use super::engine::Engine;
use super::{endpoint, options};

/// Requests that may run at once: above what any workload opens.
const ADMITTED: usize = 65_536;

/// Starts `instances` servers, or one router to `upstream`, on one set of shards.
pub(super) fn serve(args: &ServeArgs) -> anyhow::Result<Serving> {
    options::check(&args.set)?;
    let shards = options::shards(&args.set, 1, DriverConfig::server())?;
    let mut addresses = Vec::new();
    let mut servers = Vec::new();
    let mut upstream = None;
    if let Some(address) = &args.upstream {
        let (publisher, handle) = options::snapshot(std::slice::from_ref(address))?;
        let client = Client::builder(Arc::new(handle), Home::Shards(Arc::clone(&shards)));
        let client = client.config(ClientConfig::default()).build();
        upstream = Some((publisher, client));
    }
    let engine = Arc::new(Engine::start()?);
    for _ in 0..args.instances.max(1) {
        let instance = fresh_instance_id()?;
        let config = ServerConfig {
            concurrency_max: ADMITTED,
            ..ServerConfig::default()
        };
        let server = Server::new(Arc::clone(&shards), instance, config);
        match &upstream {
            Some((_, client)) => {
                server.serve_local(endpoint()?, Relay::factory(client.clone(), endpoint()?))?;
            }
            None => install(&server, &engine)?,
        }
        let any_port = Address::Ip(([127, 0, 0, 1], 0).into());
        let bound = server.listen(&any_port, &ListenOptions::default());
        let bound = bound.context("cannot listen")?;
        addresses.push(options::print_address(instance, &bound));
        servers.push(server);
    }
    Ok(Serving {
        addresses,
        broker_pid: None,
        keep: Box::new((servers, engine, upstream, shards)),
    })
}

fn install(server: &Server, engine: &Arc<Engine>) -> anyhow::Result<()> {
    let engine = Arc::clone(engine);
    server.serve_local(endpoint()?, move |ctx: &ShardCtx| {
        let (ctx, engine) = (ctx.clone(), Arc::clone(&engine));
        move |request: Request<LocalInput>, sink: LocalSink| {
            answer(ctx.clone(), Arc::clone(&engine), request, sink)
        }
    })?;
    Ok(())
}

async fn answer(
    ctx: ShardCtx,
    engine: Arc<Engine>,
    request: Request<LocalInput>,
    mut sink: LocalSink,
) -> Result<(), HandlerError> {
    let Some(mut producer) = Producer::new(&request.data, ShardTimer(ctx)) else {
        return Err(HandlerError::invalid_request("not a benchmark's request"));
    };
    if producer.request().kind == Kind::Step {
        let step = sink.step_sink();
        engine.submit(step.clone(), *producer.request());
        step.finished().await;
        return Ok(());
    }
    let mut held = false;
    poll_fn(|cx| {
        loop {
            if !held {
                held = match producer.poll_item(cx) {
                    Poll::Ready(Some(_)) => true,
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                };
            }
            match sink.poll_send(cx, producer.item()) {
                Poll::Ready(Ok(())) => held = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// Sleeping by the shard's timers.
struct ShardTimer(ShardCtx);

impl Timer for ShardTimer {
    type Sleep = Pin<Box<dyn Future<Output = ()>>>;

    fn sleep_until(&self, at_ns: u64) -> Self::Sleep {
        let after = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
        Box::pin(self.0.sleep_until(Instant::now() + after))
    }
}
