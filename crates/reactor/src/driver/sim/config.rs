//! How a simulated network behaves.

use std::time::Duration;

use crate::config::DriverConfig;

/// Behavior of a [`SimNet`](super::SimNet). Chances are in parts per million, drawn from the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// Shortest way of a segment, a dial or its answer.
    pub delay_min: Duration,
    /// Longest. Segments of one direction never overtake each other.
    pub delay_max: Duration,
    /// Bytes one direction of a connection holds, on its way and unread together: the two
    /// kernels' socket buffers.
    pub pipe_bytes_max: usize,
    /// Bytes of the largest segment.
    pub segment_bytes_max: usize,
    /// Per segment and per receive: cut at a random point.
    pub split_ppm: u32,
    /// Per segment: the kernel takes no more of the send for one delay.
    pub stall_ppm: u32,
    /// Per segment: the connection is reset; what is on its way is lost.
    pub reset_ppm: u32,
    /// Per segment: the connection dies without a word; both ends just hear nothing any more.
    pub drop_ppm: u32,
    /// Per dial: refused although somebody listens.
    pub refuse_ppm: u32,
    /// Per connection that comes in: out of descriptors, accepted after a pause.
    pub accept_fail_ppm: u32,
    /// How long a dial waits for an answer that a partition keeps away.
    pub connect_timeout: Duration,
    /// Receive buffers, quotas, limits and pauses of each reactor.
    pub driver: DriverConfig,
}

impl SimConfig {
    /// A network with delays and nothing else.
    #[must_use]
    pub fn calm() -> Self {
        Self {
            delay_min: Duration::from_micros(20),
            delay_max: Duration::from_micros(200),
            pipe_bytes_max: 256 * 1024,
            segment_bytes_max: 64 * 1024,
            split_ppm: 0,
            stall_ppm: 0,
            reset_ppm: 0,
            drop_ppm: 0,
            refuse_ppm: 0,
            accept_fail_ppm: 0,
            connect_timeout: Duration::from_secs(10),
            driver: DriverConfig::server(),
        }
    }

    /// Small buffers, split segments, stalled sends: nothing breaks, everything comes in pieces.
    #[must_use]
    pub fn choppy() -> Self {
        Self {
            delay_max: Duration::from_millis(2),
            pipe_bytes_max: 8 * 1024,
            segment_bytes_max: 4 * 1024,
            split_ppm: 500_000,
            stall_ppm: 200_000,
            driver: DriverConfig {
                recv_buffers: 16,
                recv_buffer_bytes: 1024,
                ..DriverConfig::server()
            },
            ..Self::calm()
        }
    }

    /// [`choppy`](Self::choppy), and connections break as well.
    #[must_use]
    pub fn rough() -> Self {
        Self {
            reset_ppm: 2_000,
            drop_ppm: 500,
            refuse_ppm: 50_000,
            accept_fail_ppm: 20_000,
            ..Self::choppy()
        }
    }

    /// The same, but nothing breaks any more: for the end of a run, when all must come to rest.
    #[must_use]
    pub fn without_breakage(self) -> Self {
        Self {
            reset_ppm: 0,
            drop_ppm: 0,
            refuse_ppm: 0,
            accept_fail_ppm: 0,
            ..self
        }
    }
}

impl Default for SimConfig {
    fn default() -> Self {
        Self::calm()
    }
}
