//! What a driver and its sockets are set up with.

use std::time::Duration;

/// Options of a stream socket, applied to accepted and dialed sockets alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Send small segments at once (`TCP_NODELAY`); ignored on Unix sockets.
    pub nodelay: bool,
    /// `SO_RCVBUF`; `None` leaves the kernel's auto-tuning on.
    pub recv_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF`; `None` leaves the kernel's auto-tuning on.
    pub send_buffer_bytes: Option<usize>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            nodelay: true,
            recv_buffer_bytes: None,
            send_buffer_bytes: None,
        }
    }
}

/// Options of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Length of the kernel's queue of connections not yet accepted.
    pub backlog: u32,
    /// `SO_REUSEPORT`: several listeners share the port. Off by default because it hides a second
    /// process on the port.
    pub reuse_port: bool,
    /// Set on the listener, so that accepted sockets inherit them before their first segment.
    pub socket: SocketOptions,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            backlog: 4096,
            reuse_port: false,
            socket: SocketOptions::default(),
        }
    }
}

/// What a driver does when it has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePolicy {
    /// Wait in the kernel at once.
    Park,
    /// Spin for `spin_us`, but only while events come closer together than that; else park.
    Adaptive {
        /// How long to spin, and the mean gap below which spinning is worth it. 0 parks at once.
        spin_us: u32,
    },
    /// Never wait in the kernel; for a core that nothing else runs on.
    Spin,
}

impl Default for IdlePolicy {
    fn default() -> Self {
        Self::Adaptive { spin_us: 0 }
    }
}

/// Configuration of one driver.
///
/// Values out of range are clamped by the driver (the kernel wants powers of two), never refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverConfig {
    /// Receive buffers that the driver's sockets share; rounded up to a power of two.
    pub recv_buffers: u16,
    /// Bytes of one receive buffer.
    pub recv_buffer_bytes: u32,
    /// Most buffers one socket may have handed out and not yet recycled before its receiving
    /// pauses; 0 means a quarter of `recv_buffers`.
    pub recv_buffers_per_socket_max: u16,
    /// Most sockets alive at once; `adopt` and `connect` refuse more.
    pub sockets_max: u32,
    /// Most events collected by one turn before the rest is left for the next.
    pub events_per_turn_max: u32,
    /// Entries of the submission queue.
    pub sq_entries: u32,
    /// Entries of the completion queue.
    pub cq_entries: u32,
    /// What to do when idle.
    pub idle: IdlePolicy,
    /// Pause before accepting again after the process ran out of descriptors or memory.
    pub accept_backoff: Duration,
    /// How long a closed socket stays while the peer has not acknowledged what was sent; 0 closes
    /// at once, which may throw that away.
    pub linger: Duration,
    /// How long dropping a driver waits for operations the kernel still holds.
    pub shutdown_wait: Duration,
    /// Wake by message to the ring where the kernel can; else always by eventfd.
    pub msg_ring: bool,
}

impl DriverConfig {
    /// For a thread that mostly answers: many small requests come in.
    #[must_use]
    pub fn server() -> Self {
        Self {
            recv_buffers: 256,
            recv_buffer_bytes: 4096,
            recv_buffers_per_socket_max: 0,
            sockets_max: 65_536,
            events_per_turn_max: 4096,
            sq_entries: 4096,
            cq_entries: 16_384,
            idle: IdlePolicy::default(),
            accept_backoff: Duration::from_millis(100),
            linger: Duration::from_secs(1),
            shutdown_wait: Duration::from_secs(1),
            msg_ring: true,
        }
    }

    /// For a thread that mostly calls: streams of tokens come in.
    #[must_use]
    pub fn client() -> Self {
        Self {
            recv_buffer_bytes: 16_384,
            ..Self::server()
        }
    }

    /// The quota of buffers per socket that is really applied.
    #[must_use]
    pub fn recv_quota(&self) -> u32 {
        match self.recv_buffers_per_socket_max {
            0 => (u32::from(self.recv_buffers) / 4).max(1),
            max => u32::from(max),
        }
    }
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self::server()
    }
}
