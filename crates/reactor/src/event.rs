//! What a driver reports, and the ids it reports it by.

use std::io;
use std::os::fd::OwnedFd;

use crate::address::Address;

macro_rules! slot_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// A slot number and the generation of its use: a stale id names nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            index: u32,
            generation: u32,
        }

        impl $name {
            /// An id of these parts; drivers and tests make ids.
            #[must_use]
            pub const fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }

            /// The slot. Small and dense, so it can index a table.
            #[must_use]
            pub const fn index(self) -> u32 {
                self.index
            }

            /// Which use of the slot.
            #[must_use]
            pub const fn generation(self) -> u32 {
                self.generation
            }
        }
    };
}

slot_id! {
    /// A connected or connecting socket of a driver.
    SocketId
}
slot_id! {
    /// A listener of a driver.
    ListenerId
}
slot_id! {
    /// A foreign descriptor that a driver polls.
    PollId
}

/// A filled receive buffer on loan from its driver.
///
/// It must go back by [`Reactor::recycle`](crate::Reactor::recycle); one that is dropped instead
/// stays lost (and counted as held) for the driver's life.
#[derive(Debug)]
#[must_use = "a receive buffer must be recycled"]
pub struct RecvBuf {
    pub(crate) index: u32,
    pub(crate) len: u32,
    pub(crate) owner: SocketId,
}

impl RecvBuf {
    /// Bytes received into it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it holds nothing; a driver never reports such a buffer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The end of an operation, or a step of one that repeats.
#[derive(Debug)]
pub enum Event {
    /// A connection came in. It is not registered: adopt it here, or on another thread's driver.
    Accepted {
        /// Where it came in.
        listener: ListenerId,
        /// The connection.
        fd: OwnedFd,
        /// Who called, where the driver knows.
        peer: Option<Address>,
    },
    /// An accept failed. The driver backs off and accepts again by itself.
    AcceptFailed {
        /// Where.
        listener: ListenerId,
        /// Why.
        error: io::Error,
    },
    /// A dialed socket is connected and receives.
    Connected {
        /// Which.
        socket: SocketId,
    },
    /// A dialed socket could not connect; its id is dead, and its slot is used again only once
    /// this event was read.
    ConnectFailed {
        /// Which.
        socket: SocketId,
        /// Why.
        error: io::Error,
    },
    /// Bytes came in.
    Received {
        /// Where.
        socket: SocketId,
        /// The bytes; see [`Reactor::bytes`](crate::Reactor::bytes).
        buf: RecvBuf,
    },
    /// The peer closed its writing side. Close the socket when its answers are sent.
    Eof {
        /// Which.
        socket: SocketId,
    },
    /// Nothing more can be received. Close the socket.
    Failed {
        /// Which.
        socket: SocketId,
        /// Why.
        error: io::Error,
    },
    /// A send ended.
    Sent {
        /// Where.
        socket: SocketId,
        /// The buffer of the send, to be used again.
        buf: Vec<u8>,
        /// All of it was taken by the kernel, or why not.
        result: io::Result<()>,
    },
    /// A closed socket is gone: no operation of it is left and its descriptor is closed. Its slot
    /// is used again only once this event was read, so tables by slot stay unambiguous.
    Closed {
        /// Which.
        socket: SocketId,
        /// The buffer of a send that the close cut off.
        buf: Option<Vec<u8>>,
    },
    /// A polled descriptor has something to read.
    Readable {
        /// Which.
        poll: PollId,
    },
}
