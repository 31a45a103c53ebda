//! Limits and policies of the serving role.

use std::time::Duration;

/// What happens to a running handler when its caller's connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It is dropped at once.
    Kill,
    /// It is asked to stop, and dropped if it is still running after `grace`. What it sends goes
    /// nowhere; it may still record what it did.
    Stop {
        /// How long it may go on.
        grace: Duration,
    },
}

/// Limits of a [`Server`](crate::Server). Each has a counter, and a rejection names it.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Handlers that run at once in the whole process (`concurrency_max`).
    pub concurrency_max: usize,
    /// Requests that wait for a handler slot in the whole process (`queue_max`); 0 = none wait.
    pub queue_max: usize,
    /// Streams that one connection may have open.
    pub streams_per_link_max: u32,
    /// Largest message taken, in bytes.
    pub message_bytes_max: u32,
    /// Bytes of long messages being put together, per shard.
    pub reassembly_bytes_max: usize,
    /// Bytes that one stream may have waiting for credit before its producer must wait.
    pub sink_bytes_max: usize,
    /// First credit that each request stream gets, in bytes; at least 16 KiB.
    pub stream_window_bytes: u32,
    /// Credit that one connection's request bytes share.
    pub connection_window_bytes: u32,
    /// When a rejected caller should try again.
    pub retry_after: Duration,
    /// What a lost connection means for its handlers.
    pub on_disconnect: OnDisconnect,
    /// How often a quiet connection is pinged, without and with open streams.
    pub keepalive: Keepalive,
}

/// Ping intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Without open streams.
    pub idle: Duration,
    /// With open streams.
    pub active: Duration,
    /// Unanswered pings after which the peer is unresponsive.
    pub misses_max: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30),
            active: Duration::from_secs(1),
            misses_max: 3,
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            concurrency_max: 65_536,
            queue_max: 65_536,
            streams_per_link_max: 65_536,
            message_bytes_max: 64 << 20,
            reassembly_bytes_max: 1 << 30,
            sink_bytes_max: 64 << 10,
            stream_window_bytes: 32 << 10,
            connection_window_bytes: 4 << 20,
            retry_after: Duration::from_millis(100),
            on_disconnect: OnDisconnect::Kill,
            keepalive: Keepalive::default(),
        }
    }
}
