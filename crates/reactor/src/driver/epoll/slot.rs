//! What the driver watches, by slot.

use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use crate::driver::slots::Slots;
use crate::event::{ListenerId, PollId, SocketId};

/// Sockets, listeners and polls in one table, so that one token names any of them.
#[derive(Debug)]
pub(super) struct Table {
    slots: Slots<Entry>,
}

#[derive(Debug)]
pub(super) enum Entry {
    Socket(Socket),
    /// Closed; the slot stays taken until its owner has read `Closed` or `ConnectFailed`, so that
    /// the owner's own table by slot never sees two sockets at once.
    Gone,
    Listener(OwnedFd),
    Poll(OwnedFd),
}

/// Where a socket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Open,
    /// Closed by its owner; the peer has not taken everything yet.
    Lingering,
}

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) phase: Phase,
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

impl Socket {
    pub(super) fn new(fd: OwnedFd, phase: Phase) -> Self {
        Self {
            fd,
            phase,
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
        match self.phase {
            Phase::Connecting => return Some(EventFlags::OUT),
            Phase::Lingering => return Some(EventFlags::IN),
            Phase::Open => {}
        }
        let mut flags = EventFlags::empty();
        let blocked = self.paused || (self.starved && exhausted);
        flags.set(EventFlags::IN, self.receiving && !blocked);
        flags.set(EventFlags::OUT, self.outgoing.is_some());
        (!flags.is_empty()).then_some(flags)
    }
}

impl Table {
    pub(super) fn new() -> Self {
        // Sockets have a limit of their own; what else takes a slot is made by the owner.
        Self {
            slots: Slots::new(u32::MAX),
        }
    }

    /// Takes a slot and returns its index and generation.
    pub(super) fn insert(&mut self, entry: Entry) -> (u32, u32) {
        let Ok(place) = self.slots.insert(entry) else {
            unreachable!("the table has no limit")
        };
        place
    }

    /// Frees a slot; its id is stale from here on.
    pub(super) fn remove(&mut self, index: u32, generation: u32) -> Option<Entry> {
        self.slots.remove(index, generation)
    }

    /// Ends a socket, but keeps its slot; `None` for a stale id.
    pub(super) fn retire(&mut self, id: SocketId) -> Option<Socket> {
        let entry = self.at(id.index(), id.generation())?;
        if !matches!(entry, Entry::Socket(_)) {
            return None;
        }
        match std::mem::replace(entry, Entry::Gone) {
            Entry::Socket(socket) => Some(socket),
            Entry::Gone | Entry::Listener(_) | Entry::Poll(_) => None,
        }
    }

    pub(super) fn at(&mut self, index: u32, generation: u32) -> Option<&mut Entry> {
        self.slots.at(index, generation)
    }

    pub(super) fn socket(&mut self, id: SocketId) -> Option<&mut Socket> {
        match self.at(id.index(), id.generation())? {
            Entry::Socket(socket) => Some(socket),
            Entry::Gone | Entry::Listener(_) | Entry::Poll(_) => None,
        }
    }

    pub(super) fn listener(&mut self, id: ListenerId) -> Option<&OwnedFd> {
        match self.at(id.index(), id.generation())? {
            Entry::Listener(fd) => Some(fd),
            Entry::Socket(_) | Entry::Gone | Entry::Poll(_) => None,
        }
    }

    pub(super) fn poll(&mut self, id: PollId) -> Option<&OwnedFd> {
        match self.at(id.index(), id.generation())? {
            Entry::Poll(fd) => Some(fd),
            Entry::Socket(_) | Entry::Gone | Entry::Listener(_) => None,
        }
    }

    /// Slots in use.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
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
