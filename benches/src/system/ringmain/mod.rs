//! The request plane itself, on its shards.
//!
//! `--set` keys: `io` (`uring`, `epoll`, `auto`), `idle` (`park`, `adaptive`, `spin`), `spin_us`,
//! `shards`; of a client also `home` (`local`: the load runs on the shards; `shards`: the load
//! runs on tokio and links live on shards; `inline`: both in tokio).

mod client;
mod engine;
mod options;
mod server;

use std::sync::Arc;

use ringmain_bench_harness::{ConnectArgs, Launcher, ServeArgs, Serving, System};
use ringmain_codec::EndpointId;

/// What every server of this system serves.
const ENDPOINT: &str = "bench.worker.generate";

/// The request plane.
pub(super) struct Ringmain;

impl System for Ringmain {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        server::serve(args)
    }

    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        client::connect(args)
    }
}

fn endpoint() -> anyhow::Result<EndpointId> {
    Ok(ENDPOINT.parse()?)
}
