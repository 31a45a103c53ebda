//! Workers, a registry and a client.

use std::sync::Arc;

use ringmain_client::{Client, ClientConfig, Home};
use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{
    Discovery, Instance, Registration, Registry, RegistryUrl, SnapshotHandle, TransportAddr,
};
use ringmain_reactor::{Address, DriverConfig, IoChoice};
use ringmain_shard::{ShardSet, ShardSetConfig};
use ringmain_telemetry::{Counter, Telemetry};

use crate::handlers::{COUNT, ECHO, HANG, PANIC, TAKE};
use crate::worker::{Worker, WorkerConfig};

/// Where the rig's client has its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeKind {
    /// In the test's tokio runtime.
    Inline,
    /// On shards of its own.
    Shards,
}

impl HomeKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Inline, Self::Shards];
}

/// Some workers, a registry in memory, and a client that finds them there.
#[derive(Debug)]
pub struct Rig {
    /// The workers, by index.
    pub workers: Vec<Worker>,
    /// The client.
    pub client: Client,
    /// The registry.
    pub discovery: Discovery,
    /// The client's counters.
    pub telemetry: Arc<Telemetry>,
    /// The client's shards, if it has any.
    pub shards: Option<Arc<ShardSet>>,
    registrations: Vec<Registration>,
    watches: Vec<SnapshotHandle>,
}

impl Rig {
    /// One worker and a client, with default settings.
    ///
    /// # Panics
    ///
    /// When something cannot start.
    pub async fn start(io: IoChoice, home: HomeKind) -> Self {
        Self::with(vec![WorkerConfig::new(io)], home, ClientConfig::default()).await
    }

    /// A worker per configuration, and a client.
    ///
    /// # Panics
    ///
    /// When something cannot start.
    pub async fn with(configs: Vec<WorkerConfig>, home: HomeKind, client: ClientConfig) -> Self {
        let io = configs.first().map_or(IoChoice::Auto, |config| config.io);
        let workers = (1u64..)
            .zip(configs)
            .map(|(id, config)| Worker::start(id, config))
            .collect();
        Self::over(workers, io, home, client).await
    }

    /// A client over workers that run already (also ones of another process, by record alone).
    ///
    /// # Panics
    ///
    /// When something cannot start.
    pub async fn over(
        workers: Vec<Worker>,
        io: IoChoice,
        home: HomeKind,
        config: ClientConfig,
    ) -> Self {
        let shards = match home {
            HomeKind::Inline => None,
            HomeKind::Shards => Some(client_shards(io, &config)),
        };
        let telemetry = match &shards {
            Some(shards) => Arc::clone(shards.telemetry()),
            None => Telemetry::new(0),
        };
        let discovery = match Discovery::open(RegistryUrl::Memory, Arc::clone(&telemetry)) {
            Ok(discovery) => discovery,
            Err(error) => panic!("discovery: {error}"),
        };
        let place = match &shards {
            Some(shards) => Home::Shards(Arc::clone(shards)),
            None => Home::Inline,
        };
        let client = Client::builder(Arc::new(discovery.clone()), place)
            .config(config)
            .telemetry(Arc::clone(&telemetry))
            .build();
        let mut rig = Self {
            workers,
            client,
            discovery,
            telemetry,
            shards,
            registrations: Vec::new(),
            watches: Vec::new(),
        };
        let known: Vec<_> = rig
            .workers
            .iter()
            .map(|w| (w.server.instance(), w.address.clone()))
            .collect();
        for (instance, address) in &known {
            rig.register(*instance, address).await;
        }
        for name in [COUNT, ECHO, TAKE, HANG, PANIC] {
            rig.wait_for(name, known.len()).await;
        }
        rig
    }

    /// Registers an instance for every test endpoint.
    ///
    /// # Panics
    ///
    /// When the registry refuses.
    pub async fn register(&mut self, instance: InstanceId, address: &Address) {
        let address = match address {
            Address::Ip(socket) => TransportAddr::Tcp(*socket),
            Address::Unix(path) => TransportAddr::Unix(path.clone()),
        };
        for name in [COUNT, ECHO, TAKE, HANG, PANIC] {
            let record = Instance::new(instance, Self::endpoint(name), vec![address.clone()]);
            match self.discovery.register(record).await {
                Ok(registration) => self.registrations.push(registration),
                Err(error) => panic!("register: {error}"),
            }
        }
    }

    /// Waits until so many instances of an endpoint are known.
    ///
    /// # Panics
    ///
    /// When the registry is gone.
    pub async fn wait_for(&mut self, name: &str, instances: usize) {
        let watch = match self.discovery.watch(Self::endpoint(name)).await {
            Ok(watch) => watch,
            Err(error) => panic!("watch: {error}"),
        };
        let found = watch.wait_for(|snapshot| snapshot.len() >= instances).await;
        assert!(found.is_ok(), "the registry is gone");
        self.watches.push(watch);
    }

    /// One of the test endpoints.
    ///
    /// # Panics
    ///
    /// When the name is no endpoint id.
    pub fn endpoint(name: &str) -> EndpointId {
        match name.parse() {
            Ok(endpoint) => endpoint,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// A counter of the client.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.telemetry.counter_total(counter)
    }

    /// Requests in flight on all workers.
    pub fn in_flight(&self) -> usize {
        self.workers
            .iter()
            .map(|worker| worker.server.in_flight())
            .sum()
    }
}

fn client_shards(io: IoChoice, config: &ClientConfig) -> Arc<ShardSet> {
    let set = ShardSetConfig {
        io,
        driver: DriverConfig::client(),
        socket: config.socket.clone(),
        ..ShardSetConfig::default()
    };
    match ShardSet::start(&set) {
        Ok(shards) => Arc::new(shards),
        Err(error) => panic!("client shards: {error}"),
    }
}
