//! What [`Connection::read`](crate::Connection::read) tells its caller.

use std::time::Duration;

use crate::{End, InstanceId, Limits, Open, Started, Status, StreamId};

/// Names one stream of one connection.
///
/// `slot` is a dense index, at most the announced number of streams, for the caller's own side
/// tables. It is used again after the stream has ended; `id` never is, so a stale handle is told
/// from a live one.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct StreamHandle {
    /// The stream's id on the wire.
    pub id: StreamId,
    /// The stream's place in the connection's table.
    pub slot: u32,
}

/// What the handshake told about the peer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct PeerInfo {
    /// Who answered. `None` on an acceptor: dialers do not name themselves.
    pub instance: Option<InstanceId>,
    /// The protocol version in use.
    pub version: u16,
    /// The feature bits that both sides offered.
    pub features: u64,
    /// What the peer is willing to receive.
    pub limits: Limits,
}

/// Where a connection is in its life.
///
/// ```text
/// Handshaking ──> Ready ──> Draining ──> Closed
///      └────────────┴───────────────────────┘ an error or fail()
/// ```
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum ConnectionState {
    /// HELLO and WELCOME are not both through.
    Handshaking,
    /// Streams may be opened.
    Ready,
    /// GOAWAY was sent or received: open streams go on, new ones are refused.
    Draining,
    /// An error or the end of the transport.
    Closed,
}

/// One thing that happened on a connection. Borrows the chunk given to `read`, or the
/// connection's buffer for one control frame, and allocates nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The handshake is done; `peer()` is `Some`.
    Ready,
    /// Acceptor: the peer opened a stream.
    Open {
        /// The new stream.
        stream: StreamHandle,
        /// What was asked.
        open: Open<'a>,
        /// Pass it to `release` once the request bytes in `open` are consumed.
        credit: u32,
    },
    /// Dialer: the handler was called. At most once, and not at all when DATA came first.
    Accepted {
        /// The stream.
        stream: StreamHandle,
    },
    /// Bytes of a message, as they arrived.
    Data {
        /// The stream.
        stream: StreamHandle,
        /// The bytes. Empty for an empty message.
        piece: &'a [u8],
        /// Length of the whole message: the announced total, or the frame's own length.
        message_len: Option<u32>,
        /// Where in the message the piece starts.
        message_offset: u32,
        /// Whether the piece completes its frame (fragment).
        frame_end: bool,
        /// Whether the piece completes its message.
        message_end: bool,
        /// Pass it to `release` once the piece is consumed. The frame header's share is in the
        /// piece that completes the frame.
        credit: u32,
    },
    /// Acceptor: the input is complete. Comes exactly once per stream whose input was finished,
    /// also when OPEN itself said so.
    EndRequest {
        /// The stream.
        stream: StreamHandle,
    },
    /// Dialer: the terminal. The slot is already free.
    End {
        /// The stream.
        stream: StreamHandle,
        /// How it ended.
        end: End<'a>,
        /// Whether the handler had been called.
        started: Started,
    },
    /// Acceptor: finish early.
    Stop {
        /// The stream.
        stream: StreamHandle,
    },
    /// Acceptor: drop it now. Sending is refused from here on; `end` must still be called.
    Kill {
        /// The stream.
        stream: StreamHandle,
    },
    /// The credit that a `try_send` lacked is back.
    SendReady {
        /// The stream.
        stream: StreamHandle,
    },
    /// This side refused the stream by one of its own limits and has told the peer. It is the
    /// terminal: the slot is no longer the caller's.
    Refused {
        /// The stream.
        stream: StreamHandle,
        /// Which limit: `too_large`.
        status: Status,
    },
    /// The peer takes no new streams. Those above `last_stream` follow as `StreamRefused`.
    Goaway {
        /// The last stream the peer has taken.
        last_stream: StreamId,
        /// Why.
        status: Status,
    },
    /// Dialer: the stream is above GOAWAY's last id. The terminal; the slot is already free.
    StreamRefused {
        /// The stream.
        stream: StreamHandle,
        /// Always [`Started::No`].
        started: Started,
    },
    /// The answer to a PING.
    Pong {
        /// Time from queueing the PING to reading the answer.
        rtt: Duration,
    },
}
