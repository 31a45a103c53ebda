//! Watching, renewing and publishing over any [`Store`]: one plain thread, one lock that readers
//! never take.

mod owned;
mod state;

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Instant,
};

use ringmain_codec::EndpointId;
use ringmain_telemetry::Telemetry;

use self::state::State;
use crate::{
    Error, ErrorKind, Instance, Options, Registration, SnapshotHandle,
    backend::Store,
    doorbell::Doorbell,
    registry::{Key, Owner},
};

/// What a backend of this host offers, without waiting for anybody.
pub(crate) trait Local: Send + Sync {
    fn register(self: Arc<Self>, instance: Instance) -> Result<Registration, Error>;
    fn watch(self: Arc<Self>, endpoint: EndpointId) -> Result<SnapshotHandle, Error>;
    fn list(&self, endpoint: Option<&EndpointId>) -> Result<Vec<Arc<Instance>>, Error>;
}

/// A store and what this process wants of it. Held by every clone, handle and registration; its
/// thread holds it only while it works, and ends when all of them are gone.
pub(crate) struct Engine<S: Store> {
    state: Mutex<State<S>>,
    doorbell: Arc<Doorbell>,
}

impl<S: Store> Engine<S> {
    /// Starts the discovery thread.
    pub(crate) fn start(
        store: S,
        telemetry: Arc<Telemetry>,
        options: Options,
    ) -> Result<Arc<Self>, Error> {
        let doorbell = Arc::new(Doorbell::new()?);
        let state = Mutex::new(State::new(store, telemetry, options));
        let engine = Arc::new(Self {
            state,
            doorbell: Arc::clone(&doorbell),
        });
        let weak = Arc::downgrade(&engine);
        let builder = thread::Builder::new().name("discovery".to_owned());
        let spawned = builder.spawn(move || run(&weak, &doorbell));
        spawned.map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                "the discovery thread could not be started",
            )
            .because(error)
        })?;
        Ok(engine)
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // A panic under the lock is a fault of ours that the panic hook reported; records stay
        // consistent one by one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The discovery thread.
fn run<S: Store>(engine: &Weak<Engine<S>>, doorbell: &Doorbell) {
    let mut planned = None;
    while let Some(engine) = engine.upgrade() {
        doorbell.clear();
        let (next, events) = {
            let mut state = engine.lock();
            let next = state.turn(Instant::now(), planned);
            (next, state.events())
        };
        // Not held while waiting, so that the last user's drop is the end.
        drop(engine);
        doorbell.wait(events.as_deref(), next);
        planned = next;
    }
}

impl<S: Store> Drop for Engine<S> {
    fn drop(&mut self) {
        self.doorbell.ring();
    }
}

impl<S: Store> Local for Engine<S> {
    fn register(self: Arc<Self>, instance: Instance) -> Result<Registration, Error> {
        let key = Key::of(&instance);
        let (epoch, live) = self.lock().register(instance)?;
        self.doorbell.ring();
        Ok(Registration::new(self, key, epoch, live))
    }

    fn watch(self: Arc<Self>, endpoint: EndpointId) -> Result<SnapshotHandle, Error> {
        let guard = || -> Box<dyn Any + Send + Sync> { Box::new(WatchGuard(Arc::clone(&self))) };
        let handle = self.lock().watch(endpoint, guard);
        // The thread learns when the first record expires.
        self.doorbell.ring();
        Ok(handle)
    }

    fn list(&self, endpoint: Option<&EndpointId>) -> Result<Vec<Arc<Instance>>, Error> {
        self.lock().list(endpoint, Instant::now())
    }
}

impl<S: Store> Owner for Engine<S> {
    fn update_metadata(
        &self,
        key: &Key,
        epoch: u64,
        metadata: BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let result = self.lock().update_metadata(key, epoch, metadata);
        self.doorbell.ring();
        result
    }

    fn remove(&self, key: &Key, epoch: u64) -> Result<(), Error> {
        let result = self.lock().deregister(key, epoch);
        self.doorbell.ring();
        result
    }
}

/// Keeps the engine for as long as a watch has handles, and tells it when there are none left.
struct WatchGuard<S: Store>(Arc<Engine<S>>);

impl<S: Store> Drop for WatchGuard<S> {
    fn drop(&mut self) {
        self.0.doorbell.ring();
    }
}
