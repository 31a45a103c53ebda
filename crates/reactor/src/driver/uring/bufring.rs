//! The receive buffers that all sockets of a driver share, and the ring that lends them to the
//! kernel.

use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

use super::region::Region;

/// The only buffer group of a ring.
pub(super) const BUFFER_GROUP: u16 = 0;

/// The kernel takes at most this many buffers in a ring.
const BUFFERS_MAX: u16 = 32_768;

/// A provided-buffer ring and its memory.
///
/// Each buffer is either `free`, that is in the ring or waiting for the next publish, or out: in
/// the hands of the driver's user. `out` says which, so that a buffer can never be lent twice.
pub(super) struct BufRing {
    ring: ManuallyDrop<Region>,
    memory: ManuallyDrop<Region>,
    out: Vec<bool>,
    buffers: u16,
    buffer_bytes: u32,
    tail: u16,
    published: u16,
    held: u16,
}

impl BufRing {
    /// Makes the buffers and registers their ring.
    pub(super) fn new(io: &IoUring, buffers: u16, buffer_bytes: u32) -> io::Result<Self> {
        let buffers = buffers.clamp(1, BUFFERS_MAX).next_power_of_two();
        let buffer_bytes = buffer_bytes.max(1);
        let ring = Region::new(usize::from(buffers) * size_of::<BufRingEntry>())?;
        let memory = Region::new(usize::from(buffers) * buffer_bytes as usize)?;
        // The kernel gets both addresses as numbers.
        let address = ring.start().expose_provenance() as u64;
        memory.start().expose_provenance();
        // SAFETY: the ring's memory is page-aligned and outlives the registration: it is freed
        // after `unregister` only, and else forgotten.
        unsafe {
            io.submitter()
                .register_buf_ring_with_flags(address, buffers, BUFFER_GROUP, 0)
        }?;
        let mut this = Self {
            ring: ManuallyDrop::new(ring),
            memory: ManuallyDrop::new(memory),
            out: vec![false; usize::from(buffers)],
            buffers,
            buffer_bytes,
            tail: 0,
            published: 0,
            held: 0,
        };
        for buffer in 0..buffers {
            this.put(buffer);
        }
        this.publish();
        Ok(this)
    }

    /// How many buffers there are.
    pub(super) const fn total(&self) -> u16 {
        self.buffers
    }

    /// How many are out.
    pub(super) const fn held(&self) -> u16 {
        self.held
    }

    /// How many are not out.
    pub(super) const fn free(&self) -> u16 {
        self.buffers - self.held
    }

    /// Takes over a buffer that the kernel filled; false when it never was the kernel's to fill.
    pub(super) fn take(&mut self, buffer: u16) -> bool {
        match self.out.get_mut(usize::from(buffer)) {
            Some(out) if !*out => {
                *out = true;
                self.held += 1;
                true
            }
            _ => false,
        }
    }

    /// Gives a buffer back; the kernel sees it at the next publish.
    pub(super) fn give(&mut self, buffer: u16) {
        let Some(out) = self.out.get_mut(usize::from(buffer)) else {
            return;
        };
        assert!(std::mem::take(out), "only a buffer that is out comes back");
        self.held -= 1;
        self.put(buffer);
    }

    /// Shows the kernel every buffer given back since the last publish.
    pub(super) fn publish(&mut self) {
        if self.published == self.tail {
            return;
        }
        self.published = self.tail;
        // SAFETY: the start of the ring is a properly aligned, initialised entry.
        let tail = unsafe { BufRingEntry::tail(self.ring.start().cast()) };
        // SAFETY: the tail is two aligned bytes inside the ring's memory, which lives as long as
        // `self`; all access to it is atomic.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// The first `len` bytes of a buffer that is out.
    pub(super) fn bytes(&self, buffer: u16, len: u32) -> &[u8] {
        assert!(
            self.out[usize::from(buffer)],
            "only a buffer that is out can be read"
        );
        let start = self.memory.part(self.offset(buffer), len as usize);
        // SAFETY: the part lies inside the memory and is initialised (zeroed at first). The buffer
        // is out, so the kernel does not write to it, and giving it back takes `&mut self`.
        unsafe { std::slice::from_raw_parts(start, len as usize) }
    }

    /// Ends the registration and frees the memory.
    ///
    /// The caller has seen the final completion of every receive. No buffer can be used later.
    pub(super) fn release(&mut self, io: &IoUring) {
        if self.out.is_empty() {
            return;
        }
        self.out.clear();
        self.published = self.tail;
        if io.submitter().unregister_buf_ring(BUFFER_GROUP).is_err() {
            // Still registered: the memory stays the kernel's for ever.
            return;
        }
        // SAFETY: dropped once, as `out` is empty from here on, and not used without a buffer out.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
        // SAFETY: dropped once, as `out` is empty from here on, and not used without a buffer out.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }

    fn offset(&self, buffer: u16) -> usize {
        usize::from(buffer) * self.buffer_bytes as usize
    }

    fn put(&mut self, buffer: u16) {
        let address = self
            .memory
            .part(self.offset(buffer), self.buffer_bytes as usize);
        let slot = usize::from(self.tail & (self.buffers - 1));
        let entry_bytes = size_of::<BufRingEntry>();
        let entry = self
            .ring
            .part(slot * entry_bytes, entry_bytes)
            .cast::<BufRingEntry>();
        // SAFETY: the entry lies inside the ring's page-aligned memory. It is past the published
        // tail, so the kernel does not read it now; there are never more buffers than entries.
        let entry = unsafe { &mut *entry };
        entry.set_addr(address.addr() as u64);
        entry.set_len(self.buffer_bytes);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests;
