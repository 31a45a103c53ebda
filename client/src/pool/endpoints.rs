//! The snapshot of each endpoint and whom its members are in the pool.

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{CachedReader, Member, Snapshot, SnapshotHandle};
use rustc_hash::FxHashMap;

use super::peer::PeerKey;

/// Endpoints that one home follows at most.
pub(crate) const ENDPOINTS_MAX: usize = 16_384;

/// One endpoint as this home sees it.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) reader: CachedReader,
    /// The version that `slots` was brought up to.
    pub(super) version: u64,
    pub(super) turn: usize,
    /// By the member's slot: its generation and its peer.
    pub(super) slots: Vec<Option<(u32, PeerKey)>>,
}

/// The endpoints that were called so far.
#[derive(Debug, Default)]
pub(super) struct Endpoints {
    by_id: FxHashMap<EndpointId, Endpoint>,
}

impl Endpoints {
    pub(super) fn contains(&self, id: &EndpointId) -> bool {
        self.by_id.contains_key(id)
    }

    pub(super) fn is_full(&self) -> bool {
        self.by_id.len() >= ENDPOINTS_MAX
    }

    pub(super) fn insert(&mut self, id: EndpointId, handle: &SnapshotHandle) {
        let reader = handle.reader();
        // No snapshot has this version: the first look brings everything up to date.
        let endpoint = Endpoint {
            reader,
            version: u64::MAX,
            turn: 0,
            slots: Vec::new(),
        };
        self.by_id.entry(id).or_insert(endpoint);
    }

    /// Takes an endpoint out for one decision, so that the pool around it can be used.
    pub(super) fn find_mut(&mut self, id: &EndpointId) -> Option<&mut Endpoint> {
        self.by_id.get_mut(id)
    }
}

impl Endpoint {
    /// The peer of a member of the snapshot that was last brought up to date.
    pub(super) fn peer_of(&self, member: &Member) -> Option<PeerKey> {
        let &(generation, peer) = self.slots.get(member.slot as usize)?.as_ref()?;
        (generation == member.generation).then_some(peer)
    }

    /// The peer with this id.
    pub(super) fn find(&self, snapshot: &Snapshot, id: InstanceId) -> Option<PeerKey> {
        self.peer_of(snapshot.find(id)?)
    }
}
