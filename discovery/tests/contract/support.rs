//! Two processes' views of one registry.

use std::{
    future::Future,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{
    Discovery, Instance, Options, Registry, RegistryUrl, Snapshot, SnapshotHandle,
};
use ringmain_telemetry::Telemetry;
use tempfile::TempDir;

/// Bound of every wait; no passing test comes near it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Times that let nothing expire within a test and find changes soon.
pub(crate) const CALM: Options = Options {
    ttl: Duration::from_secs(600),
    rescan: Duration::from_millis(20),
    debounce: Duration::from_millis(1),
};

/// A registry seen by a process that serves and by one that calls.
pub(crate) struct World {
    pub(crate) server: Discovery,
    pub(crate) caller: Discovery,
    /// Of the caller.
    pub(crate) telemetry: Arc<Telemetry>,
    dir: Option<TempDir>,
}

impl World {
    /// In one process, server and caller share what was opened.
    pub(crate) fn memory() -> Self {
        let telemetry = Telemetry::new(0);
        let server = open(RegistryUrl::Memory, &telemetry, CALM);
        Self {
            caller: server.clone(),
            server,
            telemetry,
            dir: None,
        }
    }

    pub(crate) fn file() -> Self {
        Self::file_with(CALM)
    }

    pub(crate) fn file_with(server: Options) -> Self {
        let dir = TempDir::new().expect("a directory");
        let telemetry = Telemetry::new(0);
        let url = || RegistryUrl::File(dir.path().join("registry"));
        let server = open(url(), &Telemetry::new(0), server);
        let caller = open(url(), &telemetry, CALM);
        Self {
            server,
            caller,
            telemetry,
            dir: Some(dir),
        }
    }

    /// The registry's directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir
            .as_ref()
            .expect("a registry in files")
            .path()
            .join("registry")
    }

    /// The file of a record.
    pub(crate) fn record(&self, id: u64, name: &str) -> PathBuf {
        self.path()
            .join(endpoint(name).as_str())
            .join(format!("{id:016x}.json"))
    }

    pub(crate) fn watch(&self, name: &str) -> SnapshotHandle {
        now(self.caller.watch(endpoint(name))).expect("watched")
    }
}

pub(crate) fn open(url: RegistryUrl, telemetry: &Arc<Telemetry>, options: Options) -> Discovery {
    Discovery::open_with(url, Arc::clone(telemetry), options).expect("opens")
}

pub(crate) fn endpoint(name: &str) -> EndpointId {
    format!("prod.worker.{name}")
        .parse()
        .expect("an endpoint id")
}

pub(crate) fn id(value: u64) -> InstanceId {
    InstanceId::new(value).expect("not zero")
}

pub(crate) fn instance(value: u64, name: &str, address: &str) -> Instance {
    Instance::new(
        id(value),
        endpoint(name),
        vec![address.parse().expect("an address")],
    )
}

/// Drives a future that needs no waiting.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    let Poll::Ready(output) = pin!(future).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("this backend answers at once")
    };
    output
}

/// Waits for a snapshot.
pub(crate) fn until(
    handle: &SnapshotHandle,
    what: &str,
    predicate: impl FnMut(&Snapshot) -> bool,
) -> Arc<Snapshot> {
    let found = handle
        .wait_blocking(PATIENCE, predicate)
        .expect("the watch goes on");
    found.unwrap_or_else(|| panic!("{what} never came: {:?}", handle.load()))
}

/// Waits for a fact that nothing announces.
pub(crate) fn eventually(what: &str, mut fact: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !fact() {
        assert!(Instant::now() < until, "{what} never came");
        thread::yield_now();
    }
}

pub(crate) fn ids(snapshot: &Snapshot) -> Vec<u64> {
    snapshot
        .members()
        .iter()
        .map(|member| member.instance.id.value())
        .collect()
}

pub(crate) fn write(path: &Path, text: &str) {
    let hidden = path.with_file_name(".being-written");
    std::fs::write(&hidden, text).expect("written");
    std::fs::rename(hidden, path).expect("in place");
}
