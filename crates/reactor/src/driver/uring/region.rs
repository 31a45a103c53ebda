//! Page-aligned memory that the kernel writes into.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

/// A block of zeroed memory, accessed through raw pointers only because the kernel shares it.
pub(super) struct Region {
    start: NonNull<u8>,
    layout: Layout,
}

impl Region {
    /// Memory of at least `bytes` bytes.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let layout = Layout::from_size_align(bytes.max(PAGE_BYTES), PAGE_BYTES)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        Ok(Self { start, layout })
    }

    /// The first byte.
    pub(super) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// The memory from `offset` on.
    ///
    /// # Panics
    ///
    /// When the part is not inside the region.
    pub(super) fn part(&self, offset: usize, bytes: usize) -> *mut u8 {
        let end = offset.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.bytes()),
            "the part lies inside the region"
        );
        // SAFETY: just checked that the offset lies inside the allocation.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout. The driver drops a region only when
        // the kernel has no operation left that could write to it, and forgets it otherwise.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
