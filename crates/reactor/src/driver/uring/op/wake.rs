//! Wake-ups from other threads: a message to the ring, or a poll of an eventfd.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::{opcode, types};

use super::super::Uring;
use super::super::ring::Ring;
use super::super::token::{Op, Token};
use crate::wake::{RingDoor, Waker, drain_eventfd, new_eventfd};

/// What other threads knock at.
pub(in super::super) enum WakeSource {
    /// The ring itself.
    Ring(Arc<RingDoor>),
    /// An eventfd, with a poll of it in the ring.
    Eventfd {
        /// The eventfd, shared with its wakers.
        fd: Arc<OwnedFd>,
        /// Whether the poll is in flight.
        armed: bool,
    },
}

impl WakeSource {
    /// A ring door where the kernel delivers a message through it, else an eventfd.
    pub(in super::super) fn new(ring: &Ring, msg_ring: bool) -> io::Result<Self> {
        if msg_ring {
            let token = Token::new(Op::Wake, 0, 0).encode();
            let door = RingDoor::new(ring.fd(), token)?;
            // Its completion shows as one wake too many in the first turn.
            if door.try_post().is_ok() {
                return Ok(Self::Ring(Arc::new(door)));
            }
        }
        Ok(Self::Eventfd {
            fd: new_eventfd()?,
            armed: false,
        })
    }

    pub(in super::super) fn waker(&self) -> Waker {
        match self {
            Self::Ring(door) => Waker::ring(Arc::clone(door)),
            Self::Eventfd { fd, .. } => Waker::eventfd(Arc::clone(fd)),
        }
    }
}

impl Uring {
    /// Makes sure that the next wake completes something.
    pub(in super::super) fn arm_wake(&mut self) {
        let WakeSource::Eventfd { fd, armed } = &mut self.wake else {
            return;
        };
        if std::mem::replace(armed, true) {
            return;
        }
        let entry = opcode::PollAdd::new(types::Fd(fd.as_raw_fd()), libc::POLLIN as u32)
            .build()
            .user_data(Token::new(Op::Wake, 0, 0).encode());
        self.wake_ops += 1;
        // SAFETY: the entry refers to the eventfd only, which the driver keeps open; the kernel
        // holds its own reference once the entry is submitted.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_wake(&mut self) {
        self.stats.wakes += 1;
        if let WakeSource::Eventfd { fd, armed } = &mut self.wake {
            *armed = false;
            self.wake_ops = self.wake_ops.saturating_sub(1);
            self.stats.syscalls += 1;
            // Empty is fine: the wake that filled it is being answered now.
            drain_eventfd(fd);
        }
    }
}
