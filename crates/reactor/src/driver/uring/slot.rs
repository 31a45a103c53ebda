//! What the driver keeps of a socket, a listener and a poll.

use std::os::fd::OwnedFd;

use socket2::SockAddr;

use super::token::{Op, Token};
use crate::event::{ListenerId, PollId, SocketId};

/// Where a socket is in its life.
///
/// `Connecting > Open > (Lingering >) Closing`, and gone when no operation is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its connect is in flight.
    Connecting,
    /// It receives and sends.
    Open,
    /// Closed by the user; bytes of its sends have not reached the peer yet.
    Lingering,
    /// Closed by the user; waits for its last operation.
    Closing,
}

/// What the receive side of a socket does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recv {
    /// Nothing yet: not connected.
    Idle,
    /// A multishot receive is in flight.
    Armed,
    /// A receive in flight is being cancelled because the socket holds its quota of buffers.
    Pausing,
    /// Waits for its user to recycle buffers.
    Paused,
    /// Waits in the queue for a free buffer.
    Starved,
    /// Nothing more will come.
    Ended,
}

/// A send in flight, or one that waits for its socket to connect.
#[derive(Debug)]
pub(super) struct SendOp {
    /// The kernel reads from it, so it stays here until the final completion.
    pub(super) buf: Vec<u8>,
    /// How much of it the kernel has taken.
    pub(super) sent: usize,
    /// Whether the kernel has it.
    pub(super) in_flight: bool,
}

/// A socket.
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) phase: Phase,
    pub(super) recv: Recv,
    pub(super) send: Option<SendOp>,
    /// The kernel reads it until the connect completes, so it must not move.
    pub(super) peer: Option<Box<SockAddr>>,
    /// Operations, cancels among them, whose final completion has not come.
    pub(super) ops: u32,
    /// Receive buffers that the user has.
    pub(super) held: u32,
    /// Whether it is in the list of sockets to check against the quota.
    pub(super) quota_listed: bool,
    /// Whether it was shut down because a cancel had no effect.
    pub(super) forced: bool,
}

impl Socket {
    pub(super) const fn new(fd: OwnedFd, phase: Phase, peer: Option<Box<SockAddr>>) -> Self {
        Self {
            fd,
            phase,
            recv: Recv::Idle,
            send: None,
            peer,
            ops: 0,
            held: 0,
            quota_listed: false,
            forced: false,
        }
    }
}

/// A listener.
pub(super) struct Listener {
    pub(super) fd: OwnedFd,
    pub(super) ops: u32,
    pub(super) closing: bool,
}

/// A foreign descriptor.
pub(super) struct Poll {
    pub(super) fd: OwnedFd,
    pub(super) ops: u32,
    pub(super) closing: bool,
}

/// The token of an operation on a socket.
pub(super) const fn socket_token(op: Op, id: SocketId) -> u64 {
    Token::new(op, id.index(), id.generation()).encode()
}

/// The token of an operation on a listener.
pub(super) const fn listener_token(op: Op, id: ListenerId) -> u64 {
    Token::new(op, id.index(), id.generation()).encode()
}

/// The token of an operation on a poll.
pub(super) const fn poll_token(op: Op, id: PollId) -> u64 {
    Token::new(op, id.index(), id.generation()).encode()
}
