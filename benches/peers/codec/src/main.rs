//! Systems `codec_tokio_uring` and `codec_glommio`: our wire protocol, with our codec, on other
//! io_uring runtimes. They keep the choice of an own reactor under test.
//!
//! The server works on one thread of the runtime that `--set runtime=glommio` (or `tokio_uring`)
//! names; the client is the same for both, on plain tokio. Policies are those of `tokio_mux`:
//! whatever is ready adds its frames before one send takes them.

mod client;
mod glommio;
mod inbox;
mod link;
mod reactor;
mod server;
mod tokio_uring;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use peer_host::Jobs;
use ringmain_bench_harness::{
    ConnectArgs, CountingAllocator, Launcher, ServeArgs, Serving, System, entry, option, run_job,
};

use crate::client::Client;

/// The endpoint that is served and called.
const ENDPOINT: &str = "bench.worker.generate";
/// Unsent bytes at which producers wait.
const UNSENT_BYTES_MAX: usize = 256 * 1024;
/// Room for one read.
const READ_BYTES: usize = 64 * 1024;

struct Codec;

impl System for Codec {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        let address = match option(&args.set, "runtime") {
            Some("tokio_uring") => tokio_uring::start()?,
            Some("glommio") => glommio::start()?,
            _ => anyhow::bail!("runtime is tokio_uring or glommio"),
        };
        Ok(Serving {
            addresses: vec![address.to_string()],
            broker_pid: None,
            // Its thread lives as long as the process.
            keep: Box::new(()),
        })
    }

    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        let runtime = peer_host::runtime(&args.set, args.lanes)?;
        let address = args.addresses.first().context("no address")?.parse()?;
        let client = runtime.block_on(Client::connect(address))?;
        Ok(Arc::new(Jobs::new(runtime, args.lanes, move |on, job| {
            on.spawn(run_job(client.clone(), job));
        })))
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    entry::main(&Codec)
}
