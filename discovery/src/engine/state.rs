//! Everything under the engine's lock.

use std::{
    any::Any,
    collections::BTreeMap,
    os::fd::OwnedFd,
    sync::{Arc, Weak, atomic::AtomicBool},
    time::{Duration, Instant},
};

use ringmain_codec::EndpointId;
use ringmain_telemetry::{Counter, Gauge, Telemetry};

use super::owned::Owned;
use crate::{
    Error, ErrorKind, Freshness, Instance, Options, Publisher, SnapshotHandle,
    backend::{Changed, Store},
    handle::Shared,
    registry::Key,
};

/// A store, who follows it, and what this process registered in it.
pub(crate) struct State<S> {
    store: S,
    telemetry: Arc<Telemetry>,
    options: Options,
    watches: BTreeMap<EndpointId, Watch>,
    owned: BTreeMap<Key, Owned>,
    /// Last epoch per record, kept after its end: a later registration must be told from an earlier
    /// one.
    epochs: BTreeMap<Key, u64>,
    dirty_since: Option<Instant>,
    rescan_at: Option<Instant>,
    renew_at: Option<Instant>,
}

/// One endpoint that is followed.
struct Watch {
    publisher: Publisher,
    /// What handles share; gone when the last of them is.
    shared: Weak<Shared>,
    dirty: bool,
    stale: bool,
}

impl<S: Store> State<S> {
    pub(crate) fn new(store: S, telemetry: Arc<Telemetry>, options: Options) -> Self {
        Self {
            store,
            telemetry,
            options,
            watches: BTreeMap::new(),
            owned: BTreeMap::new(),
            epochs: BTreeMap::new(),
            dirty_since: None,
            rescan_at: None,
            renew_at: None,
        }
    }

    pub(crate) fn register(
        &mut self,
        mut instance: Instance,
    ) -> Result<(u64, Arc<AtomicBool>), Error> {
        check(&instance)?;
        let key = Key::of(&instance);
        let last = self.epochs.get(&key).copied().unwrap_or(0);
        let epoch = instance.epoch.max(last.saturating_add(1));
        instance.epoch = epoch;
        let mut owned = Owned::new(Arc::new(instance));
        if let Err(error) = owned.renew(&mut self.store, &self.telemetry) {
            owned.settle(&self.telemetry);
            return Err(error);
        }
        let live = Arc::clone(&owned.live);
        self.epochs.insert(key.clone(), epoch);
        self.touch(&key.endpoint);
        tracing::info!(endpoint = %key.endpoint, instance = %key.id, epoch, "registration.added");
        if let Some(replaced) = self.owned.insert(key, owned) {
            replaced.settle(&self.telemetry);
        }
        Ok((epoch, live))
    }

    pub(crate) fn update_metadata(
        &mut self,
        key: &Key,
        epoch: u64,
        metadata: BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let current = self
            .owned
            .get_mut(key)
            .filter(|owned| owned.instance.epoch == epoch);
        let owned = current.ok_or_else(|| {
            Error::new(
                ErrorKind::NotRegistered,
                "a later registration replaced this one",
            )
        })?;
        let instance = Instance {
            metadata,
            ..(*owned.instance).clone()
        };
        check(&instance)?;
        owned.instance = Arc::new(instance);
        let result = owned.renew(&mut self.store, &self.telemetry);
        self.touch(&key.endpoint);
        result
    }

    pub(crate) fn deregister(&mut self, key: &Key, epoch: u64) -> Result<(), Error> {
        if self
            .owned
            .get(key)
            .is_none_or(|owned| owned.instance.epoch != epoch)
        {
            return Ok(());
        }
        if let Some(owned) = self.owned.remove(key) {
            owned.settle(&self.telemetry);
        }
        self.touch(&key.endpoint);
        let removed = self.store.remove(key);
        if removed.is_err() {
            self.telemetry.process().inc(Counter::RegistryErrors);
        }
        tracing::info!(endpoint = %key.endpoint, instance = %key.id, epoch, "registration.removed");
        removed
    }

    pub(crate) fn watch(
        &mut self,
        endpoint: EndpointId,
        guard: impl FnOnce() -> Box<dyn Any + Send + Sync>,
    ) -> SnapshotHandle {
        if let Some(shared) = self
            .watches
            .get(&endpoint)
            .and_then(|watch| watch.shared.upgrade())
        {
            return SnapshotHandle::from_shared(shared);
        }
        self.end_watches();
        self.store.watch(&endpoint);
        let publisher = Publisher::new(endpoint.clone());
        let handle = SnapshotHandle::new(Arc::clone(publisher.cell()), Some(guard()));
        let shared = Arc::downgrade(handle.shared());
        let mut watch = Watch {
            publisher,
            shared,
            dirty: false,
            stale: false,
        };
        watch.read(&endpoint, &mut self.store, &self.telemetry, Instant::now());
        self.watches.insert(endpoint, watch);
        handle
    }

    pub(crate) fn list(
        &mut self,
        endpoint: Option<&EndpointId>,
        now: Instant,
    ) -> Result<Vec<Arc<Instance>>, Error> {
        let endpoints =
            endpoint.map_or_else(|| self.store.endpoints(), |one| Ok(vec![one.clone()]))?;
        let mut all = Vec::new();
        for endpoint in endpoints {
            all.extend(self.store.read(&endpoint, now)?);
            if !self.watches.contains_key(&endpoint) {
                self.store.unwatch(&endpoint);
            }
        }
        all.sort_by(|one, other| (&one.endpoint, one.id).cmp(&(&other.endpoint, other.id)));
        Ok(all)
    }

