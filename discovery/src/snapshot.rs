//! The instances of one endpoint at one time.

use std::{sync::Arc, time::Instant};

use ringmain_codec::{EndpointId, InstanceId};

use crate::{Instance, id_index::Ids};

/// The instances of one endpoint: immutable, replaced whole, versioned.
///
/// Invariant: members are sorted by id without twins; a slot is below [`Snapshot::slots`] and
/// belongs to one member.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) endpoint: EndpointId,
    pub(crate) version: u64,
    pub(crate) members: Vec<Member>,
    /// Ids of the members in their order.
    pub(crate) ids: Ids,
    pub(crate) slots: u32,
    pub(crate) published_at: Instant,
    pub(crate) stale: bool,
}

/// One instance and its place in the tables of readers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// What is known about it.
    pub instance: Arc<Instance>,
    /// Its place in tables, its own for as long as it is present; slots are dense and reused.
    pub slot: u32,
    /// Changes when what was kept under the slot (links, evidence) belongs to another instance or
    /// to other addresses. A new epoch, other metadata or another weight leave it alone.
    pub generation: u32,
}

impl Snapshot {
    pub(crate) fn empty(endpoint: EndpointId) -> Self {
        Self {
            endpoint,
            version: 0,
            members: Vec::new(),
            ids: Ids::default(),
            slots: 0,
            published_at: Instant::now(),
            stale: false,
        }
    }

    /// The endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &EndpointId {
        &self.endpoint
    }

    /// Counts the snapshots of this watch; 0 is the empty one before the first reading.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The members, sorted by instance id.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no instance. Callers answer with a typed "no instances", at once.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member with this id: a few nanoseconds, no allocation.
    #[must_use]
    pub fn find(&self, id: InstanceId) -> Option<&Member> {
        let place = self.ids.find(id)?;
        Some(&self.members[place])
    }

    /// Length that a table by slot needs.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// When it was published, for its age.
    #[must_use]
    pub fn published_at(&self) -> Instant {
        self.published_at
    }

    /// Whether the registry could not be read since: still the best that is known.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// What became different since an earlier snapshot of the same watch. Allocates; for control
    /// threads, logs and tools, not for the request path.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Changes {
        let mut changes = Changes::default();
        for member in &self.members {
            match earlier.find(member.instance.id) {
                None => changes.added.push(member.clone()),
                Some(before) if before != member => changes.updated.push(member.clone()),
                Some(_) => {}
            }
        }
        let gone = earlier
            .members
            .iter()
            .filter(|member| self.find(member.instance.id).is_none());
        changes.removed.extend(gone.cloned());
        changes
    }
}

/// The difference between two snapshots.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Present now, absent before.
    pub added: Vec<Member>,
    /// Present in both, as it is now.
    pub updated: Vec<Member>,
    /// Absent now, as it was before.
    pub removed: Vec<Member>,
}
