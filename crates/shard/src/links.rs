//! The links of one shard, by key.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use ringmain_reactor::SocketId;
use ringmain_reactor::timer::TimerKey;

use crate::key::LinkKey;
use crate::link::Link;
use crate::roles::{LinkDown, LinkRole};
use crate::room::RoomQueue;
use crate::turn::LinkFigures;

/// Where a link is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Dialed, not connected.
    Connecting,
    /// Connected.
    Open,
    /// The role heard `on_down`; what is buffered still leaves, then the socket closes.
    Lingering,
    /// The socket's `Closed` is awaited.
    Closing,
}

/// One link, its role, and its place in the reactor.
pub(crate) struct LinkEntry {
    pub(crate) link: Link,
    pub(crate) role: Box<dyn LinkRole>,
    pub(crate) state: LinkState,
    pub(crate) socket: Option<SocketId>,
    pub(crate) dirty: bool,
    pub(crate) timer: Option<(Instant, TimerKey)>,
    pub(crate) figures: LinkFigures,
    pub(crate) room: Rc<RoomQueue>,
    /// Closed by this side as soon as nothing is left to send.
    pub(crate) close_when_flushed: Option<LinkDown>,
}

impl LinkEntry {
    /// Whether roles and tasks may still use the link.
    pub(crate) fn is_usable(&self) -> bool {
        matches!(self.state, LinkState::Connecting | LinkState::Open)
    }
}

/// Links by index and generation, so that a late key finds nothing.
#[derive(Default)]
pub(crate) struct LinkSlab {
    slots: Vec<Slot>,
    free: Vec<u32>,
    len: usize,
}

struct Slot {
    generation: u32,
    entry: Option<Rc<RefCell<LinkEntry>>>,
}

impl LinkSlab {
    pub(crate) fn insert(
        &mut self,
        link: Link,
        role: Box<dyn LinkRole>,
        state: LinkState,
    ) -> LinkKey {
        let entry = Rc::new(RefCell::new(LinkEntry {
            link,
            role,
            state,
            socket: None,
            dirty: false,
            timer: None,
            figures: LinkFigures::default(),
            room: Rc::default(),
            close_when_flushed: None,
        }));
        self.len += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.entry = Some(entry);
            return LinkKey {
                index,
                generation: slot.generation,
            };
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot {
            generation: 0,
            entry: Some(entry),
        });
        LinkKey {
            index,
            generation: 0,
        }
    }

    pub(crate) fn find(&self, key: LinkKey) -> Option<Rc<RefCell<LinkEntry>>> {
        let slot = self.slots.get(key.index as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        slot.entry.clone()
    }

    pub(crate) fn remove(&mut self, key: LinkKey) -> Option<Rc<RefCell<LinkEntry>>> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let entry = slot.entry.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        self.len -= 1;
        Some(entry)
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn keys(&self) -> Vec<LinkKey> {
        (0u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.entry.is_some())
            .map(|(index, slot)| LinkKey {
                index,
                generation: slot.generation,
            })
            .collect()
    }
}
