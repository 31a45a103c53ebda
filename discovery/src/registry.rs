//! What every registry can do.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ringmain_codec::{EndpointId, InstanceId};

use crate::{Error, Instance, SnapshotHandle};

/// The registry operations. For control threads; nothing here is needed while a stream is in
/// flight.
///
/// The memory, file and static backends answer when first polled, so their futures may be driven by
/// anything.
pub trait Registry: Send + Sync {
    /// Registers an instance until the returned value is dropped. A registration of the same id and
    /// endpoint by this process is replaced, under the next epoch and without a gap.
    ///
    /// # Errors
    /// [`InvalidInstance`](crate::ErrorKind::InvalidInstance) when readers would skip it,
    /// [`Unavailable`](crate::ErrorKind::Unavailable) when the registry cannot be written now.
    fn register(
        &self,
        instance: Instance,
    ) -> impl Future<Output = Result<Registration, Error>> + Send;

    /// Follows an endpoint. Watches of one endpoint are shared; the watch ends when the last handle
    /// is dropped. The handle already shows what is registered; if the registry cannot be read now,
    /// an empty snapshot marked stale.
    ///
    /// # Errors
    /// [`Internal`](crate::ErrorKind::Internal) when the watch cannot be set up.
    fn watch(
        &self,
        endpoint: EndpointId,
    ) -> impl Future<Output = Result<SnapshotHandle, Error>> + Send;

    /// Lists the instances of one endpoint or of all, sorted by endpoint and id. A record whose
    /// owner died shows until this process has watched it miss its time.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) when the registry cannot be read now.
    fn list(
        &self,
        endpoint: Option<EndpointId>,
    ) -> impl Future<Output = Result<Vec<Arc<Instance>>, Error>> + Send;
}

/// Names one record: an endpoint and the process that serves it.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) struct Key {
    pub(crate) endpoint: EndpointId,
    pub(crate) id: InstanceId,
}

impl Key {
    pub(crate) fn of(instance: &Instance) -> Self {
        Self {
            endpoint: instance.endpoint.clone(),
            id: instance.id,
        }
    }
}

/// What a backend does for its registrations. A call about another epoch than the current one is
/// refused, so that a replaced registration cannot harm its successor.
pub(crate) trait Owner: Send + Sync {
    fn update_metadata(
        &self,
        key: &Key,
        epoch: u64,
        metadata: BTreeMap<String, String>,
    ) -> Result<(), Error>;
    fn remove(&self, key: &Key, epoch: u64) -> Result<(), Error>;
}

/// An instance's presence in a registry. Dropping it removes the record.
#[must_use = "dropping a registration removes it"]
pub struct Registration {
    owner: Arc<dyn Owner>,
    key: Key,
    epoch: u64,
    live: Arc<AtomicBool>,
    removed: bool,
}

impl Registration {
    pub(crate) fn new(owner: Arc<dyn Owner>, key: Key, epoch: u64, live: Arc<AtomicBool>) -> Self {
        Self {
            owner,
            key,
            epoch,
            live,
            removed: false,
        }
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &EndpointId {
        &self.key.endpoint
    }

    /// The process.
    #[must_use]
    pub fn id(&self) -> InstanceId {
        self.key.id
    }

    /// Which registration of this endpoint by this process it is.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the record was renewed at the last attempt. When it was not, renewing goes on by
    /// itself, and serving must go on, too: show it as degraded, not as unready.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed)
    }

    /// Replaces the metadata. Readers see a new snapshot; links stay.
    ///
    /// # Errors
    /// [`NotRegistered`](crate::ErrorKind::NotRegistered) when a later registration replaced this
    /// one, [`InvalidInstance`](crate::ErrorKind::InvalidInstance) when it is too large,
    /// [`Unavailable`](crate::ErrorKind::Unavailable) when the registry cannot be written now; the
    /// new metadata then goes out with the next renewal.
    pub async fn update_metadata(&self, metadata: BTreeMap<String, String>) -> Result<(), Error> {
        self.owner.update_metadata(&self.key, self.epoch, metadata)
    }

    /// Removes the record and says whether that succeeded. Without effect when a later registration
    /// replaced this one.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) when the registry cannot be written now;
    /// readers then see the record expire, because it is no longer renewed.
    pub async fn deregister(mut self) -> Result<(), Error> {
        self.removed = true;
        self.owner.remove(&self.key, self.epoch)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        if let Err(error) = self.owner.remove(&self.key, self.epoch) {
            let Key { endpoint, id } = &self.key;
            tracing::warn!(%endpoint, instance = %id, %error, "registration.not_removed");
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, epoch, .. } = self;
        f.debug_struct("Registration")
            .field("key", key)
            .field("epoch", epoch)
            .finish_non_exhaustive()
    }
}