    pub(crate) fn events(&self) -> Option<Arc<OwnedFd>> {
        self.store.events()
    }

    /// Does all that is due and says when something is due next. `planned` is what the turn before
    /// said.
    pub(crate) fn turn(&mut self, now: Instant, planned: Option<Instant>) -> Option<Instant> {
        self.forgive(now, planned);
        self.end_watches();
        match self.store.drain_events() {
            Changed::All => self.touch_all(now),
            Changed::Endpoints(endpoints) => {
                endpoints.iter().for_each(|endpoint| self.touch(endpoint))
            }
        }
        if self.store.is_shared() {
            let rescan = self.options.rescan;
            if self.rescan_at.is_some_and(|at| at <= now) {
                self.touch_all(now);
            }
            keep_timer(&mut self.rescan_at, now, rescan, !self.watches.is_empty());
        }
        self.renew(now);
        self.publish(now);
        self.next_wake()
    }

    /// A turn that comes late means that this process stood still: nobody's record is to blame for
    /// that.
    fn forgive(&mut self, now: Instant, planned: Option<Instant>) {
        let late = planned.map_or(Duration::ZERO, |planned| {
            now.saturating_duration_since(planned)
        });
        if late > self.options.ttl / 3 {
            self.store.forgive(late);
        }
    }

    fn end_watches(&mut self) {
        let (store, telemetry) = (&mut self.store, &self.telemetry);
        self.watches.retain(|endpoint, watch| {
            let followed = watch.shared.strong_count() > 0;
            if !followed {
                store.unwatch(endpoint);
                watch.set_stale(false, telemetry);
            }
            followed
        });
    }

    /// Marks an endpoint to be read again when the debounce time is over.
    fn touch(&mut self, endpoint: &EndpointId) {
        if let Some(watch) = self.watches.get_mut(endpoint) {
            watch.dirty = true;
            self.dirty_since.get_or_insert_with(Instant::now);
        }
    }

    fn touch_all(&mut self, now: Instant) {
        for watch in self.watches.values_mut() {
            watch.dirty = true;
            self.dirty_since.get_or_insert(now);
        }
    }

    fn renew(&mut self, now: Instant) {
        if !self.store.expires() {
            return;
        }
        if self.renew_at.is_some_and(|at| at <= now) {
            for owned in self.owned.values_mut() {
                // A failure was counted and told; the next renewal tries again.
                owned
                    .renew(&mut self.store, &self.telemetry)
                    .unwrap_or_default();
            }
        }
        keep_timer(
            &mut self.renew_at,
            now,
            self.options.ttl / 3,
            !self.owned.is_empty(),
        );
    }

    fn publish(&mut self, now: Instant) {
        let settled = self
            .dirty_since
            .is_some_and(|since| since + self.options.debounce <= now);
        for (endpoint, watch) in &mut self.watches {
            let expired = self.store.next_expiry(endpoint).is_some_and(|at| at <= now);
            if expired || (settled && watch.dirty) {
                watch.read(endpoint, &mut self.store, &self.telemetry, now);
            }
        }
        if settled {
            self.dirty_since = None;
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let dirty = self.dirty_since.map(|since| since + self.options.debounce);
        let expiries = self
            .watches
            .keys()
            .filter_map(|endpoint| self.store.next_expiry(endpoint));
        let timers = [dirty, self.rescan_at, self.renew_at];
        timers.into_iter().flatten().chain(expiries).min()
    }
}

impl Watch {
    /// Reads the endpoint and publishes what is new; what cannot be read stays, marked stale.
    fn read<S: Store>(
        &mut self,
        endpoint: &EndpointId,
        store: &mut S,
        telemetry: &Telemetry,
        now: Instant,
    ) {
        self.dirty = false;
        let published = match store.read(endpoint, now) {
            Ok(instances) => {
                self.set_stale(false, telemetry);
                self.publisher.publish(instances, Freshness::Current)
            }
            Err(error) => {
                telemetry.process().inc(Counter::RegistryErrors);
                if !self.stale {
                    tracing::warn!(%endpoint, %error, "snapshot.stale");
                }
                self.set_stale(true, telemetry);
                self.publisher.mark_stale()
            }
        };
        if published {
            telemetry.process().inc(Counter::SnapshotsPublished);
        }
    }

    fn set_stale(&mut self, stale: bool, telemetry: &Telemetry) {
        match (self.stale, stale) {
            (false, true) => telemetry.process().gauge_add(Gauge::SnapshotsStale, 1),
            (true, false) => telemetry.process().gauge_sub(Gauge::SnapshotsStale, 1),
            (true, true) | (false, false) => {}
        }
        self.stale = stale;
    }
}

fn check(instance: &Instance) -> Result<(), Error> {
    instance
        .check()
        .map_err(|error| Error::new(ErrorKind::InvalidInstance, error.to_string()))
}

/// Runs a timer only while it is wanted; one that is due starts again from now.
fn keep_timer(timer: &mut Option<Instant>, now: Instant, every: Duration, wanted: bool) {
    *timer = match *timer {
        _ if !wanted => None,
        Some(at) if at > now => Some(at),
        Some(_) | None => Some(now + every),
    };
}
