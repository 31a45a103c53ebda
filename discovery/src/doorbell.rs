//! Waking the discovery thread.

use std::{
    os::fd::{AsFd, OwnedFd},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    io::{Errno, read, write},
};

use crate::{Error, ErrorKind};

/// An event descriptor that any thread may ring and one thread waits on, beside a backend's own
/// descriptor.
#[derive(Debug)]
pub(crate) struct Doorbell {
    fd: OwnedFd,
}

impl Doorbell {
    pub(crate) fn new() -> Result<Self, Error> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| {
            Error::new(
                ErrorKind::Internal,
                "no event descriptor for the discovery thread",
            )
            .because(errno)
        })?;
        Ok(Self { fd })
    }

    /// Makes the waiting thread return, now or when it next waits. Never blocks.
    pub(crate) fn ring(&self) {
        match write(&self.fd, &1_u64.to_ne_bytes()) {
            // A full counter means that it rings already.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => tracing::error!(%error, "discovery.doorbell_broken"),
        }
    }

    /// Forgets past rings.
    pub(crate) fn clear(&self) {
        let mut count = [0; 8];
        match read(&self.fd, &mut count) {
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => tracing::error!(%error, "discovery.doorbell_broken"),
        }
    }

    /// Waits for a ring, for `events` to become readable, or until the given time (`None`: without
    /// end).
    pub(crate) fn wait(&self, events: Option<&OwnedFd>, until: Option<Instant>) {
        let bell = PollFd::from_borrowed_fd(self.fd.as_fd(), PollFlags::IN);
        let events = events.map(|events| PollFd::from_borrowed_fd(events.as_fd(), PollFlags::IN));
        let mut both = [bell.clone(), events.clone().unwrap_or(bell)];
        let used = if events.is_some() {
            &mut both[..]
        } else {
            &mut both[..1]
        };
        let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
        match poll(used, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => {
                // Out of kernel memory, as good as never: go on by the clock instead of spinning.
                tracing::error!(%error, "discovery.wait_failed");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec {
        tv_sec,
        tv_nsec: duration.subsec_nanos().into(),
    }
}
