//! Owners of bytes that wait in a stream's send queue.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

use crate::stream_cell::StreamCell;

/// Largest copy that is kept for reuse; larger ones go back to the allocator.
const POOLED_BYTES_MAX: usize = 4096;
/// What a kept copy costs beside its bytes: its own header and the allocator's.
const COPY_OVERHEAD_BYTES: usize = 48;
/// Memory of copies kept per thread; past it they go back to the allocator. Streams that use their
/// credit up and get it back at once let many thousands of small messages go together.
const POOL_BYTES_MAX: usize = 16 * 1024 * 1024;

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { free: Vec::new(), bytes: 0 }) };
}

/// Buffers of messages that have left.
struct Pool {
    free: Vec<Vec<u8>>,
    /// What all of them cost.
    bytes: usize,
}

impl Pool {
    fn take(&mut self) -> Option<Vec<u8>> {
        let buf = self.free.pop()?;
        self.bytes -= cost(&buf);
        Some(buf)
    }

    fn put(&mut self, buf: Vec<u8>) {
        if self.bytes + cost(&buf) <= POOL_BYTES_MAX {
            self.bytes += cost(&buf);
            self.free.push(buf);
        }
    }
}

fn cost(buf: &Vec<u8>) -> usize {
    buf.capacity() + COPY_OVERHEAD_BYTES
}

/// Bytes queued for sending: the caller's own, or a pooled copy of a small message.
///
/// A metered payload tells its [`StreamCell`] when it leaves the queue, on every exit: written,
/// discarded, or lost with its connection.
#[derive(Debug)]
pub struct Payload {
    bytes: Owner,
    meter: Option<Arc<StreamCell>>,
}

impl Payload {
    /// A copy of `bytes` in a buffer of this thread's pool: no allocation once the pool is warm.
    pub fn copied(bytes: &[u8]) -> Self {
        let mut buf = POOL
            .with(|pool| pool.borrow_mut().take())
            .unwrap_or_default();
        buf.extend_from_slice(bytes);
        Self {
            bytes: Owner::Pooled(buf),
            meter: None,
        }
    }

    /// Charges this payload to `cell` until it leaves the queue.
    ///
    /// The bytes must have been added to the cell already; dropping the payload takes them off.
    /// Made and dropped on the shard that owns the stream.
    #[must_use]
    pub fn metered(mut self, cell: Arc<StreamCell>) -> Self {
        cell.hold();
        self.meter = Some(cell);
        self
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes: Owner::Shared(bytes),
            meter: None,
        }
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        match &self.bytes {
            Owner::Shared(bytes) => bytes,
            Owner::Pooled(buf) => buf,
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if let Some(cell) = self.meter.take() {
            cell.let_go(self.as_ref().len());
        }
        if let Owner::Pooled(buf) = &mut self.bytes {
            give_back(std::mem::take(buf));
        }
    }
}

#[derive(Debug)]
enum Owner {
    Shared(Bytes),
    Pooled(Vec<u8>),
}

fn give_back(mut buf: Vec<u8>) {
    if buf.capacity() > POOLED_BYTES_MAX {
        return;
    }
    buf.clear();
    // A thread that is ending has no pool any more; the buffer is then simply freed.
    let _ended = POOL.try_with(|pool| pool.borrow_mut().put(buf));
}
