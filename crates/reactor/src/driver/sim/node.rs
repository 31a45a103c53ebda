//! What the network knows of one reactor.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::wire::Side;
use crate::address::Address;
use crate::driver::slots::Slots;
use crate::event::{Event, SocketId};

#[derive(Debug)]
pub(super) struct Node {
    /// The host it stands on; several reactors may share one.
    pub(super) host: Rc<str>,
    pub(super) seats: Slots<Seat>,
    pub(super) sockets: u32,
    /// Events of its next turn.
    pub(super) inbox: VecDeque<Event>,
    /// Sockets with something to receive, longest waiting first.
    pub(super) readable: VecDeque<SocketId>,
    /// It has no receive buffer left, so readable sockets give it nothing to do.
    pub(super) exhausted: bool,
    pub(super) woken: Arc<AtomicBool>,
    /// What its last turn asked for; `None` = to wait for ever.
    pub(super) until: Option<Instant>,
    pub(super) alive: bool,
    /// Its process is stopped: it takes no turns, though its kernel goes on.
    pub(super) frozen: bool,
    /// Accepts that are still to fail, by command.
    pub(super) accept_failures: u32,
}

#[derive(Debug)]
pub(super) enum Seat {
    Socket(Socket),
    /// Closed; taken until the owner has read the last event.
    Gone,
    Listener(Address),
    Poll(OwnedFd),
}

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) wire: u64,
    pub(super) side: Side,
    pub(super) connecting: bool,
    /// Neither the end of the stream nor an error was reported yet.
    pub(super) receiving: bool,
    /// In [`Node::readable`].
    pub(super) queued: bool,
    /// Holds its quota of receive buffers.
    pub(super) paused: bool,
    pub(super) held: u32,
    /// From `send` until the owner has read `Sent`.
    pub(super) sending: bool,
}

impl Socket {
    pub(super) const fn new(wire: u64, side: Side, connecting: bool) -> Self {
        Self {
            wire,
            side,
            connecting,
            receiving: true,
            queued: false,
            paused: false,
            held: 0,
            sending: false,
        }
    }
}

impl Node {
    pub(super) fn new(host: Rc<str>, now: Instant) -> Self {
        Self {
            host,
            // Sockets have a limit of their own; what else takes a seat is made by the owner.
            seats: Slots::new(u32::MAX),
            sockets: 0,
            inbox: VecDeque::new(),
            readable: VecDeque::new(),
            exhausted: false,
            woken: Arc::default(),
            until: Some(now),
            alive: true,
            frozen: false,
            accept_failures: 0,
        }
    }

    pub(super) fn seat(&mut self, seat: Seat) -> (u32, u32) {
        let Ok(place) = self.seats.insert(seat) else {
            unreachable!("the table has no limit")
        };
        place
    }

    pub(super) fn socket(&mut self, id: SocketId) -> Option<&mut Socket> {
        match self.seats.at(id.index(), id.generation())? {
            Seat::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    /// Ends a socket, but keeps its seat.
    pub(super) fn retire(&mut self, id: SocketId) -> Option<Socket> {
        let seat = self.seats.at(id.index(), id.generation())?;
        if !matches!(seat, Seat::Socket(_)) {
            return None;
        }
        let Seat::Socket(socket) = std::mem::replace(seat, Seat::Gone) else {
            return None;
        };
        self.sockets -= 1;
        Some(socket)
    }

    pub(super) const fn may_turn(&self) -> bool {
        self.alive && !self.frozen
    }

    /// Whether a turn taken now would find something to do.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.may_turn()
            && (!self.inbox.is_empty()
                || (!self.readable.is_empty() && !self.exhausted)
                || self.until.is_some_and(|until| until <= now)
                || self.woken.load(Ordering::SeqCst))
    }
}
