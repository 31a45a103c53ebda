//! The server: a handler on each shard, and an engine thread for whole steps.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use ringmain::Relay;
use ringmain_bench_harness::{Kind, Producer, ServeArgs, Serving, Timer, now_ns, option};
use ringmain_client::{Client, ClientConfig, Home};
use ringmain_discovery::fresh_instance_id;
use ringmain_reactor::{Address, DriverConfig, ListenOptions};
use ringmain_server::{
    Finished, HandlerError, LocalInput, LocalSink, Request, Server, ServerConfig,
};
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
    let flush_every = match option(&args.set, "flush_every") {
        Some(text) => text.parse().context("flush_every")?,
        None => 1,
    };
    let engine = Arc::new(Engine::start(flush_every)?);
    for _ in 0..args.instances.max(1) {
        let instance = fresh_instance_id()?;
        let mut config = ServerConfig {
            concurrency_max: ADMITTED,
            ..ServerConfig::default()
        };
        if let Some(text) = option(&args.set, "sink_bytes_max") {
            config.sink_bytes_max = text.parse().context("sink_bytes_max")?;
        }
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
            answer(ctx.clone(), &engine, &request.data, sink)
        }
    })?;
    Ok(())
}

fn answer(ctx: ShardCtx, engine: &Engine, request: &Bytes, sink: LocalSink) -> Answer {
    let Some(producer) = Producer::new(request, ShardTimer(ctx)) else {
        return Answer::Refused;
    };
    if producer.request().kind == Kind::Step {
        let step = sink.step_sink();
        engine.submit(step.clone(), *producer.request());
        return Answer::Steps(step.finished());
    }
    Answer::Items {
        producer,
        sink,
        held: false,
    }
}

/// A handler's future, written by hand: it holds the request's parts once.
enum Answer {
    Refused,
    /// The engine thread pushes.
    Steps(Finished),
    /// Items as the producer has them.
    Items {
        producer: Producer<ShardTimer>,
        sink: LocalSink,
        /// An item was produced and had no room yet.
        held: bool,
    },
}

impl Future for Answer {
    type Output = Result<(), HandlerError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (producer, sink, held) = match &mut *self {
            Self::Refused => {
                let error = HandlerError::invalid_request("not a benchmark's request");
                return Poll::Ready(Err(error));
            }
            Self::Steps(finished) => return Pin::new(finished).poll(cx).map(Ok),
            Self::Items {
                producer,
                sink,
                held,
            } => (producer, sink, held),
        };
        loop {
            if !*held {
                if ready!(producer.poll_item(cx)).is_none() {
                    return Poll::Ready(Ok(()));
                }
                *held = true;
            }
            ready!(sink.poll_send(cx, producer.item()))?;
            *held = false;
        }
    }
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
