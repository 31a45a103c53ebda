//! A server on real sockets.

use std::sync::Arc;

use ringmain_codec::InstanceId;
use ringmain_reactor::{Address, DriverConfig, IoChoice, ListenOptions, SocketOptions};
use ringmain_server::{Server, ServerConfig};
use ringmain_shard::{ShardSet, ShardSetConfig};
use ringmain_telemetry::{Counter, Gauge};

use crate::handlers::serve_all;

/// The drivers that a test runs on: both, always. A host that refuses io_uring fails the test
/// rather than letting it pass unseen, unless `RINGMAIN_ALLOW_NO_URING=1` says that this is known.
pub fn drivers() -> Vec<IoChoice> {
    let allowed = std::env::var_os("RINGMAIN_ALLOW_NO_URING").is_some_and(|value| value == "1");
    match IoChoice::Uring.resolve() {
        Ok(_) => vec![IoChoice::Uring, IoChoice::Epoll],
        Err(_) if allowed => vec![IoChoice::Epoll],
        Err(error) => panic!("io_uring is refused here: {error}"),
    }
}

/// What a test worker is made of.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Driver.
    pub io: IoChoice,
    /// Shards.
    pub shards: usize,
    /// Rings and buffers.
    pub driver: DriverConfig,
    /// Socket options of the worker's side.
    pub socket: SocketOptions,
    /// Limits.
    pub server: ServerConfig,
    /// Where to listen.
    pub listen: Address,
}

impl WorkerConfig {
    /// One shard on `io`, a free loopback port, default limits.
    pub fn new(io: IoChoice) -> Self {
        Self {
            io,
            shards: 1,
            driver: DriverConfig::default(),
            socket: SocketOptions::default(),
            server: ServerConfig::default(),
            listen: Address::Ip(([127, 0, 0, 1], 0).into()),
        }
    }
}

/// A running worker that serves every test endpoint.
#[derive(Debug)]
pub struct Worker {
    /// Its server.
    pub server: Server,
    /// Where it listens.
    pub address: Address,
}

impl Worker {
    /// Starts one; `id` is its instance.
    ///
    /// # Panics
    ///
    /// When shards or listener cannot start.
    pub fn start(id: u64, config: WorkerConfig) -> Self {
        let set = ShardSetConfig {
            io: config.io,
            cores: vec![None; config.shards],
            driver: config.driver,
            socket: config.socket.clone(),
            ..ShardSetConfig::default()
        };
        let shards = match ShardSet::start(&set) {
            Ok(shards) => Arc::new(shards),
            Err(error) => panic!("shards: {error}"),
        };
        let Some(instance) = InstanceId::new(id) else {
            panic!("an instance id is not 0")
        };
        let server = Server::new(shards, instance, config.server);
        serve_all(&server);
        let options = ListenOptions {
            socket: config.socket,
            ..ListenOptions::default()
        };
        match server.listen(&config.listen, &options) {
            Ok(address) => Self { server, address },
            Err(error) => panic!("listen: {error}"),
        }
    }

    /// A counter's total over the worker's shards.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.server.shards().telemetry().counter_total(counter)
    }

    /// A gauge over the worker's shards.
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        self.server.shards().telemetry().gauge_total(gauge)
    }

    /// Links that each shard owns.
    pub fn links_by_shard(&self) -> Vec<usize> {
        self.server
            .shards()
            .handles()
            .iter()
            .map(|handle| handle.links_open())
            .collect()
    }
}
