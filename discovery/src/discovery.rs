//! Opening a registry.

use std::{fmt, sync::Arc, time::Duration};

use ringmain_codec::EndpointId;
use ringmain_telemetry::Telemetry;

use crate::{
    Error, ErrorKind, Instance, Registration, Registry, RegistryUrl, SnapshotHandle,
    backend::{FileStore, MemoryStore, StaticStore},
    engine::{Engine, Local},
};

/// An open registry. Cheap to clone; clones share one discovery thread, and so do all watches and
/// registrations.
///
/// ```
/// use ringmain_discovery::{Discovery, RegistryUrl};
/// use ringmain_telemetry::Telemetry;
///
/// let discovery = Discovery::open(RegistryUrl::Memory, Telemetry::new(0))?;
/// # Ok::<(), ringmain_discovery::Error>(())
/// ```
#[derive(Clone)]
pub struct Discovery {
    url: RegistryUrl,
    backend: Arc<dyn Local>,
}

/// Times of a registry.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// How long a record of ours counts without renewal; it is renewed three times in that time. 10
    /// ms to 1 h.
    pub ttl: Duration,
    /// How often everything is read again, for changes that no event told of. 1 ms to 1 h.
    pub rescan: Duration,
    /// How long changes are gathered before a snapshot is published. At most 1 s.
    pub debounce: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(10),
            rescan: Duration::from_secs(1),
            debounce: Duration::from_millis(2),
        }
    }
}

impl Options {
    /// Longest time to live, of ours and of any record that is read.
    pub(crate) const TTL_MAX: Duration = Duration::from_secs(3600);

    fn check(&self) -> Result<(), Error> {
        let ms = Duration::from_millis;
        let ttl = (ms(10)..=Self::TTL_MAX).contains(&self.ttl);
        let rescan = (ms(1)..=Duration::from_secs(3600)).contains(&self.rescan);
        if ttl && rescan && self.debounce <= ms(1000) {
            return Ok(());
        }
        let text =
            "registry times must be: ttl 10 ms to 1 h, rescan 1 ms to 1 h, debounce up to 1 s";
        Err(Error::new(ErrorKind::InvalidConfig, text))
    }
}

impl Discovery {
    /// Opens a registry with the default times and starts its discovery thread, which ends when the
    /// last clone, handle and registration is gone. Call it before threads are pinned: the thread
    /// inherits the caller's CPUs.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidConfig`] for a static list that cannot be read,
    /// [`ErrorKind::Unavailable`] for a directory that cannot be used, [`ErrorKind::Internal`] when
    /// no thread can be started.
    pub fn open(url: RegistryUrl, telemetry: Arc<Telemetry>) -> Result<Self, Error> {
        Self::open_with(url, telemetry, Options::default())
    }

    /// Like [`Discovery::open`], with other times.
    ///
    /// # Errors
    /// As there, and [`ErrorKind::InvalidConfig`] for times out of range.
    pub fn open_with(
        url: RegistryUrl,
        telemetry: Arc<Telemetry>,
        options: Options,
    ) -> Result<Self, Error> {
        options.check()?;
        let backend: Arc<dyn Local> = match &url {
            RegistryUrl::Memory => Engine::start(MemoryStore::default(), telemetry, options)?,
            RegistryUrl::File(dir) => {
                let store = FileStore::open(dir, options.ttl, Arc::clone(&telemetry))?;
                Engine::start(store, telemetry, options)?
            }
            RegistryUrl::Static(file) => {
                Engine::start(StaticStore::open(file)?, telemetry, options)?
            }
        };
        tracing::info!(registry = %url, "discovery.opened");
        Ok(Self { url, backend })
    }

    /// What was opened.
    #[must_use]
    pub fn url(&self) -> &RegistryUrl {
        &self.url
    }
}

impl Registry for Discovery {
    async fn register(&self, instance: Instance) -> Result<Registration, Error> {
        Arc::clone(&self.backend).register(instance)
    }

    async fn watch(&self, endpoint: EndpointId) -> Result<SnapshotHandle, Error> {
        Arc::clone(&self.backend).watch(endpoint)
    }

    async fn list(&self, endpoint: Option<EndpointId>) -> Result<Vec<Arc<Instance>>, Error> {
        self.backend.list(endpoint.as_ref())
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
