//! What a client is built with.

use std::time::Duration;

use ringmain_codec::{Config, InstanceId, Limits};
use ringmain_reactor::SocketOptions;
use ringmain_shard::Inbox;

use crate::pick::Policy;

/// Settings of a [`Client`](crate::Client). Every limit is per home: per shard for
/// `Home::Shards`, per client for `Home::Inline`, unless it says otherwise.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// How instances are chosen when a call does not say.
    pub policy: Policy,
    /// Time for a dial, the handshake included.
    pub connect_timeout: Duration,
    /// Links to each instance.
    pub links_per_instance: usize,
    /// Links of all shards together; each has an equal part of them. Past it, calls that need a
    /// new link are refused as overloaded.
    pub links_max: usize,
    /// Dials under way at once; further ones wait their turn.
    pub dials_max: usize,
    /// Calls that may wait for a dial; further ones are refused as overloaded.
    pub pending_calls_max: usize,
    /// First pause before an instance that failed is dialed again; it doubles per failure.
    pub backoff_min: Duration,
    /// Longest such pause.
    pub backoff_max: Duration,
    /// Longest message taken from a responder, in bytes.
    pub message_bytes_max: u32,
    /// Bytes that long messages (over 8 KiB) of one link may hold until they are taken; past it
    /// a stream ends as overloaded.
    pub reassembly_bytes_max: usize,
    /// First credit of each stream, in bytes; at least 16 KiB.
    pub stream_window: u32,
    /// Most credit that a stream grows to, in bytes.
    pub stream_window_max: u32,
    /// Credit of each link, in bytes.
    pub connection_window: u32,
    /// Bytes of request messages that may wait in one stream's queue.
    pub queue_bytes_max: usize,
    /// PING an idle link after this long.
    pub keepalive_idle: Duration,
    /// PING a link with open streams after this long without a byte.
    pub keepalive_active: Duration,
    /// Options of dialed sockets (`Home::Inline`; shards have their own).
    pub socket: SocketOptions,
}

impl Default for ClientConfig {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            policy: Policy::RoundRobin,
            connect_timeout: Duration::from_secs(3),
            links_per_instance: 1,
            links_max: 4096,
            dials_max: 64,
            pending_calls_max: 4096,
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_secs(10),
            message_bytes_max: limits.message_bytes_max,
            reassembly_bytes_max: 256 * 1024 * 1024,
            stream_window: limits.stream_window,
            stream_window_max: 1024 * 1024,
            connection_window: limits.connection_window,
            queue_bytes_max: 1024 * 1024,
            keepalive_idle: Duration::from_secs(30),
            keepalive_active: Duration::from_secs(1),
            socket: SocketOptions::default(),
        }
    }
}

impl ClientConfig {
    /// First credit of each stream, as it is announced.
    fn window(&self) -> u32 {
        self.stream_window.max(Inbox::WINDOW_BYTES_MIN)
    }

    /// Credit that a consumer on another thread may collect before it tells the shard: half a
    /// window, so that the shard passes it on at once, but never what a message that is still
    /// arriving may need.
    pub(crate) fn credit_step(&self) -> u32 {
        let window = self.window();
        (window / 2).min(window - Inbox::WINDOW_BYTES_MIN).max(1)
    }

    /// The protocol's settings for a link to whoever is expected.
    pub(crate) fn connection(&self, expected: Option<InstanceId>) -> Config {
        let mut config = Config::dialer(expected);
        config.limits.message_bytes_max = self.message_bytes_max;
        config.limits.streams_max = 0;
        let window = self.window();
        config.limits.stream_window = window;
        config.limits.connection_window = self.connection_window;
        config.limits.keepalive_idle_ms = millis(self.keepalive_idle);
        config.limits.keepalive_active_ms = millis(self.keepalive_active);
        config.stream_window_max = self.stream_window_max.max(window);
        config.queue_bytes_max = self.queue_bytes_max;
        config.handshake_timeout = self.connect_timeout;
        config
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
