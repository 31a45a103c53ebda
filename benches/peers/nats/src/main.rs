//! System `nats`: core NATS, items published to an inbox of each request.
//!
//! It needs `nats-server` on the path; the adapter starts and stops one of its own. Core NATS has
//! no cancel, so this peer does what an application would: one more subject for it.

mod broker;
mod client;
mod server;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use peer_host::Jobs;
use ringmain_bench_harness::{
    ConnectArgs, CountingAllocator, Launcher, ServeArgs, Serving, System, entry, run_job,
};

use crate::broker::Broker;
use crate::client::Client;

/// Where requests are published.
const CALL: &str = "bench.call";
/// Where inboxes are published whose items nobody wants any more.
const CANCEL: &str = "bench.cancel";

struct Nats;

impl System for Nats {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        let broker = Broker::start()?;
        let runtime = peer_host::runtime(&args.set, 1)?;
        runtime.block_on(server::serve(broker.address()))?;
        Ok(Serving {
            addresses: vec![broker.address().to_string()],
            broker_pid: Some(broker.pid()),
            keep: Box::new((runtime, broker)),
        })
    }

    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        let runtime = peer_host::runtime(&args.set, args.lanes)?;
        let address = args.addresses.first().context("no address")?;
        let client = runtime.block_on(Client::connect(address))?;
        Ok(Arc::new(Jobs::new(runtime, args.lanes, move |on, job| {
            on.spawn(run_job(client.clone(), job));
        })))
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    entry::main(&Nats)
}
