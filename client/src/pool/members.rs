//! From the members of a snapshot to peers.

use std::sync::Arc;

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::Snapshot;

use super::endpoints::Endpoint;
use super::peer::Peer;
use super::{PeerKey, Place, Pool, Target, find};
use crate::call::Request;

impl<K: Clone + PartialEq> Pool<K> {
    /// Brings an endpoint's table up to a new snapshot: new members get their peer, and peers
    /// that no endpoint names any more lose their links once idle.
    pub(super) fn reconcile(&mut self, id: &EndpointId, snapshot: &Snapshot) {
        let Some(endpoint) = self.endpoints.find_mut(id) else {
            return;
        };
        let mut before = std::mem::take(&mut endpoint.slots);
        let mut slots = vec![None; snapshot.slots() as usize];
        for member in snapshot.members() {
            let slot = member.slot as usize;
            let known = before.get_mut(slot).and_then(Option::take);
            let peer = match known {
                Some((generation, peer)) if generation == member.generation => peer,
                known => {
                    let peer = self.adopt(Target::new(&member.instance));
                    if let Some((_, peer)) = known {
                        self.release(peer);
                    }
                    peer
                }
            };
            slots[slot] = Some((member.generation, peer));
        }
        for (_, peer) in before.into_iter().flatten() {
            self.release(peer);
        }
        if let Some(endpoint) = self.endpoints.find_mut(id) {
            endpoint.slots = slots;
            endpoint.version = snapshot.version();
        }
    }

    /// The peer for a target, with one reference more.
    pub(super) fn adopt(&mut self, target: Target) -> PeerKey {
        let id = target.instance;
        if let Some(&key) = self.by_id.get(&id) {
            if let Some(peer) = find(&mut self.peers, key) {
                peer.refs += 1;
                if *peer.target != target {
                    self.change_record(key, target);
                }
            }
            return key;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.peers.push(Place {
                generation: 0,
                peer: None,
            });
            u32::try_from(self.peers.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.peers[index as usize];
        let mut peer = Peer::new(Arc::new(target));
        peer.refs = 1;
        place.peer = Some(peer);
        let key = PeerKey {
            index,
            generation: place.generation,
        };
        self.by_id.insert(id, key);
        key
    }

    /// Other addresses: links and evidence of the old ones mean nothing any more.
    pub(super) fn change_record(&mut self, key: PeerKey, target: Target) {
        let Some(peer) = find(&mut self.peers, key) else {
            return;
        };
        peer.target = Arc::new(target);
        peer.record = peer.record.wrapping_add(1);
        if peer.inhibition.take().is_some() {
            self.inhibited -= 1;
        }
        self.links -= peer.links.len();
        self.retired.append(&mut peer.links);
    }

    pub(super) fn release(&mut self, key: PeerKey) {
        if let Some(peer) = find(&mut self.peers, key) {
            peer.refs -= 1;
            if peer.refs == 0 {
                self.links -= peer.links.len();
                self.retired.append(&mut peer.links);
            }
        }
        self.forget_if_unused(key);
    }

    /// A peer that no endpoint names is kept only for the calls that still wait for it.
    pub(super) fn forget_if_unused(&mut self, key: PeerKey) {
        let Some(peer) = find(&mut self.peers, key) else {
            return;
        };
        if peer.refs > 0 || peer.dialing || !peer.waiting.is_empty() {
            return;
        }
        self.by_id.remove(&peer.target.instance);
        if peer.inhibition.is_some() {
            self.inhibited -= 1;
        }
        self.links -= peer.links.len();
        self.retired.append(&mut peer.links);
        let place = &mut self.peers[key.index as usize];
        place.peer = None;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.index);
    }
}

/// Picks a member that was not tried: one that is not set aside, else the one whose failure is
/// the longest ago.
pub(super) fn choose_member<K>(
    peers: &[Place<K>],
    endpoint: &mut Endpoint,
    snapshot: &Snapshot,
    request: &Request,
    tried: &[InstanceId],
) -> Option<(PeerKey, InstanceId)> {
    let members = snapshot.members();
    let slots = &endpoint.slots;
    let peer_at = |index: usize| {
        let (_, key) = slots.get(members[index].slot as usize).copied().flatten()?;
        let place = peers.get(key.index as usize)?;
        place.peer.as_ref().map(|peer| (key, peer))
    };
    let untried = |index: usize| !tried.contains(&members[index].instance.id);
    let available = |index: usize| {
        untried(index) && peer_at(index).is_some_and(|(_, peer)| peer.inhibition.is_none())
    };
    let turn = &mut endpoint.turn;
    let picked = request.policy.pick(members.len(), turn, available);
    let index = picked.or_else(|| {
        let failed_at = |index: &usize| {
            peer_at(*index)
                .and_then(|(_, peer)| peer.inhibition)
                .map(|i| i.failed_at())
        };
        (0..members.len())
            .filter(|&index| untried(index))
            .min_by_key(failed_at)
    })?;
    peer_at(index).map(|(key, _)| (key, members[index].instance.id))
}
