//! Dials, their outcomes, and what they say about an instance.

use std::sync::Arc;
use std::time::Instant;

use super::{Dial, DialFailure, DialKey, PeerKey, Pool, find};
use crate::inhibit::Inhibition;

impl<K: Clone + PartialEq> Pool<K> {
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

    pub(super) fn has_room(&self) -> bool {
        self.links + self.dials + self.queue.len() < self.config.links_max
    }

    pub(super) fn queue_dial(&mut self, key: PeerKey) {
        if let Some(peer) = find(&mut self.peers, key) {
            peer.dialing = true;
            self.queue.push_back(DialKey {
                peer: key,
                record: peer.record,
            });
        }
    }

    pub(super) fn inhibit(&mut self, key: PeerKey, now: Instant) {
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
    pub(super) fn probe(&mut self, now: Instant) {
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
}
