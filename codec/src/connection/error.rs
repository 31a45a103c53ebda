//! Why a connection closed, and why an operation on it was refused.

use crate::wire::{FrameError, FrameKind, LooksLike, Malformed};
use crate::{Blame, InstanceId, Status, StreamId};

/// Why a connection closed. Every variant costs this connection and nothing else.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The peer speaks another protocol.
    #[error("peer does not speak ringmain, its first bytes look like {0:?}")]
    NotRingmain(LooksLike),
    /// No protocol version is spoken by both ends.
    #[error("no common version: ours {ours}, the peer's {peer_min} to {peer_max}")]
    Version {
        /// The version spoken here.
        ours: u16,
        /// The peer's lowest.
        peer_min: u16,
        /// The peer's highest.
        peer_max: u16,
    },
    /// The address belongs to another instance now.
    #[error("expected instance {expected}, found {actual}")]
    StaleInstance {
        /// Who was dialed.
        expected: InstanceId,
        /// Who answered.
        actual: InstanceId,
    },
    /// A frame breaks the layout rules.
    #[error("malformed {kind} frame: {reason}")]
    BadFrame {
        /// Which frame.
        kind: FrameKind,
        /// Which rule.
        reason: Malformed,
    },
    /// A frame of an unknown kind that must not be skipped.
    #[error("unknown frame kind {0:#04x} that may not be skipped")]
    UnknownCriticalFrame(u8),
    /// A frame that its stream, or the connection, cannot have in its present state.
    #[error("{kind} frame on stream {stream} is out of place")]
    StreamState {
        /// The stream; 0 is the connection.
        stream: StreamId,
        /// The frame.
        kind: FrameKind,
    },
    /// The peer granted more credit than can be outstanding.
    #[error("credit on stream {stream} overflows")]
    CreditOverflow {
        /// The stream; 0 is the connection.
        stream: StreamId,
    },
    /// The peer sent more than it was granted.
    #[error("peer exceeded its credit on stream {stream}")]
    CreditExceeded {
        /// The stream; 0 is the connection.
        stream: StreamId,
    },
    /// The peer opened more streams than were announced.
    #[error("peer opened more than {max} streams")]
    StreamsExceeded {
        /// The announced limit.
        max: u32,
    },
    /// The peer makes work without doing any.
    #[error("peer floods with {0}")]
    Flood(FloodKind),
    /// The handshake took too long.
    #[error("handshake timed out")]
    HandshakeTimeout,
    /// Nothing was received for too many keepalive intervals.
    #[error("peer is unresponsive")]
    PeerUnresponsive,
    /// The peer refused the connection.
    #[error("peer closed the connection: {0}")]
    PeerClosed(Status),
    /// The connection was closed by `fail`.
    #[error("connection is closed")]
    Closed,
}

/// Which kind of frame a peer sends too many of.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum FloodKind {
    /// PING.
    Pings,
    /// Streams opened to be killed.
    Churn,
    /// Frames that carry nothing.
    EmptyFrames,
    /// Unknown optional frames.
    UnknownFrames,
    /// Frames that ask for a reply, from a peer that does not read its replies.
    UnreadReplies,
}

impl ConnectionError {
    /// The status (spec 10.1) that GOAWAY carries, and that the connection's streams end with.
    pub fn status(self) -> Status {
        match self {
            Self::StaleInstance { .. } => Status::StaleInstance,
            Self::HandshakeTimeout | Self::PeerUnresponsive => Status::PeerUnresponsive,
            Self::PeerClosed(status) => status,
            Self::Closed => Status::ConnectionLost,
            Self::NotRingmain(_)
            | Self::Version { .. }
            | Self::BadFrame { .. }
            | Self::UnknownCriticalFrame(_)
            | Self::StreamState { .. }
            | Self::CreditOverflow { .. }
            | Self::CreditExceeded { .. }
            | Self::StreamsExceeded { .. }
            | Self::Flood(_) => Status::ProtocolError,
        }
    }

    /// Whose fault it is.
    pub fn blame(self) -> Blame {
        match self {
            Self::PeerUnresponsive | Self::HandshakeTimeout | Self::Closed => Blame::Network,
            _ => Blame::Peer,
        }
    }

    /// A short name for logs and for GOAWAY's message.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRingmain(_) => "not_ringmain",
            Self::Version { .. } => "version",
            Self::StaleInstance { .. } => "stale_instance",
            Self::BadFrame { .. } => "bad_frame",
            Self::UnknownCriticalFrame(_) => "unknown_critical_frame",
            Self::StreamState { .. } => "stream_state",
            Self::CreditOverflow { .. } => "credit_overflow",
            Self::CreditExceeded { .. } => "credit_exceeded",
            Self::StreamsExceeded { .. } => "streams_exceeded",
            Self::Flood(kind) => kind.name(),
            Self::HandshakeTimeout => "handshake_timeout",
            Self::PeerUnresponsive => "peer_unresponsive",
            Self::PeerClosed(_) => "peer_closed",
            Self::Closed => "closed",
        }
    }
}

impl From<FrameError> for ConnectionError {
    fn from(error: FrameError) -> Self {
        Self::BadFrame {
            kind: error.kind,
            reason: error.reason,
        }
    }
}

impl FloodKind {
    /// A short name for logs and for GOAWAY's message.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pings => "ping_flood",
            Self::Churn => "churn_flood",
            Self::EmptyFrames => "empty_frame_flood",
            Self::UnknownFrames => "unknown_frame_flood",
            Self::UnreadReplies => "unread_reply_flood",
        }
    }
}

impl std::fmt::Display for FloodKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Why [`Connection::open`](crate::Connection::open) refused. No stream exists then, and nothing
/// was started.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Not a dialer, or the handshake is not done.
    #[error("connection is not ready")]
    NotReady,
    /// The connection is closed.
    #[error("connection is closed")]
    Closed,
    /// GOAWAY was sent or received.
    #[error("connection is draining")]
    Draining,
    /// As many streams are open as the peer takes.
    #[error("the peer takes at most {max} streams")]
    StreamsMax {
        /// The peer's limit.
        max: u32,
    },
    /// The request is longer than the peer takes.
    #[error("request of {len} bytes is over the peer's limit of {max}")]
    TooLarge {
        /// The request's length.
        len: usize,
        /// The peer's limit.
        max: u32,
    },
    /// Stream ids are used up: dial another connection.
    #[error("stream ids are used up")]
    IdsExhausted,
    /// Not an endpoint id.
    #[error("endpoint is not valid")]
    Endpoint,
}

/// Why a message was not taken.
#[derive(Copy, Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The stream is over, or the handle is of an earlier stream.
    #[error("stream is gone")]
    Gone,
    /// The peer killed the stream.
    #[error("stream was killed by the peer")]
    Killed,
    /// `finish` or `end` was called.
    #[error("this side of the stream is finished")]
    Finished,
    /// The message is longer than the peer takes.
    #[error("message of {len} bytes is over the peer's limit of {max}")]
    TooLarge {
        /// The message's length.
        len: usize,
        /// The peer's limit.
        max: u32,
    },
    /// `queue_bytes_max` is reached.
    #[error("send queue of the stream is full")]
    QueueFull,
    /// A message given in fragments is not complete yet, or its fragments do not add up.
    #[error("fragments do not add up to a message")]
    Fragment,
}
