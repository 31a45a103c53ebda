//! Systems `velo` and `velo_manual`: velo's messenger mux over TCP, with a ticket per request.
//!
//! `--set flush=manual` on the server has the application flush once per turn of the scheduler,
//! instead of velo's own policy.

mod call;
mod client;
mod flush;
mod node;
mod server;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use peer_host::Jobs;
use ringmain_bench_harness::{
    ConnectArgs, CountingAllocator, Launcher, ServeArgs, Serving, System, entry, option, run_job,
};
use velo::PeerInfo;

use crate::client::Client;

struct Velo;

impl System for Velo {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        let manual = match option(&args.set, "flush") {
            None | Some("auto") => false,
            Some("manual") => true,
            Some(other) => anyhow::bail!("flush is auto or manual, not {other}"),
        };
        let runtime = peer_host::runtime(&args.set, 1)?;
        let node = runtime.block_on(server::serve(manual))?;
        Ok(Serving {
            addresses: vec![serde_json::to_string(&node.peer_info())?],
            broker_pid: None,
            keep: Box::new((node, runtime)),
        })
    }

    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        let runtime = peer_host::runtime(&args.set, args.lanes)?;
        let address = args.addresses.first().context("no address")?;
        let server: PeerInfo = serde_json::from_str(address)?;
        let client = runtime.block_on(Client::connect(server))?;
        Ok(Arc::new(Jobs::new(runtime, args.lanes, move |on, job| {
            on.spawn(run_job(client.clone(), job));
        })))
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    entry::main(&Velo)
}
