//! Counters of one connection.

/// What happened on a connection since its start. Plain counters, copied out by the caller.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Frames read.
    pub frames_received: u64,
    /// DATA frames read.
    pub data_frames_received: u64,
    /// Payload bytes of DATA read, discarded ones included.
    pub data_bytes_received: u64,
    /// Frames written.
    pub frames_sent: u64,
    /// DATA frames written.
    pub data_frames_sent: u64,
    /// Payload bytes of DATA written.
    pub data_bytes_sent: u64,
    /// Streams opened, by either side.
    pub streams_opened: u64,
    /// Streams that ended with a terminal.
    pub streams_ended: u64,
    /// Streams killed, by either side.
    pub streams_killed: u64,
    /// Streams refused because a message was over `message_bytes_max`.
    pub refused_too_large: u64,
    /// Streams that GOAWAY refused.
    pub refused_goaway: u64,
    /// OPEN frames that came after GOAWAY was queued here.
    pub opens_after_goaway: u64,
    /// Payload bytes discarded because their stream had ended.
    pub late_data_bytes: u64,
    /// Frames discarded because their stream had ended.
    pub late_frames: u64,
    /// Payload bytes dropped from send queues by kill, end or refusal.
    pub queued_bytes_discarded: u64,
    /// `try_send` found no credit.
    pub no_credit: u64,
    /// `try_send` found no room.
    pub no_room: u64,
    /// `send` found the queue full.
    pub queue_full: u64,
    /// A message was over the peer's `message_bytes_max`.
    pub send_too_large: u64,
    /// `open` found `streams_max` reached.
    pub streams_max_hits: u64,
    /// Receive windows doubled.
    pub windows_grown: u64,
    /// A window could not grow because `window_growth_bytes_max` was reached.
    pub window_growth_max_hits: u64,
    /// `release` was given more than was outstanding; the excess was dropped.
    pub release_excess: u64,
    /// PING frames sent.
    pub pings_sent: u64,
    /// PING frames received.
    pub pings_received: u64,
    /// PONG frames that answer nothing.
    pub pongs_unmatched: u64,
    /// Keepalive intervals that passed without a byte.
    pub keepalive_misses: u64,
    /// Keepalive intervals granted because this side itself had paused.
    pub keepalive_grants: u64,
    /// Unknown optional frames skipped.
    pub unknown_frames: u64,
    /// Frames that carried nothing.
    pub empty_frames: u64,
    /// Streams killed unanswered within 100 ms of their OPEN.
    pub churned_streams: u64,
    /// Texts of END or GOAWAY that were cut to their limit.
    pub texts_cut: u64,
}

/// Where all credit of a connection is, for tests and invariant checks.
///
/// At any time `received.granted - received.used` is what the peer may still send, and once all
/// is consumed `received.used == received.returned`. The sender's `granted` and `used` equal the
/// receiver's when no bytes are in flight.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct CreditAudit {
    /// Connection credit that this side gave.
    pub connection_received: CreditFlow,
    /// Connection credit that this side was given.
    pub connection_sent: CreditFlow,
    /// Stream credit that this side gave, all streams that ever were.
    pub streams_received: CreditFlow,
    /// Stream credit that this side was given, all streams that ever were.
    pub streams_sent: CreditFlow,
    /// Stream credit delivered to the caller of live streams and not released yet.
    pub streams_held: u64,
}

/// One direction of credit, in bytes since the start.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct CreditFlow {
    /// Given, the first window included.
    pub granted: u64,
    /// Used by frames.
    pub used: u64,
    /// Given back by consuming or discarding. Counted by the receiver alone.
    pub returned: u64,
    /// Lost with streams that ended before it was used. Streams only.
    pub expired: u64,
}
