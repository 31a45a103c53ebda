//! Where records are kept. Each store knows its own medium; watching, debouncing, epochs, renewal
//! and publishing are the engine's, written once.

mod file;
mod memory;
mod static_list;

use std::{
    collections::BTreeSet,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use ringmain_codec::EndpointId;

pub(crate) use self::{file::FileStore, memory::MemoryStore, static_list::StaticStore};
use crate::{Error, Instance, registry::Key};

/// One place where records are kept. Called under the engine's lock, on the discovery thread or a
/// control thread; it may do short file operations and must not wait for anything else.
pub(crate) trait Store: Send + 'static {
    /// Whether records must be renewed to stay.
    fn expires(&self) -> bool;

    /// Whether others can change the records, so that reading again makes sense.
    fn is_shared(&self) -> bool;

    /// A descriptor that becomes readable when records may have changed.
    fn events(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// Empties the descriptor and says what may have changed.
    fn drain_events(&mut self) -> Changed {
        Changed::Endpoints(BTreeSet::new())
    }

    /// Asks for events of an endpoint.
    fn watch(&mut self, _endpoint: &EndpointId) {}

    /// Asks for no more events of an endpoint, and forgets what was kept for it.
    fn unwatch(&mut self, _endpoint: &EndpointId) {}

    /// Creates or replaces a record. `beat` differs in each call for the same record.
    fn put(&mut self, instance: &Arc<Instance>, beat: u64) -> Result<(), Error>;

    /// Removes a record; one that is not there is fine.
    fn remove(&mut self, key: &Key) -> Result<(), Error>;

    /// The live instances of an endpoint.
    fn read(&mut self, endpoint: &EndpointId, now: Instant) -> Result<Vec<Arc<Instance>>, Error>;

    /// When a record of the endpoint expires next unless it is renewed, as of the last reading.
    fn next_expiry(&self, _endpoint: &EndpointId) -> Option<Instant> {
        None
    }

    /// Gives every record this much more time: this process was itself not running.
    fn forgive(&mut self, _gap: Duration) {}

    /// Endpoints that have records.
    fn endpoints(&mut self) -> Result<Vec<EndpointId>, Error>;
}

/// What may have changed.
#[derive(Debug)]
pub(crate) enum Changed {
    /// Events were lost.
    All,
    /// These endpoints and no others.
    Endpoints(BTreeSet<EndpointId>),
}
