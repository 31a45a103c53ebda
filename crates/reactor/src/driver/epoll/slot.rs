//! What the driver watches, by slot.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::EventFlags;

use crate::event::{ListenerId, PollId, SocketId};

/// Sockets, listeners and polls in one table, so that one token names any of them.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Entry,
}

#[derive(Debug)]
pub(super) enum Entry {
    Free,
    Socket(Socket),
    /// Closed; the slot stays taken until its owner has read `Closed` or `ConnectFailed`, so that
    /// the owner's own table by slot never sees two sockets at once.
    Gone,
    Listener(Listener),
    Poll(OwnedFd),
}

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) connecting: bool,
    /// Neither the end of the stream nor an error was reported yet.
    pub(super) receiving: bool,
    /// In [`Epoll::starved`](super::Epoll): readable, but no buffer was free.
    pub(super) starved: bool,
    /// Holds its quota of receive buffers.
    pub(super) paused: bool,
    /// In [`Epoll::changed`](super::Epoll).
    pub(super) changed: bool,
    /// The turn that read it last, so that no socket is read twice in one.
    pub(super) read_turn: u64,
    /// Buffers on loan.
    pub(super) held: u32,
    /// A send that the kernel took in part, or not yet.
    pub(super) outgoing: Option<Outgoing>,
    /// From `send` until its owner has read `Sent`.
    pub(super) sending: bool,
    /// What the kernel watches; `None` = the descriptor is not registered.
    pub(super) watched: Option<EventFlags>,
}

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) buf: Vec<u8>,
    pub(super) taken: usize,
}

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) fd: OwnedFd,
    /// Out of descriptors or memory: not watched until then.
    pub(super) resume_at: Option<Instant>,
}

impl Socket {
    pub(super) fn new(fd: OwnedFd, connecting: bool) -> Self {
        Self {
            fd,
            connecting,
            receiving: true,
            starved: false,
            paused: false,
            changed: false,
            read_turn: 0,
            held: 0,
            outgoing: None,
            sending: false,
            watched: None,
        }
    }

    /// What the kernel should watch now; `None` = nothing, which means not registered at all,
    /// since a registered descriptor always reports errors and hang-ups.
    pub(super) fn wanted(&self, exhausted: bool) -> Option<EventFlags> {
        if self.connecting {
            return Some(EventFlags::OUT);
        }
        let mut flags = EventFlags::empty();
        let blocked = self.paused || (self.starved && exhausted);
        flags.set(EventFlags::IN, self.receiving && !blocked);
        flags.set(EventFlags::OUT, self.outgoing.is_some());
        (!flags.is_empty()).then_some(flags)
    }
}

impl Slots {
    /// Takes a slot and returns its index and generation.
    pub(super) fn insert(&mut self, entry: Entry) -> (u32, u32) {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.entry = entry;
            return (index, slot.generation);
        }
        let index = self.slots.len() as u32;
        self.slots.push(Slot {
            generation: 0,
            entry,
        });
        (index, 0)
    }

    /// Frees a slot; its id is stale from here on.
    pub(super) fn remove(&mut self, index: u32) -> Entry {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        std::mem::replace(&mut slot.entry, Entry::Free)
    }

    /// Ends a socket, but keeps its slot; `None` for a stale id.
    pub(super) fn retire(&mut self, id: SocketId) -> Option<Socket> {
        let entry = self.entry_mut(id.index(), id.generation())?;
        match std::mem::replace(entry, Entry::Gone) {
            Entry::Socket(socket) => Some(socket),
            other => {
                *entry = other;
                None
            }
        }
    }

    pub(super) fn entry_mut(&mut self, index: u32, generation: u32) -> Option<&mut Entry> {
        let slot = self.slots.get_mut(index as usize)?;
        (slot.generation == generation).then_some(&mut slot.entry)
    }

    pub(super) fn socket_mut(&mut self, id: SocketId) -> Option<&mut Socket> {
        match self.entry_mut(id.index(), id.generation())? {
            Entry::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    pub(super) fn listener(&self, id: ListenerId) -> Option<&Listener> {
        let slot = self.slots.get(id.index() as usize)?;
        match &slot.entry {
            Entry::Listener(listener) if slot.generation == id.generation() => Some(listener),
            _ => None,
        }
    }

    pub(super) fn listener_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        match self.entry_mut(id.index(), id.generation())? {
            Entry::Listener(listener) => Some(listener),
            _ => None,
        }
    }

    pub(super) fn is_poll(&mut self, id: PollId) -> bool {
        matches!(
            self.entry_mut(id.index(), id.generation()),
            Some(Entry::Poll(_))
        )
    }

    /// Slots in use.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// The token of a slot in the kernel's table.
pub(super) fn token(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

/// The slot and generation of a token.
pub(super) fn parts(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}

/// No slot reaches this index.
pub(super) const WAKE_TOKEN: u64 = u64::MAX;
