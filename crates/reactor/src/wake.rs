//! Waking a thread that waits in its driver.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

mod ring;

pub(crate) use ring::RingDoor;

/// How a [`Waker`] wakes; named in the start-up log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakerKind {
    /// It does nothing.
    Noop,
    /// It sets a flag (simulation, tests).
    Flag,
    /// It writes to an eventfd.
    Eventfd,
    /// It posts a message to the ring.
    MsgRing,
}

impl fmt::Display for WakerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Noop => "noop",
            Self::Flag => "flag",
            Self::Eventfd => "eventfd",
            Self::MsgRing => "msg_ring",
        })
    }
}

/// A handle with which any thread makes a driver's waiting turn return.
///
/// Each wake is a system call: the layer above keeps a sleeping flag and wakes once per sleep.
/// A wake sent to a turn that does not wait makes the next waiting turn return at once.
#[derive(Clone, Debug)]
pub struct Waker {
    door: Door,
}

#[derive(Clone, Debug)]
enum Door {
    Noop,
    Flag(Arc<AtomicBool>),
    Eventfd(Arc<OwnedFd>),
    Ring(Arc<RingDoor>),
}

impl Waker {
    /// A waker that does nothing.
    #[must_use]
    pub const fn noop() -> Self {
        Self { door: Door::Noop }
    }

    /// A waker that sets `flag`; its owner clears it.
    #[must_use]
    pub const fn flag(flag: Arc<AtomicBool>) -> Self {
        Self {
            door: Door::Flag(flag),
        }
    }

    /// A waker that writes to an eventfd; the driver polls and drains it.
    pub(crate) const fn eventfd(fd: Arc<OwnedFd>) -> Self {
        Self {
            door: Door::Eventfd(fd),
        }
    }

    pub(crate) const fn ring(door: Arc<RingDoor>) -> Self {
        Self {
            door: Door::Ring(door),
        }
    }

    /// How this waker wakes.
    #[must_use]
    pub const fn kind(&self) -> WakerKind {
        match self.door {
            Door::Noop => WakerKind::Noop,
            Door::Flag(_) => WakerKind::Flag,
            Door::Eventfd(_) => WakerKind::Eventfd,
            Door::Ring(_) => WakerKind::MsgRing,
        }
    }

    /// Makes the driver's waiting turn return, or its next one if none waits now.
    ///
    /// A driver that is gone is not woken, which is no error.
    pub fn wake(&self) {
        match &self.door {
            Door::Noop => {}
            Door::Flag(flag) => flag.store(true, Ordering::SeqCst),
            // A full counter (EAGAIN) means a wake is pending already.
            Door::Eventfd(fd) => drop(rustix::io::write(fd, &1u64.to_ne_bytes())),
            Door::Ring(door) => door.post(),
        }
    }
}

/// Creates the eventfd behind a [`Waker`].
pub(crate) fn new_eventfd() -> io::Result<Arc<OwnedFd>> {
    Ok(Arc::new(eventfd(
        0,
        EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
    )?))
}

/// Takes all wakes out of an eventfd; returns whether there was one.
pub(crate) fn drain_eventfd(fd: &impl AsFd) -> bool {
    let mut count = [0u8; 8];
    rustix::io::read(fd, &mut count).is_ok()
}

impl fmt::Debug for RingDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RingDoor")
            .field(&self.fd().as_raw_fd())
            .finish()
    }
}

#[cfg(test)]
mod tests;
