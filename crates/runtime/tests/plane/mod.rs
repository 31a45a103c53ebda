//! Workers, a relay before them, and a client before the relay.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    reason = "shared by several test binaries, none of which uses all of it"
)]

use std::sync::Arc;

use ringmain::Relay;
use ringmain_client::{Client, ClientConfig, Home};
use ringmain_codec::InstanceId;
use ringmain_discovery::{Instance, Registration, Registry, TransportAddr};
use ringmain_reactor::{Address, IoChoice, ListenOptions};
use ringmain_server::{HandlerError, LocalInput, LocalSink, Request, Server, ServerConfig};
use ringmain_shard::{ShardCtx, ShardSet, ShardSetConfig};
use ringmain_telemetry::{Counter, Gauge};
use ringmain_testkit::{COUNT, ECHO, HANG, HomeKind, PANIC, Rig, TAKE, WorkerConfig};

/// Tells what of the request reached it, then fails with a text and a trailer.
pub const CONTEXT: &str = "test.worker.context";

/// Sends [`ROUND`] tokens of [`TOKEN_BYTES`] for each message of its input.
pub const ROUNDS: &str = "test.worker.rounds";
/// Tokens of one round.
pub const ROUND: usize = 50;
/// Bytes of one of its tokens.
pub const TOKEN_BYTES: usize = 96;

const RELAY_ID: u64 = 1000;

/// What the parts are made of.
pub struct Parts {
    pub io: IoChoice,
    pub workers: Vec<ServerConfig>,
    pub relay: ServerConfig,
    pub relay_client: ClientConfig,
    pub home: HomeKind,
    pub client: ClientConfig,
}

impl Parts {
    pub fn new(io: IoChoice) -> Self {
        Self {
            io,
            workers: vec![ServerConfig::default()],
            relay: ServerConfig::default(),
            relay_client: ClientConfig::default(),
            home: HomeKind::Inline,
            client: ClientConfig::default(),
        }
    }
}

/// client ─> relay ─> workers, each in threads of its own.
pub struct Plane {
    /// The client that calls the relay.
    pub front: Rig,
    pub relay: Server,
    pub address: Address,
    /// The workers.
    pub back: Rig,
    _registrations: Vec<Registration>,
}

impl Plane {
    pub async fn start(io: IoChoice) -> Self {
        Self::with(Parts::new(io)).await
    }

    pub async fn with(parts: Parts) -> Self {
        let io = parts.io;
        let worker = |server: &ServerConfig| WorkerConfig {
            server: server.clone(),
            ..WorkerConfig::new(io)
        };
        let workers = parts.workers.iter().map(worker).collect();
        let mut back = Rig::with(workers, HomeKind::Inline, ClientConfig::default()).await;
        let mut registrations = Vec::new();
        for worker in &back.workers {
            let server = &worker.server;
            let served = [
                server.serve_local(Rig::endpoint(ROUNDS), |_| rounds),
                server.serve_local(Rig::endpoint(CONTEXT), |ctx: &ShardCtx| {
                    let ctx = ctx.clone();
                    move |request, sink| context(ctx.clone(), request, sink)
                }),
            ];
            assert_eq!(served, [Ok(()), Ok(())]);
            for name in [CONTEXT, ROUNDS] {
                let record = record(server.instance(), name, &worker.address);
                registrations.push(back.discovery.register(record).await.unwrap());
            }
        }
        for name in [CONTEXT, ROUNDS] {
            back.wait_for(name, back.workers.len()).await;
        }

        let shards = ShardSetConfig {
            io,
            cores: vec![None],
            ..ShardSetConfig::default()
        };
        let shards = Arc::new(ShardSet::start(&shards).unwrap());
        let source = Arc::new(back.discovery.clone());
        let client = Client::builder(source, Home::Shards(Arc::clone(&shards)))
            .config(parts.relay_client)
            .build();
        let id = InstanceId::new(RELAY_ID).unwrap();
        let relay = Server::new(shards, id, parts.relay);
        for name in [COUNT, ECHO, TAKE, HANG, PANIC, CONTEXT, ROUNDS] {
            let factory = Relay::factory(client.clone(), Rig::endpoint(name));
            relay.serve_local(Rig::endpoint(name), factory).unwrap();
        }
        let listen = Address::Ip(([127, 0, 0, 1], 0).into());
        let address = relay.listen(&listen, &ListenOptions::default()).unwrap();

        let mut front = Rig::over(vec![], io, parts.home, parts.client).await;
        front.register(id, &address).await;
        for name in [CONTEXT, ROUNDS] {
            let record = record(id, name, &address);
            registrations.push(front.discovery.register(record).await.unwrap());
        }
        for name in [COUNT, ECHO, TAKE, HANG, PANIC, CONTEXT, ROUNDS] {
            front.wait_for(name, 1).await;
        }
        Self {
            front,
            relay,
            address,
            back,
            _registrations: registrations,
        }
    }

    /// A counter of the relay.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.relay.shards().telemetry().counter_total(counter)
    }

    /// A gauge of the relay.
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        self.relay.shards().telemetry().gauge_total(gauge)
    }

    /// Nothing of any request is left at the relay or behind it.
    pub fn is_quiet(&self) -> bool {
        self.relay.in_flight() == 0
            && self.back.in_flight() == 0
            && self.gauge(Gauge::InboxBytes) == 0
            && self.gauge(Gauge::StreamsOpen) == 0
    }
}

pub fn record(id: InstanceId, name: &str, address: &Address) -> Instance {
    let Address::Ip(address) = address else {
        panic!("TCP")
    };
    Instance::new(id, Rig::endpoint(name), vec![TransportAddr::Tcp(*address)])
}

async fn context(
    ctx: ShardCtx,
    request: Request<LocalInput>,
    mut sink: LocalSink,
) -> Result<(), HandlerError> {
    let head = &request.head;
    let pairs: Vec<_> = head
        .metadata
        .iter()
        .map(|(key, value)| {
            let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
            format!("{key}={value}")
        })
        .collect();
    let left = head
        .deadline
        .map(|at| at.saturating_duration_since(ctx.now()).as_secs());
    let (id, priority, trace) = (head.id, head.priority, head.trace);
    let text = format!("{id:?} {priority:?} {trace:?} {left:?} {pairs:?}");
    sink.send(text.as_bytes()).await?;
    sink.add_trailer("usage_tokens", "7");
    Err(HandlerError::application("the model said no"))
}

async fn rounds(request: Request<LocalInput>, mut sink: LocalSink) -> Result<(), HandlerError> {
    let Request { mut input, .. } = request;
    while input.next().await.is_some() {
        for _ in 0..ROUND {
            sink.send(&[b'x'; TOKEN_BYTES]).await?;
        }
    }
    Ok(())
}
