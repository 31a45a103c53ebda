//! Posting a message to a ring from a thread that has none.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::{opcode, squeue, types};

/// `IORING_REGISTER_SEND_MSG_RING`: the only register call that takes no ring (kernel 6.13).
const REGISTER_SEND_MSG_RING: libc::c_uint = 31;

/// Posts are retried this often when the kernel is short of memory for one.
const POST_TRIES_MAX: u32 = 64;

/// The way into one ring for foreign threads.
///
/// It holds its own descriptor of the ring, so that the number can never come to mean another
/// file while a waker lives. A driver closes the door when it goes.
pub(crate) struct RingDoor {
    fd: OwnedFd,
    user_data: u64,
    closed: AtomicBool,
}

impl RingDoor {
    /// A door whose posts complete with `user_data` in the ring's completion queue.
    pub(crate) fn new(ring: BorrowedFd<'_>, user_data: u64) -> io::Result<Self> {
        Ok(Self {
            fd: ring.try_clone_to_owned()?,
            user_data,
            closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Makes later posts do nothing.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Posts one completion.
    pub(crate) fn post(&self) {
        for _ in 0..POST_TRIES_MAX {
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            match self.try_post() {
                // No memory for the message: it may come free, and a lost wake would strand work.
                Err(error) if is_transient(&error) => std::thread::yield_now(),
                Ok(()) | Err(_) => return,
            }
        }
    }

    /// Posts one completion, or says why the kernel did not take it.
    pub(crate) fn try_post(&self) -> io::Result<()> {
        send_message(self.fd.as_raw_fd(), self.user_data)
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOMEM | libc::EAGAIN | libc::EINTR | libc::EBUSY)
    )
}

fn send_message(ring: RawFd, user_data: u64) -> io::Result<()> {
    let entry: squeue::Entry =
        opcode::MsgRingData::new(types::Fd(ring), 0, user_data, None).build();
    let no_ring: libc::c_int = -1;
    // SAFETY: the kernel reads one submission entry, which lives across the call; it keeps no
    // pointer to it, and a message entry refers to no other memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            no_ring,
            REGISTER_SEND_MSG_RING,
            &raw const entry,
            1 as libc::c_uint,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
