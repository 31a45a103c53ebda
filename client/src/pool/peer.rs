//! One instance that this client has to do with.

use std::sync::Arc;

use crate::inhibit::Inhibition;

use super::target::Target;
use super::waiters::WaitKey;

/// Names a peer; outlives it safely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PeerKey {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// Names one dial, so that its outcome is not taken for a later record's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DialKey {
    pub(crate) peer: PeerKey,
    pub(super) record: u32,
}

#[derive(Debug)]
pub(super) struct Peer<K> {
    pub(super) target: Arc<Target>,
    /// Counts the changes of the addresses.
    pub(super) record: u32,
    /// Endpoints whose snapshot names it.
    pub(super) refs: u32,
    /// Links that take streams.
    pub(super) links: Vec<K>,
    pub(super) turn: usize,
    /// A dial waits for its turn or is under way.
    pub(super) dialing: bool,
    /// Calls that wait for the dial.
    pub(super) waiting: Vec<WaitKey>,
    pub(super) inhibition: Option<Inhibition>,
}

impl<K: Clone> Peer<K> {
    pub(super) const fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            record: 0,
            refs: 0,
            links: Vec::new(),
            turn: 0,
            dialing: false,
            waiting: Vec::new(),
            inhibition: None,
        }
    }

    /// The next of the links, each in turn.
    pub(super) fn next_link(&mut self) -> Option<K> {
        if self.turn >= self.links.len() {
            self.turn = 0;
        }
        let link = self.links.get(self.turn).cloned();
        self.turn += 1;
        link
    }
}
