//! Which link a call goes out on, as a value: peers, dials, calls that wait, evidence.
//!
//! ```text
//! choose (snapshot, evidence) -> acquire -> Ready(link)
//!                                       \-> Wait(key) -- dialed / dial_failed --> settled
//! ```
//!
//! The home does what the pool asks for: it makes the dials of [`Pool::next_dial`], closes the
//! links of [`Pool::next_retired`], and reports what became of links. `K` is its name of a link.

mod endpoints;
mod peer;
mod target;
mod waiters;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::{Snapshot, SnapshotHandle};
use rustc_hash::FxHashMap;

use self::endpoints::{Endpoint, Endpoints};
use self::peer::Peer;
pub(crate) use self::peer::{DialKey, PeerKey};
pub(crate) use self::target::{DialFailure, Target};
pub(crate) use self::waiters::WaitKey;
use self::waiters::Waiters;
use crate::call::Request;
use crate::config::ClientConfig;
use crate::error::CallError;
use crate::inhibit::{Backoff, Inhibition};
use crate::pick::pick;

/// Bounds of one home's pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolConfig {
    pub(crate) links_per_instance: usize,
    pub(crate) links_max: usize,
    pub(crate) dials_max: usize,
    pub(crate) pending_calls_max: usize,
    pub(crate) backoff: Backoff,
}

impl PoolConfig {
    /// The share of one of `homes` equal homes.
    pub(crate) fn new(config: &ClientConfig, homes: usize) -> Self {
        Self {
            links_per_instance: config.links_per_instance.max(1),
            links_max: (config.links_max / homes.max(1)).max(1),
            dials_max: config.dials_max.max(1),
            pending_calls_max: config.pending_calls_max,
            backoff: Backoff {
                min: config.backoff_min,
                max: config.backoff_max,
            },
        }
    }
}

/// Whom a call goes to.
#[derive(Debug)]
pub(crate) enum Chosen {
    Peer(PeerKey, InstanceId),
    /// The endpoint is not followed yet: see [`Pool::follow`].
    NotFollowed,
    /// Nothing was read from the registry yet.
    NotRead(SnapshotHandle),
}

/// What a call gets from its peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Acquired<K> {
    Ready(K),
    Wait(WaitKey),
}

/// A dial that the home makes now.
#[derive(Clone, Debug)]
pub(crate) struct Dial {
    pub(crate) key: DialKey,
    pub(crate) target: Arc<Target>,
}

/// The links of one home and the calls that wait for them.
#[derive(Debug)]
pub(crate) struct Pool<K> {
    config: PoolConfig,
    endpoints: Endpoints,
    peers: Vec<Place<K>>,
    free: Vec<u32>,
    by_id: FxHashMap<InstanceId, PeerKey>,
    waiters: Waiters<K>,
    queue: VecDeque<DialKey>,
    dials: usize,
    links: usize,
    /// Peers set aside, and when the first of them may be probed.
    inhibited: usize,
    probe_at: Option<Instant>,
    inhibited_total: u64,
    retired: Vec<K>,
    wakers: Vec<Waker>,
}

#[derive(Debug)]
struct Place<K> {
    generation: u32,
    peer: Option<Peer<K>>,
}

