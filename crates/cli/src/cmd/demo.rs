//! `ringmain demo`.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use ringmain_client::{Client, Home};
use ringmain_codec::EndpointId;
use ringmain_discovery::{
    Discovery, Instance, Registration, Registry, RegistryUrl, fresh_instance_id,
};
use ringmain_reactor::{Address, DriverConfig, ListenOptions};
use ringmain_server::{Server, ServerConfig};
use ringmain_shard::ShardSet;
use ringmain_trace::{Trace, TraceRequest};

use crate::args::{DemoArgs, HomeArg};
use crate::exit::Exit;
use crate::load::{self, Planned, Quiet, Show, Terminal};
use crate::output::{print_json, print_summary, say};
use crate::start::{io_name, shards};
use crate::{engine, runtime};

/// One prompt in so many of the burst is dropped half-way, as real callers do.
const CANCEL_EVERY: usize = 16;
/// Bytes of a prompt token in a replayed trace.
const PROMPT_TOKEN_BYTES: usize = 4;
/// Longest prompt that a replayed trace really sends.
const PROMPT_BYTES_MAX: usize = 64 * 1024;

/// Runs workers, a router and a load in this process.
pub(crate) fn demo(args: &DemoArgs) -> anyhow::Result<Exit> {
    let (plan, span) = match &args.trace {
        Some(file) => trace_plan(file, args)?,
        None => (burst_plan(args), None),
    };
    let shards = shards(&args.io, DriverConfig::server())?;
    let runtime = runtime::multi_thread()?;
    let io = io_name(shards.io());
    let outcome = runtime.block_on(async {
        let endpoint: EndpointId = "demo.worker.generate".parse()?;
        let telemetry = Arc::clone(shards.telemetry());
        let discovery = Arc::new(Discovery::open(
            RegistryUrl::Memory,
            Arc::clone(&telemetry),
        )?);
        let mut workers = Vec::new();
        for _ in 0..args.workers.max(1) {
            workers.push(Worker::start(&shards, &discovery, &endpoint, args).await?);
        }
        say(format_args!(
            "{} workers serve {endpoint}; {} streams follow",
            workers.len(),
            plan.len()
        ));
        let home = match args.home {
            HomeArg::Inline => Home::Inline,
            HomeArg::Shards => Home::Shards(Arc::clone(&shards)),
        };
        let client = Client::builder(Arc::<Discovery>::clone(&discovery), home)
            .telemetry(telemetry)
            .build();
        let count = workers.len();
        let snapshots = discovery.watch(endpoint.clone()).await?;
        snapshots
            .wait_for(|snapshot| snapshot.len() == count)
            .await?;
        let show = show(args, plan.len());
        let outcome = load::run(&client, &endpoint, plan, show).await;
        drop(client);
        for worker in workers {
            worker.stop().await;
        }
        anyhow::Ok(outcome)
    })?;
    shards
        .stop(Duration::from_secs(2))
        .context("a shard failed")?;
    let home = match args.home {
        HomeArg::Inline => "inline",
        HomeArg::Shards => "shards",
    };
    let summary = outcome.summary(io, home, span);
    if args.json {
        print_json(&summary)?;
    } else {
        print_summary(&summary)?;
    }
    Ok(if summary.streams_failed == 0 {
        Exit::Ok
    } else {
        Exit::Negative
    })
}

fn show(args: &DemoArgs, streams: usize) -> Arc<dyn Show> {
    if args.json || !std::io::stderr().is_terminal() {
        return Arc::new(Quiet);
    }
    Arc::new(Terminal::new(streams as u64, args.trace.is_none()))
}

fn burst_plan(args: &DemoArgs) -> Vec<Planned> {
    (0..args.prompts)
        .map(|index| Planned {
            at: Duration::ZERO,
            data: Bytes::from(format!("prompt {index}: what is a ring main?")),
            tokens: None,
            cancel_after: (index % CANCEL_EVERY == CANCEL_EVERY - 1)
                .then_some(args.pace.tokens / 2)
                .filter(|after| *after > 0),
        })
        .collect()
}

/// The requests of a trace, and the time their arrivals span once sped up.
fn trace_plan(file: &Path, args: &DemoArgs) -> anyhow::Result<(Vec<Planned>, Option<Duration>)> {
    let mut requests = Trace::load(file)?.requests;
    requests.truncate(args.limit.unwrap_or(usize::MAX));
    let speed_up = |at: Duration| at.div_f64(args.speedup);
    let span = requests.last().map(|last| speed_up(last.at));
    let prompt = Bytes::from(vec![b'p'; PROMPT_BYTES_MAX]);
    let planned = |request: &TraceRequest| {
        let bytes = (request.prompt_tokens as usize * PROMPT_TOKEN_BYTES).min(PROMPT_BYTES_MAX);
        Planned {
            at: speed_up(request.at),
            data: prompt.slice(..bytes),
            tokens: Some(request.generated_tokens),
            cancel_after: None,
        }
    };
    Ok((requests.iter().map(planned).collect(), span))
}

/// One worker: a server of its own on the common shards, registered in memory.
struct Worker {
    server: Server,
    registration: Registration,
}

impl Worker {
    async fn start(
        shards: &Arc<ShardSet>,
        discovery: &Discovery,
        endpoint: &EndpointId,
        args: &DemoArgs,
    ) -> anyhow::Result<Self> {
        let instance = fresh_instance_id()?;
        let server = Server::new(Arc::clone(shards), instance, ServerConfig::default());
        let pace = args.pace.pace();
        match &args.trace {
            Some(_) => {
                engine::install(&server, endpoint.clone(), &engine::EngineKind::Mock, &pace)?;
            }
            None => engine::install_text(&server, endpoint.clone(), engine::DEMO_TEXT, &pace)?,
        }
        let any_port = Address::Ip(([127, 0, 0, 1], 0).into());
        let bound = server.listen(&any_port, &ListenOptions::default())?;
        let record = Instance::new(
            instance,
            endpoint.clone(),
            vec![super::serve::transport(&bound)],
        );
        let registration = discovery.register(record).await?;
        Ok(Self {
            server,
            registration,
        })
    }

    async fn stop(self) {
        if let Err(error) = self.registration.deregister().await {
            say(format_args!(
                "a worker could not leave the registry: {error}"
            ));
        }
        self.server.start_drain();
        self.server.drained().await;
    }
}
