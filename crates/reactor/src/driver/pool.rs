//! Receive buffers of the drivers that fill them by copying.

use crate::config::DriverConfig;
use crate::event::RecvBuf;
use crate::stats::IoStats;

/// A fixed set of equal receive buffers, handed out most recently used first (it is still in the
/// cache).
#[derive(Debug)]
pub(crate) struct Pool {
    bytes: Vec<u8>,
    buffer_bytes: usize,
    free: Vec<u32>,
    lent: Vec<bool>,
}

impl Pool {
    pub(crate) fn new(config: &DriverConfig) -> Self {
        let count = u32::from(config.recv_buffers.max(1)).next_power_of_two();
        let buffer_bytes = config.recv_buffer_bytes.max(1) as usize;
        Self {
            // Zeroed by the kernel on first touch, so an idle driver costs no memory.
            bytes: vec![0; buffer_bytes * count as usize],
            buffer_bytes,
            free: (0..count).rev().collect(),
            lent: vec![false; count as usize],
        }
    }

    /// The buffer that [`lend`](Self::lend) hands out next, to be filled first.
    pub(crate) fn next_free(&mut self) -> Option<&mut [u8]> {
        let index = *self.free.last()? as usize;
        let start = index * self.buffer_bytes;
        self.bytes.get_mut(start..start + self.buffer_bytes)
    }

    /// Takes the buffer that [`next_free`](Self::next_free) showed.
    pub(crate) fn lend(&mut self) -> Option<u32> {
        let index = self.free.pop()?;
        self.lent[index as usize] = true;
        Some(index)
    }

    /// The filled part of a lent buffer.
    pub(crate) fn filled(&self, buf: &RecvBuf) -> &[u8] {
        let start = buf.index as usize * self.buffer_bytes;
        &self.bytes[start..start + buf.len()]
    }

    /// # Panics
    ///
    /// When the buffer was not lent by this pool: two owners of one buffer would mix up streams.
    pub(crate) fn take_back(&mut self, index: u32) {
        let lent = self.lent.get_mut(index as usize);
        assert!(
            lent.is_some_and(std::mem::take),
            "receive buffer {index} was not on loan"
        );
        self.free.push(index);
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.free.is_empty()
    }

    /// Writes the levels of the pool into the counters.
    pub(crate) fn report(&self, stats: &mut IoStats) {
        stats.buffers_total = self.lent.len() as u64;
        stats.buffers_free = self.free.len() as u64;
        stats.buffers_held = (self.lent.len() - self.free.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SocketId;

    fn pool() -> Pool {
        Pool::new(&DriverConfig {
            recv_buffers: 3,
            recv_buffer_bytes: 8,
            ..DriverConfig::server()
        })
    }

    fn levels(pool: &Pool) -> (u64, u64, u64) {
        let mut stats = IoStats::default();
        pool.report(&mut stats);
        (stats.buffers_total, stats.buffers_free, stats.buffers_held)
    }

    #[test]
    fn buffers_are_lent_once_and_come_back() {
        let mut pool = pool();
        assert_eq!(levels(&pool), (4, 4, 0));
        let mut lent = Vec::new();
        while let Some(bytes) = pool.next_free() {
            bytes[0] = lent.len() as u8;
            lent.push(pool.lend().unwrap());
        }
        assert!(pool.is_exhausted());
        assert_eq!(levels(&pool), (4, 0, 4));
        for (value, &index) in lent.iter().enumerate() {
            let buf = RecvBuf {
                index,
                len: 1,
                owner: SocketId::new(0, 0),
            };
            assert_eq!(pool.filled(&buf), [value as u8]);
            pool.take_back(index);
        }
        assert_eq!(levels(&pool), (4, 4, 0));
    }

    #[test]
    #[should_panic(expected = "was not on loan")]
    fn a_buffer_cannot_come_back_twice() {
        let mut pool = pool();
        let index = pool.lend().unwrap();
        pool.take_back(index);
        pool.take_back(index);
    }
}
