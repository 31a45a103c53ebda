//! Which link a call goes out on, as a value: peers, dials, calls that wait, evidence.
//!
//! ```text
//! choose (snapshot, evidence) -> acquire -> Ready(link)
//!                                       \-> Wait(key) -- dialed / dial_failed --> settled
//! ```
//!
//! The home does what the pool asks for: it makes the dials of [`Pool::next_dial`], closes the
//! links of [`Pool::next_retired`], and reports what became of links. `K` is its name of a link.

mod dials;
mod endpoints;
mod members;
mod peer;
mod target;
mod waiters;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ringmain_codec::{EndpointId, InstanceId};
use ringmain_discovery::SnapshotHandle;
use rustc_hash::FxHashMap;

use self::endpoints::Endpoints;
use self::members::choose_member;
use self::peer::Peer;
pub(crate) use self::peer::{DialKey, PeerKey};
pub(crate) use self::target::{DialFailure, Target};
pub(crate) use self::waiters::WaitKey;
use self::waiters::Waiters;
use crate::call::Request;
use crate::config::ClientConfig;
use crate::error::CallError;
use crate::inhibit::Backoff;

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
}

fn find<K>(peers: &mut [Place<K>], key: PeerKey) -> Option<&mut Peer<K>> {
    let place = peers.get_mut(key.index as usize)?;
    place
        .peer
        .as_mut()
        .filter(|_| place.generation == key.generation)
}

#[cfg(test)]
mod tests;
