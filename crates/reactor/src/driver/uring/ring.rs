//! The ring itself: pushing entries, entering the kernel, taking completions.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{EnterFlags, IoUring, cqueue, squeue};

use super::setup::{SetupFlags, Sizes, build, descend};
use super::sys::{self, RingName, Wait};
use crate::stats::IoStats;

/// What is left of a completion entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    flags: u32,
}

impl Completion {
    /// A completion that no kernel made.
    #[cfg(test)]
    pub(super) const fn forged(user_data: u64, result: i32, flags: u32) -> Self {
        Self {
            user_data,
            result,
            flags,
        }
    }

    /// Whether the operation goes on and will complete again.
    pub(super) fn more(&self) -> bool {
        cqueue::more(self.flags)
    }

    /// The provided buffer it filled.
    pub(super) fn buffer(&self) -> Option<u16> {
        cqueue::buffer_select(self.flags)
    }

    /// The error of a failed operation.
    pub(super) fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(-self.result)
    }
}

/// Whether the kernel took what an enter offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// It did, or there was nothing.
    Done,
    /// Completions have to be reaped first.
    Busy,
}

/// An io_uring and the entries that found no place in it.
pub(super) struct Ring {
    io: IoUring,
    name: RingName,
    flags: SetupFlags,
    wait_flags: EnterFlags,
    /// Entries that did not fit, oldest first. Bounded by the operations that slots may have.
    backlog: VecDeque<squeue::Entry>,
    overflowed: bool,
}

impl Ring {
    /// Creates a ring for the calling thread.
    pub(super) fn new(sizes: Sizes) -> io::Result<Self> {
        let (io, flags) = descend(sizes, build)?;
        let name = sys::register_ring(io.as_raw_fd());
        // Without this flag an idle thread with a receive armed counts as waiting for a disk.
        let wait_flags = if io.params().is_feature_no_iowait() {
            EnterFlags::NO_IOWAIT
        } else {
            EnterFlags::empty()
        };
        Ok(Self {
            io,
            name,
            flags,
            wait_flags,
            backlog: VecDeque::new(),
            overflowed: false,
        })
    }

    pub(super) const fn io(&self) -> &IoUring {
        &self.io
    }

    pub(super) const fn flags(&self) -> SetupFlags {
        self.flags
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as `self.io` lives.
        unsafe { BorrowedFd::borrow_raw(self.io.as_raw_fd()) }
    }

    /// Queues an entry; submits at once when the queue is full.
    ///
    /// # Safety
    ///
    /// Memory and descriptor that the entry refers to stay valid until its final completion.
    pub(super) unsafe fn push(&mut self, entry: squeue::Entry, stats: &mut IoStats) {
        if self.backlog.is_empty() {
            if self.place(&entry) {
                return;
            }
            stats.sq_full += 1;
            // An error or `Busy` shows again in the turn, which can act on it.
            if self.enter(Wait::No, stats).is_ok() && self.place(&entry) {
                return;
            }
        }
        self.backlog.push_back(entry);
    }

    /// Places an entry that [`push`](Self::push) was given in the submission queue.
    fn place(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: whoever called `push` vouched for the entry.
        unsafe { self.io.submission().push(entry) }.is_ok()
    }

    fn refill(&mut self) {
        while let Some(entry) = self.backlog.pop_front() {
            if !self.place(&entry) {
                self.backlog.push_front(entry);
                return;
            }
        }
    }

    /// Submits what is queued, runs the kernel's deferred work and waits.
    pub(super) fn enter(&mut self, wait: Wait, stats: &mut IoStats) -> io::Result<Entered> {
        self.refill();
        let submit = u32::try_from(self.io.submission().len()).unwrap_or(u32::MAX);
        let wait = if self.backlog.is_empty() {
            wait
        } else {
            Wait::No
        };
        let flags = if wait == Wait::No {
            EnterFlags::empty()
        } else {
            self.wait_flags
        };
        stats.syscalls += 1;
        stats.parks += u64::from(wait != Wait::No);
        let Err(error) = sys::enter(self.name, submit, wait, flags) else {
            return Ok(Entered::Done);
        };
        match error.raw_os_error() {
            Some(libc::EINTR | libc::ETIME) => Ok(Entered::Done),
            Some(libc::EBUSY | libc::EAGAIN) => {
                stats.busy += 1;
                Ok(Entered::Busy)
            }
            _ => Err(error),
        }
    }

    /// Whether entries wait to be submitted.
    pub(super) fn has_submissions(&mut self) -> bool {
        !self.backlog.is_empty() || !self.io.submission().is_empty()
    }

    /// Whether completions wait to be reaped.
    pub(super) fn has_completions(&mut self) -> bool {
        !self.io.completion().is_empty()
    }

    /// Whether only an enter will show further completions: deferred work or an overflow.
    pub(super) fn has_hidden(&mut self, stats: &mut IoStats) -> bool {
        let queue = self.io.submission();
        let overflowed = queue.cq_overflow();
        let hidden = overflowed || queue.taskrun();
        drop(queue);
        stats.cq_overflow += u64::from(overflowed && !self.overflowed);
        self.overflowed = overflowed;
        hidden
    }

    /// Whether entries found no place in the submission queue.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Takes completions until `into` has `max` of them.
    pub(super) fn reap(&mut self, into: &mut Vec<Completion>, max: usize) {
        let space = max.saturating_sub(into.len());
        into.extend(self.io.completion().take(space).map(|entry| Completion {
            user_data: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        sys::unregister_ring(self.io.as_raw_fd(), self.name);
    }
}
