//! A process of a simulation: a shard set, turned by hand.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use ringmain_reactor::Reactor as _;
use ringmain_reactor::driver::sim::{SimNet, SimReactor};
use ringmain_server::Server;
use ringmain_shard::{Shard, ShardCtx, ShardSet, ShardSetConfig, Turn};
use ringmain_telemetry::{Counter, Gauge};

/// Names a process of a [`SimWorld`](super::SimWorld) for as long as the world lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId(pub(super) usize);

pub(super) struct Process {
    pub(super) host: String,
    pub(super) frozen: bool,
    pub(super) server: Option<Server>,
    pub(super) set: Arc<ShardSet>,
    shards: Vec<Shard<SimReactor>>,
}

impl Process {
    pub(super) fn new(net: &SimNet, host: &str, shards: usize) -> Self {
        let reactors = (0..shards.max(1)).map(|_| net.reactor(host)).collect();
        let (set, shards) = ShardSet::manual(reactors, &ShardSetConfig::default());
        Self {
            host: host.to_owned(),
            frozen: false,
            server: None,
            set: Arc::new(set),
            shards,
        }
    }

    pub(super) fn ctx(&self) -> Option<&ShardCtx> {
        self.shards.first().map(Shard::ctx)
    }

    /// One turn of each shard.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        let mut outcome = Ok(());
        self.shards.retain_mut(|shard| match shard.turn() {
            Ok(turn) => turn == Turn::Continue,
            Err(error) => {
                outcome = Err(error);
                false
            }
        });
        outcome
    }

    /// When it has something to do by itself.
    pub(super) fn next_wait(&mut self) -> Option<Instant> {
        self.shards.iter_mut().filter_map(Shard::next_wait).min()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.shards.is_empty()
    }

    /// What it still holds of calls, as text; empty when it is at rest.
    pub(super) fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut note = |what: &str, count: u64| {
            if count > 0 {
                found.push(format!("{}: {what} {count}", self.host));
            }
        };
        let telemetry = self.set.telemetry();
        for gauge in [
            Gauge::StreamsOpen,
            Gauge::ReassemblyBytes,
            Gauge::InboxBytes,
            Gauge::RequestsQueued,
            Gauge::HandlersRunning,
            Gauge::ReceiveBuffersHeld,
        ] {
            note(gauge.descriptor().name, telemetry.gauge_total(gauge));
        }
        for counter in [Counter::ProtocolErrors, Counter::Floods] {
            note(counter.descriptor().name, telemetry.counter_total(counter));
        }
        let ended: u64 = [
            Counter::StreamsOk,
            Counter::StreamsCancelled,
            Counter::StreamsFailed,
        ]
        .map(|counter| telemetry.counter_total(counter))
        .iter()
        .sum();
        let started = telemetry.counter_total(Counter::StreamsStarted);
        note(
            "difference of streams started and ended",
            started.abs_diff(ended),
        );
        if let Some(server) = &self.server {
            note("requests in flight", server.in_flight() as u64);
            note("requests running", server.running() as u64);
        }
        for shard in &self.shards {
            let stats = shard.reactor().stats();
            note("receive buffers held", stats.buffers_held);
        }
        found
    }

    /// Connections that its shards own.
    pub(super) fn links(&self) -> u64 {
        self.set.telemetry().gauge_total(Gauge::LinksOpen)
    }
}
