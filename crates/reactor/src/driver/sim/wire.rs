//! One simulated connection: two ends and a pipe each way.

use std::collections::VecDeque;
use std::time::Instant;

use crate::event::SocketId;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Dialer,
    Acceptor,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Dialer => Self::Acceptor,
            Self::Acceptor => Self::Dialer,
        }
    }
}

/// Where one end stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The dial has not come in yet.
    Absent,
    /// Accepted, and nobody has adopted the descriptor yet.
    Unclaimed { node: usize },
    /// A socket of a reactor.
    Open { node: usize, socket: SocketId },
    /// Closed.
    Gone,
}

impl End {
    pub(super) const fn node(self) -> Option<usize> {
        match self {
            Self::Unclaimed { node } | Self::Open { node, .. } => Some(node),
            Self::Absent | Self::Gone => None,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    dialer: End,
    acceptor: End,
    from_dialer: Pipe,
    from_acceptor: Pipe,
    /// The hosts of the two ends, once known; they stay when an end is closed.
    pub(super) hosts: [Option<usize>; 2],
    /// Nothing arrives any more, and nobody is told.
    pub(super) silent: bool,
}

impl Wire {
    pub(super) fn new(node: usize, socket: SocketId, now: Instant) -> Self {
        Self {
            dialer: End::Open { node, socket },
            acceptor: End::Absent,
            from_dialer: Pipe::new(now),
            from_acceptor: Pipe::new(now),
            hosts: [Some(node), None],
            silent: false,
        }
    }

    pub(super) const fn end(&self, side: Side) -> End {
        match side {
            Side::Dialer => self.dialer,
            Side::Acceptor => self.acceptor,
        }
    }

    pub(super) fn set_end(&mut self, side: Side, end: End) {
        if let (Some(node), index) = (end.node(), side as usize) {
            self.hosts[index] = Some(node);
        }
        match side {
            Side::Dialer => self.dialer = end,
            Side::Acceptor => self.acceptor = end,
        }
    }

    /// The bytes that `side` sends.
    pub(super) const fn from(&mut self, side: Side) -> &mut Pipe {
        match side {
            Side::Dialer => &mut self.from_dialer,
            Side::Acceptor => &mut self.from_acceptor,
        }
    }

    /// The bytes that `side` receives.
    pub(super) const fn to(&mut self, side: Side) -> &mut Pipe {
        self.from(side.other())
    }

    pub(super) fn is_over(&self) -> bool {
        self.dialer == End::Gone && matches!(self.acceptor, End::Gone | End::Absent)
    }
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    /// A send of which the kernel has not taken everything yet.
    pub(super) outgoing: Option<Outgoing>,
    /// The kernel takes nothing for a while.
    pub(super) stalled: bool,
    /// The sender was told that the connection is broken.
    pub(super) broken: bool,
    /// On its way, in order.
    pub(super) transit: VecDeque<Item>,
    /// When the last of them arrives.
    pub(super) last_due: Instant,
    /// Arrived and not received yet.
    pub(super) arrived: VecDeque<u8>,
    /// What follows the arrived bytes.
    pub(super) ending: Option<Ending>,
    /// Bytes in `transit` and `arrived`.
    pub(super) used: usize,
    /// A reset was sent this way.
    pub(super) reset_sent: bool,
}

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) buf: Vec<u8>,
    pub(super) taken: usize,
}

#[derive(Debug)]
pub(super) enum Item {
    Bytes(Vec<u8>),
    Fin,
    Reset,
}

/// How the receiving side of a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Fin,
    Reset,
}

impl Pipe {
    fn new(now: Instant) -> Self {
        Self {
            outgoing: None,
            stalled: false,
            broken: false,
            transit: VecDeque::new(),
            last_due: now,
            arrived: VecDeque::new(),
            ending: None,
            used: 0,
            reset_sent: false,
        }
    }

    /// Whether a receive would find something.
    pub(super) fn is_readable(&self) -> bool {
        !self.arrived.is_empty() || self.ending.is_some()
    }

    /// Forgets what is on its way.
    pub(super) fn lose_transit(&mut self) {
        for item in self.transit.drain(..) {
            if let Item::Bytes(bytes) = item {
                self.used -= bytes.len();
            }
        }
    }

    /// Forgets what nobody will receive; returns whether there was anything.
    pub(super) fn discard_arrived(&mut self) -> bool {
        self.used -= self.arrived.len();
        let had_some = !self.arrived.is_empty();
        self.arrived.clear();
        had_some
    }
}
