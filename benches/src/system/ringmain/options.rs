//! `KEY=VALUE` options into the settings of shards, and addresses into snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use ringmain_bench_harness::option;
use ringmain_codec::InstanceId;
use ringmain_discovery::{Freshness, Instance, Publisher, SnapshotHandle, TransportAddr};
use ringmain_reactor::{Address, DriverConfig, IdlePolicy, IoChoice};
use ringmain_shard::{ShardSet, ShardSetConfig};

/// Spin of the adaptive policy when `spin_us` is not given.
const SPIN_US: u32 = 100;
/// What a client's `home` may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HomeKind {
    /// The load is tasks of the shards.
    Local,
    /// The load is tasks of tokio, links live on shards.
    Shards,
    /// The load is tasks of tokio, and links too.
    Inline,
}

const KEYS: [&str; 7] = [
    "io",
    "idle",
    "spin_us",
    "shards",
    "home",
    "sink_bytes_max",
    "flush_every",
];

pub(super) fn check(set: &[String]) -> anyhow::Result<()> {
    for pair in set {
        let key = pair.split_once('=').map_or(pair.as_str(), |(key, _)| key);
        if !KEYS.contains(&key) {
            bail!(
                "ringmain does not know `{key}`; it knows {}",
                KEYS.join(", ")
            );
        }
    }
    Ok(())
}

pub(super) fn home(set: &[String]) -> anyhow::Result<HomeKind> {
    Ok(match option(set, "home").unwrap_or("local") {
        "local" => HomeKind::Local,
        "shards" => HomeKind::Shards,
        "inline" => HomeKind::Inline,
        other => bail!("home is local, shards or inline, not `{other}`"),
    })
}

/// Starts shards as the options say; where they may run is the process's affinity.
pub(super) fn shards(
    set: &[String],
    lanes: usize,
    driver: DriverConfig,
) -> anyhow::Result<Arc<ShardSet>> {
    let io = match option(set, "io").unwrap_or("auto") {
        "auto" => IoChoice::Auto,
        "uring" => IoChoice::Uring,
        "epoll" => IoChoice::Epoll,
        other => bail!("io is auto, uring or epoll, not `{other}`"),
    };
    let spin_us = match option(set, "spin_us") {
        Some(text) => text.parse().context("spin_us")?,
        None => SPIN_US,
    };
    let idle = match option(set, "idle").unwrap_or("park") {
        "park" => IdlePolicy::Park,
        "adaptive" => IdlePolicy::Adaptive { spin_us },
        "spin" => IdlePolicy::Spin,
        other => bail!("idle is park, adaptive or spin, not `{other}`"),
    };
    let count = match option(set, "shards") {
        Some(text) => text.parse().context("shards")?,
        None => lanes,
    };
    let config = ShardSetConfig {
        io,
        cores: vec![None; count.max(1)],
        driver: DriverConfig { idle, ..driver },
        ..ShardSetConfig::default()
    };
    Ok(Arc::new(ShardSet::start(&config).context("shards")?))
}

/// An address as a server prints it: the instance's id, then where it listens.
pub(super) fn print_address(instance: InstanceId, bound: &Address) -> String {
    format!("{instance}@{bound}")
}

/// A snapshot of the instances at `addresses`. The publisher has to be kept.
pub(super) fn snapshot(addresses: &[String]) -> anyhow::Result<(Publisher, SnapshotHandle)> {
    let endpoint = super::endpoint()?;
    let mut publisher = Publisher::new(endpoint.clone());
    let mut instances: BTreeMap<InstanceId, Vec<TransportAddr>> = BTreeMap::new();
    for text in addresses {
        let (id, address) = text.split_once('@').context("an address is ID@ADDRESS")?;
        let id: InstanceId = id.parse().context("the instance's id")?;
        let address: Address = address.parse().context("the instance's address")?;
        let transport = match address {
            Address::Ip(socket) => TransportAddr::Tcp(socket),
            Address::Unix(path) => TransportAddr::Unix(path),
        };
        instances.entry(id).or_default().push(transport);
    }
    let records = instances.into_iter();
    let records = records.map(|(id, at)| Arc::new(Instance::new(id, endpoint.clone(), at)));
    publisher.publish(records.collect(), Freshness::Current);
    let handle = publisher.handle();
    Ok((publisher, handle))
}
