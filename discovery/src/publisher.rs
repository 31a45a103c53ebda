//! The writing end of an endpoint's snapshots.

use std::{cmp::Reverse, sync::Arc, time::Instant};

use ringmain_codec::{EndpointId, InstanceId};

use crate::{
    Instance, Member, Snapshot, SnapshotHandle, handle::Cell, id_index::Ids, slots::Slots,
};

/// Publishes the snapshots of one endpoint. One owner; readers follow through handles and never
/// wait for it.
///
/// Backends drive it; tests and tools may, too:
///
/// ```
/// use ringmain_codec::InstanceId;
/// use ringmain_discovery::{Freshness, Instance, Publisher};
///
/// let endpoint = "prod.worker.generate".parse().unwrap();
/// let mut publisher = Publisher::new(endpoint);
/// let handle = publisher.handle();
/// let id = InstanceId::new(7).unwrap();
/// let addresses = vec!["10.0.0.7:7000".parse().unwrap()];
/// let instance = Instance::new(id, handle.load().endpoint().clone(), addresses);
/// publisher.publish(vec![instance.into()], Freshness::Current);
/// assert_eq!(handle.load().members()[0].slot, 0);
/// ```
#[derive(Debug)]
pub struct Publisher {
    cell: Arc<Cell>,
    slots: Slots,
}

/// Whether a snapshot shows the registry as it is.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Freshness {
    /// Read just now.
    Current,
    /// The registry cannot be read; this is the last that was known.
    Stale,
}

impl Publisher {
    /// A publisher whose current snapshot is empty, version 0.
    #[must_use]
    pub fn new(endpoint: EndpointId) -> Self {
        Self {
            cell: Arc::new(Cell::new(Snapshot::empty(endpoint))),
            slots: Slots::default(),
        }
    }

    /// A handle that follows this publisher and keeps nothing else alive.
    #[must_use]
    pub fn handle(&self) -> SnapshotHandle {
        SnapshotHandle::new(Arc::clone(&self.cell), None)
    }

    /// Publishes the given instances, in any order; of twins the one with the highest epoch counts.
    /// Returns whether anything was different: an equal set leaves the current snapshot, and nobody
    /// is woken.
    pub fn publish(&mut self, mut instances: Vec<Arc<Instance>>, freshness: Freshness) -> bool {
        instances.sort_by_key(|instance| (instance.id, Reverse(instance.epoch)));
        instances.dedup_by_key(|instance| instance.id);
        let current = self.cell.load();
        let is_present = |id: InstanceId| {
            instances
                .binary_search_by_key(&id, |instance| instance.id)
                .is_ok()
        };
        self.slots.retain(is_present);
        let members: Vec<_> = instances
            .into_iter()
            .map(|instance| self.member(instance, current.as_ref()))
            .collect();
        let stale = freshness == Freshness::Stale;
        let first = current.version == 0;
        if !first && members == current.members && stale == current.stale {
            return false;
        }
        self.replace(&current, members, stale);
        true
    }

    /// Publishes the current members again as stale, unless they are already so marked.
    pub fn mark_stale(&mut self) -> bool {
        let current = self.cell.load();
        if current.stale {
            return false;
        }
        self.replace(&current, current.members.clone(), true);
        true
    }

    pub(crate) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    fn member(&mut self, instance: Arc<Instance>, current: &Snapshot) -> Member {
        let mut place = self.slots.place(instance.id);
        let Some(before) = current.find(instance.id) else {
            return Member {
                instance,
                slot: place.slot,
                generation: place.generation,
            };
        };
        if !instance.has_addresses_of(&before.instance)
            || instance.identity != before.instance.identity
        {
            place = self.slots.renew(place.slot);
        }
        // An equal record keeps its allocation, so that comparing snapshots stays cheap.
        let same = *instance == *before.instance;
        let instance = if same {
            Arc::clone(&before.instance)
        } else {
            instance
        };
        Member {
            instance,
            slot: place.slot,
            generation: place.generation,
        }
    }

    fn replace(&self, current: &Snapshot, members: Vec<Member>, stale: bool) {
        self.cell.replace(Snapshot {
            endpoint: current.endpoint.clone(),
            version: current.version + 1,
            ids: Ids::new(members.iter().map(|member| member.instance.id).collect()),
            members,
            slots: self.slots.len(),
            published_at: Instant::now(),
            stale,
        });
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.cell.close();
    }
}

#[cfg(test)]
mod tests;
