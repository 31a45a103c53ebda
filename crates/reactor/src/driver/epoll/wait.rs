//! The epoll descriptor and the system call that waits on it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;

/// Most ready descriptors one wait reports; the kernel reports the rest first next time.
const READY_MAX: usize = 256;

pub(super) struct Selector {
    fd: OwnedFd,
    ready: Vec<Event>,
    /// Whether the kernel takes timeouts in nanoseconds (5.11); found out by the first one.
    precise: bool,
}

impl Selector {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            fd: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ready: Vec::with_capacity(READY_MAX),
            precise: true,
        })
    }

    pub(super) fn add(&self, fd: &OwnedFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), flags)?)
    }

    pub(super) fn modify(&self, fd: &OwnedFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(
            &self.fd,
            fd,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// Must precede the close: another process may still hold a copy of the descriptor, and the
    /// kernel would go on to report it.
    pub(super) fn remove(&self, fd: &OwnedFd) {
        // It fails only for a descriptor that is not watched.
        epoll::delete(&self.fd, fd).ok();
    }

    /// Waits; `None` waits for ever. Returns how many entries [`ready`](Self::ready) has.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.ready.clear();
        match self.wait_raw(timeout) {
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(self.ready.len()),
        }
    }

    /// The token and flags of a descriptor that the last wait found ready.
    pub(super) fn ready(&self, index: usize) -> (u64, EventFlags) {
        // The struct is packed: its fields are copied, never borrowed.
        let Event { flags, data, .. } = self.ready[index];
        (data.u64(), flags)
    }

    fn wait_raw(&mut self, timeout: Option<Duration>) -> Result<(), Errno> {
        if let Some(timeout) = timeout.filter(|timeout| self.precise && !timeout.is_zero()) {
            match self.wait_precise(timeout) {
                // Old kernels and strict seccomp profiles do not have the call.
                Err(Errno::NOSYS | Errno::PERM) => self.precise = false,
                done => return done,
            }
        }
        let timespec = timeout.map(round_up_to_ms);
        epoll::wait(&self.fd, spare_capacity(&mut self.ready), timespec.as_ref())?;
        Ok(())
    }

    fn wait_precise(&mut self, timeout: Duration) -> Result<(), Errno> {
        let timespec = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos().cast_signed()),
        };
        let spare = self.ready.spare_capacity_mut();
        let room: *mut MaybeUninit<Event> = spare.as_mut_ptr();
        // SAFETY: the kernel writes at most `spare.len()` events of the layout that rustix gives
        // `Event` (epoll_event) into `spare`, which outlives the call; `timespec` is only read.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_fd().as_raw_fd(),
                room,
                spare.len(),
                &raw const timespec,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let Ok(found) = usize::try_from(found) else {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
        };
        // SAFETY: the vector was empty and the kernel filled the first `found` entries of its
        // spare capacity.
        unsafe { self.ready.set_len(found) };
        Ok(())
    }
}

/// Never earlier than asked, and never zero unless zero was asked.
fn round_up_to_ms(timeout: Duration) -> Timespec {
    // The plain call counts milliseconds in an `i32`; a longer wait just turns once more.
    let ms = timeout.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i64;
    Timespec {
        tv_sec: ms / 1000,
        tv_nsec: ms % 1000 * 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_timeouts_never_fire_early() {
        for (nanos, sec, nsec) in [
            (0, 0, 0),
            (1, 0, 1_000_000),
            (1_000_000, 0, 1_000_000),
            (1_000_001, 0, 2_000_000),
            (999_999_999, 1, 0),
            (u64::MAX, 2_147_483, 647_000_000),
        ] {
            let rounded = round_up_to_ms(Duration::from_nanos(nanos));
            assert_eq!((rounded.tv_sec, rounded.tv_nsec), (sec, nsec), "{nanos} ns");
        }
    }

    #[test]
    fn a_refused_precise_wait_falls_back() {
        let mut selector = Selector::new().unwrap();
        selector.precise = false;
        assert_eq!(selector.wait(Some(Duration::from_nanos(1))).unwrap(), 0);
        selector.precise = true;
        assert_eq!(selector.wait(Some(Duration::from_nanos(1))).unwrap(), 0);
    }
}
