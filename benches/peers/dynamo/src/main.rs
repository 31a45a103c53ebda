//! Systems `dynamo_tcp`, `dynamo_quic` and `dynamo_quic0`: Dynamo's request and response planes.
//!
//! `--set response=quic` on the server chooses the QUIC response plane, `--set batch_us=0` its
//! batch interval. The client follows the server's address, which names plane and discovery files.

mod client;
mod environment;
mod message;
mod plane;
mod server;

use std::any::Any;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use peer_host::Jobs;
use ringmain_bench_harness::{
    ConnectArgs, CountingAllocator, Launcher, ServeArgs, Serving, System, entry, option, run_job,
};

use crate::client::Client;

struct Dynamo;

impl System for Dynamo {
    fn serve(&self, args: &ServeArgs) -> anyhow::Result<Serving> {
        let runtime = peer_host::runtime(&args.set, 1)?;
        let name = option(&args.set, "response").unwrap_or("tcp");
        let store = Store::create()?;
        let endpoint = runtime.block_on(server::serve(&store.0, plane::response(name)?))?;
        let address = format!("{name}:{}", store.0.display());
        let keep: (Box<dyn Any>, Store) = (Box::new((endpoint, runtime)), store);
        Ok(Serving {
            addresses: vec![address],
            broker_pid: None,
            keep: Box::new(keep),
        })
    }

    fn connect(&self, args: &ConnectArgs) -> anyhow::Result<Arc<dyn Launcher>> {
        let runtime = peer_host::runtime(&args.set, args.lanes)?;
        let address = args.addresses.first().context("no address")?;
        let (name, store) = address.split_once(':').context("no plane in the address")?;
        let connecting = Client::connect(Path::new(store), plane::response(name)?);
        let client = runtime.block_on(connecting)?;
        Ok(Arc::new(Jobs::new(runtime, args.lanes, move |on, job| {
            on.spawn(run_job(client.clone(), job));
        })))
    }
}

/// The directory of discovery's files, removed with the server.
struct Store(PathBuf);

impl Store {
    fn create() -> anyhow::Result<Self> {
        let name = format!("ringmain-peer-dynamo-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // What is left behind is a few small files in the system's temporary directory.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> anyhow::Result<ExitCode> {
    environment::enter()?;
    Ok(entry::main(&Dynamo))
}