impl<K: Clone + PartialEq> Pool<K> {
    pub(crate) fn new(config: PoolConfig) -> Self {
        Self {
            config,
            endpoints: Endpoints::default(),
            peers: Vec::new(),
            free: Vec::new(),
            by_id: FxHashMap::default(),
            waiters: Waiters::default(),
            queue: VecDeque::new(),
            dials: 0,
            links: 0,
            inhibited: 0,
            probe_at: None,
            inhibited_total: 0,
            retired: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// Follows an endpoint from now on.
    pub(crate) fn follow(
        &mut self,
        endpoint: &EndpointId,
        handle: &SnapshotHandle,
    ) -> Result<(), CallError> {
        if !self.endpoints.contains(endpoint) && self.endpoints.is_full() {
            return Err(CallError::Overloaded {
                limit: "endpoints_max",
            });
        }
        self.endpoints.insert(endpoint.clone(), handle);
        Ok(())
    }

    /// Chooses who takes the call, out of one snapshot; nobody in `tried` again.
    pub(crate) fn choose(
        &mut self,
        now: Instant,
        request: &Request,
        tried: &[InstanceId],
    ) -> Result<Chosen, CallError> {
        let Some(endpoint) = self.endpoints.find_mut(&request.endpoint) else {
            return Ok(Chosen::NotFollowed);
        };
        let snapshot = Arc::clone(endpoint.reader.load());
        if snapshot.version() == 0 && snapshot.is_empty() {
            return Ok(Chosen::NotRead(endpoint.reader.handle().clone()));
        }
        if endpoint.version != snapshot.version() {
            self.reconcile(&request.endpoint, &snapshot);
        }
        if self.probe_at.is_some_and(|at| at <= now) {
            self.probe(now);
        }
        let nobody = || CallError::NoInstances {
            endpoint: request.endpoint.clone(),
        };
        let Some(endpoint) = self.endpoints.find_mut(&request.endpoint) else {
            return Err(nobody());
        };
        if let Some(instance) = request.instance {
            let unknown = || CallError::UnknownInstance {
                endpoint: request.endpoint.clone(),
                instance,
            };
            let peer = endpoint.find(&snapshot, instance).ok_or_else(unknown)?;
            return Ok(Chosen::Peer(peer, instance));
        }
        let chosen = choose_member(&self.peers, endpoint, &snapshot, request, tried);
        chosen
            .map(|(peer, instance)| Chosen::Peer(peer, instance))
            .ok_or_else(nobody)
    }

    /// A link to the peer, at once or when its dial is done.
    pub(crate) fn acquire(&mut self, key: PeerKey) -> Result<Acquired<K>, CallError> {
        let links_wanted = self.config.links_per_instance;
        let Some(peer) = find(&mut self.peers, key) else {
            return Err(CallError::Closed);
        };
        if let Some(link) = peer.next_link() {
            let more = peer.links.len() < links_wanted && peer.inhibition.is_none();
            if more && !peer.dialing && self.has_room() {
                self.queue_dial(key);
            }
            return Ok(Acquired::Ready(link));
        }
        let dialing = peer.dialing;
        if self.waiters.len() >= self.config.pending_calls_max {
            return Err(CallError::Overloaded {
                limit: "pending_calls_max",
            });
        }
        if !dialing {
            if !self.has_room() {
                return Err(CallError::Overloaded { limit: "links_max" });
            }
            self.queue_dial(key);
        }
        let wait = self.waiters.insert();
        if let Some(peer) = find(&mut self.peers, key) {
            peer.waiting.push(wait);
        }
        Ok(Acquired::Wait(wait))
    }

    /// What became of a wait.
    pub(crate) fn poll_wait(
        &mut self,
        wait: WaitKey,
        cx: &Context<'_>,
    ) -> Poll<Option<Result<K, DialFailure>>> {
        self.waiters.poll(wait, cx)
    }

    /// The call no longer waits.
    pub(crate) fn cancel_wait(&mut self, peer: PeerKey, wait: WaitKey) {
        if self.waiters.cancel(wait)
            && let Some(peer) = find(&mut self.peers, peer)
        {
            peer.waiting.retain(|&known| known != wait);
        }
    }

    /// The next dial to make, within `dials_max`.
    pub(crate) fn next_dial(&mut self) -> Option<Dial> {
        while self.dials < self.config.dials_max {
            let key = self.queue.pop_front()?;
            if let Some(peer) = find(&mut self.peers, key.peer) {
                // The record may have changed while the dial waited: dial the new one.
                let key = DialKey {
                    record: peer.record,
                    ..key
                };
                let target = Arc::clone(&peer.target);
                self.dials += 1;
                return Some(Dial { key, target });
            }
        }
        None
    }

    /// A dial and its handshake succeeded. False: the link is not wanted any more; close it.
    pub(crate) fn dialed(&mut self, key: DialKey, link: K) -> bool {
        self.dials -= 1;
        let Some(peer) = find(&mut self.peers, key.peer) else {
            return false;
        };
        if peer.record != key.record {
            let wanted = !peer.waiting.is_empty();
            peer.dialing = false;
            if wanted {
                self.queue_dial(key.peer);
            }
            return false;
        }
        peer.dialing = false;
        peer.links.push(link.clone());
        self.links += 1;
        if peer.inhibition.take().is_some() {
            self.inhibited -= 1;
        }
        for wait in std::mem::take(&mut peer.waiting) {
            self.wakers
                .extend(self.waiters.settle(wait, Ok(link.clone())));
        }
        self.forget_if_unused(key.peer);
        true
    }

    /// A dial or its handshake failed: whoever waits for it hears so.
    pub(crate) fn dial_failed(&mut self, key: DialKey, failure: &DialFailure, now: Instant) {
        self.dials -= 1;
        let Some(peer) = find(&mut self.peers, key.peer) else {
            return;
        };
        peer.dialing = false;
        if peer.record != key.record {
            if !peer.waiting.is_empty() {
                self.queue_dial(key.peer);
            }
            return;
        }
        for wait in std::mem::take(&mut peer.waiting) {
            self.wakers
                .extend(self.waiters.settle(wait, Err(failure.clone())));
        }
        self.inhibit(key.peer, now);
        self.forget_if_unused(key.peer);
    }

    /// A link takes no new streams, or is gone; `at_fault` sets the instance aside.
    pub(crate) fn link_ended(&mut self, key: PeerKey, link: &K, at_fault: bool, now: Instant) {
        let Some(peer) = find(&mut self.peers, key) else {
            return;
        };
        let before = peer.links.len();
        peer.links.retain(|known| known != link);
        let known = peer.links.len() < before;
        if known {
            self.links -= 1;
            if at_fault {
                self.inhibit(key, now);
            }
        }
        self.forget_if_unused(key);
    }

    /// A link takes no new streams for a reason of its own; those it has go on.
    pub(crate) fn retire(&mut self, key: PeerKey, link: &K) {
        let Some(peer) = find(&mut self.peers, key) else {
            return;
        };
        let before = peer.links.len();
        peer.links.retain(|known| known != link);
        if peer.links.len() < before {
            self.links -= 1;
            self.retired.push(link.clone());
        }
    }

    /// The next link that no call will use again: close it once its streams have ended.
    pub(crate) fn next_retired(&mut self) -> Option<K> {
        self.retired.pop()
    }

    /// Takes every link out, for the client's end.
    pub(crate) fn take_links(&mut self) -> Vec<K> {
        let mut links = std::mem::take(&mut self.retired);
        for peer in self
            .peers
            .iter_mut()
            .filter_map(|place| place.peer.as_mut())
        {
            links.append(&mut peer.links);
        }
        self.links = 0;
        links
    }

    /// Wakers of calls whose wait was settled, to be fired once no lock is held.
    pub(crate) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers)
    }

