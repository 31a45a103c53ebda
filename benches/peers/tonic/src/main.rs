//! System `tonic`: gRPC server streaming over one HTTP/2 connection.

mod client;
mod message;
mod server;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use peer_host::Jobs;
use ringmain_bench_harness::{
    ConnectArgs, CountingAllocator, Launcher, ServeArgs, Serving, System, entry, run_job,
};
use tokio::net::TcpListener;

use crate::client::Client;

struct Tonic;

impl System for Tonic {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        let runtime = peer_host::runtime(&args.set, 1)?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(server::serve(listener));
        Ok(Serving {
            addresses: vec![address.to_string()],
            broker_pid: None,
            keep: Box::new(runtime),
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
    entry::main(&Tonic)
}
