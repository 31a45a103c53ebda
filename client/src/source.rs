//! Where a client learns who serves an endpoint.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use ringmain_codec::EndpointId;
use ringmain_discovery::{Discovery, Error, Publisher, Registry, SnapshotHandle};
use rustc_hash::FxHashMap;

use crate::error::CallError;

/// What [`SnapshotSource::watch`] returns.
pub type Watching = Pin<Box<dyn Future<Output = Result<SnapshotHandle, Error>> + Send>>;

/// Follows endpoints. [`Discovery`] is one; tests and tools may bring their own.
pub trait SnapshotSource: Send + Sync + 'static {
    /// Follows an endpoint; asked once per endpoint and client, and not on a shard unless a
    /// `LocalClient` calls first.
    fn watch(&self, endpoint: EndpointId) -> Watching;
}

impl SnapshotSource for Discovery {
    fn watch(&self, endpoint: EndpointId) -> Watching {
        let discovery = self.clone();
        Box::pin(async move { Registry::watch(&discovery, endpoint).await })
    }
}

/// Follows the handle's own endpoint; every other one has no instances.
impl SnapshotSource for SnapshotHandle {
    fn watch(&self, endpoint: EndpointId) -> Watching {
        let own = *self.load().endpoint() == endpoint;
        let handle = if own {
            self.clone()
        } else {
            Publisher::new(endpoint).handle()
        };
        Box::pin(async move { Ok(handle) })
    }
}

/// The endpoints that a client follows, shared by its homes.
pub(crate) struct Watches {
    source: Arc<dyn SnapshotSource>,
    known: Mutex<FxHashMap<EndpointId, SnapshotHandle>>,
}

impl Watches {
    pub(crate) fn new(source: Arc<dyn SnapshotSource>) -> Self {
        Self {
            source,
            known: Mutex::default(),
        }
    }

    /// The handle, if the endpoint is followed already.
    pub(crate) fn known(&self, endpoint: &EndpointId) -> Option<SnapshotHandle> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(endpoint).cloned()
    }

    /// Whether the endpoint is followed already.
    pub(crate) fn is_known(&self, endpoint: &EndpointId) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains_key(endpoint)
    }

    /// Starts to follow an endpoint.
    pub(crate) fn watch(&self, endpoint: &EndpointId) -> Watching {
        self.source.watch(endpoint.clone())
    }

    /// Keeps what [`watch`](Self::watch) led to; of two the first one counts.
    pub(crate) fn keep(
        &self,
        endpoint: &EndpointId,
        watched: Result<SnapshotHandle, Error>,
    ) -> Result<SnapshotHandle, CallError> {
        let handle = watched.map_err(|error| CallError::Discovery {
            message: error.to_string(),
        })?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(endpoint.clone()).or_insert(handle).clone())
    }
}