    /// How often an instance was set aside since this was last asked.
    pub(crate) const fn take_inhibited_total(&mut self) -> u64 {
        std::mem::replace(&mut self.inhibited_total, 0)
    }

    fn has_room(&self) -> bool {
        self.links + self.dials + self.queue.len() < self.config.links_max
    }

    fn queue_dial(&mut self, key: PeerKey) {
        if let Some(peer) = find(&mut self.peers, key) {
            peer.dialing = true;
            self.queue.push_back(DialKey {
                peer: key,
                record: peer.record,
            });
        }
    }

    fn inhibit(&mut self, key: PeerKey, now: Instant) {
        let Some(peer) = find(&mut self.peers, key) else {
            return;
        };
        let inhibition = Inhibition::failed(peer.inhibition, self.config.backoff, now);
        if peer.inhibition.replace(inhibition).is_none() {
            self.inhibited += 1;
            self.inhibited_total += 1;
        }
        let at = inhibition.probe_at();
        self.probe_at = Some(self.probe_at.map_or(at, |known| known.min(at)));
    }

    /// Queues one dial for each instance whose pause is over.
    fn probe(&mut self, now: Instant) {
        self.probe_at = None;
        if self.inhibited == 0 {
            return;
        }
        for index in 0..self.peers.len() {
            let place = &self.peers[index];
            let Some(peer) = &place.peer else { continue };
            let Some(inhibition) = peer.inhibition else {
                continue;
            };
            if peer.dialing {
                continue;
            }
            if inhibition.probe_at() <= now && self.has_room() {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                self.queue_dial(PeerKey {
                    index,
                    generation: place.generation,
                });
            } else {
                let at = inhibition.probe_at();
                self.probe_at = Some(self.probe_at.map_or(at, |known| known.min(at)));
            }
        }
    }

    /// Brings an endpoint's table up to a new snapshot: new members get their peer, and peers
    /// that no endpoint names any more lose their links once idle.
    fn reconcile(&mut self, id: &EndpointId, snapshot: &Snapshot) {
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
    fn adopt(&mut self, target: Target) -> PeerKey {
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
    fn change_record(&mut self, key: PeerKey, target: Target) {
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

    fn release(&mut self, key: PeerKey) {
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
    fn forget_if_unused(&mut self, key: PeerKey) {
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

fn find<K>(peers: &mut [Place<K>], key: PeerKey) -> Option<&mut Peer<K>> {
    let place = peers.get_mut(key.index as usize)?;
    place
        .peer
        .as_mut()
        .filter(|_| place.generation == key.generation)
}

/// Picks a member that was not tried: one that is not set aside, else the one whose failure is
/// the longest ago.
fn choose_member<K>(
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
    let index =
        pick(request.policy, members.len(), &mut endpoint.turn, available).or_else(|| {
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

#[cfg(test)]
mod tests;
