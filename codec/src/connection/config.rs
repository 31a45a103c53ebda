//! What one connection is told at its start.

use std::time::Duration;

use crate::{InstanceId, Limits};

/// Which side of the connection this is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Role {
    /// Opened the transport: sends HELLO and opens streams.
    Dialer {
        /// The instance that must answer; `None` accepts any.
        expected_instance: Option<InstanceId>,
    },
    /// Accepted the transport: sends WELCOME and serves streams.
    Acceptor {
        /// Who answers here.
        instance: InstanceId,
    },
}

/// Settings of one [`Connection`](crate::Connection). All limits are per connection.
#[derive(Copy, Clone, Debug)]
pub struct Config {
    /// Dialer or acceptor.
    pub role: Role,
    /// What this side is willing to receive; announced to the peer.
    pub limits: Limits,
    /// The largest receive window one stream grows to, in bytes.
    pub stream_window_max: u32,
    /// By how many bytes the receive windows of all streams together may grow.
    pub window_growth_bytes_max: u32,
    /// Payload bytes that may wait in one stream's send queue. A message that finds the queue
    /// empty is taken whatever its length.
    pub queue_bytes_max: usize,
    /// How long the peer may take to finish the handshake.
    pub handshake_timeout: Duration,
    /// Keepalive intervals without a received byte after which the peer counts as unresponsive.
    pub keepalive_misses_max: u32,
    /// Feature bits this side offers.
    pub features: u64,
    /// PING frames taken from the peer per second.
    pub pings_per_second_max: u32,
    /// Streams per second that the peer may open and kill, unanswered, within 100 ms.
    pub churn_per_second_max: u32,
    /// Frames in a row that carry nothing: empty messages, repeated signals.
    pub empty_frames_max: u32,
    /// Unknown optional frames taken from the peer per second.
    pub unknown_frames_per_second_max: u32,
    /// Replies owed to the peer (PONG) that may wait while it does not read.
    pub control_frames_queued_max: usize,
}

impl Config {
    /// The defaults of a dialer that expects `expected_instance`, or any instance.
    pub fn dialer(expected_instance: Option<InstanceId>) -> Self {
        let mut config = Self::with_role(Role::Dialer { expected_instance });
        // Nobody opens streams to a dialer.
        config.limits.streams_max = 0;
        config
    }

    /// The defaults of an acceptor that serves as `instance`.
    pub fn acceptor(instance: InstanceId) -> Self {
        Self::with_role(Role::Acceptor { instance })
    }

    fn with_role(role: Role) -> Self {
        Self {
            role,
            limits: Limits::default(),
            stream_window_max: 1024 * 1024,
            window_growth_bytes_max: 16 * 1024 * 1024,
            queue_bytes_max: 1024 * 1024,
            handshake_timeout: Duration::from_secs(5),
            keepalive_misses_max: 3,
            features: 0,
            pings_per_second_max: 100,
            churn_per_second_max: 2_000,
            empty_frames_max: 10_000,
            unknown_frames_per_second_max: 1_000,
            control_frames_queued_max: 16,
        }
    }

    pub(crate) fn is_dialer(&self) -> bool {
        matches!(self.role, Role::Dialer { .. })
    }
}
