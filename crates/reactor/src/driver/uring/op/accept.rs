//! Multishot accept.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use io_uring::{opcode, types};
use rustix::net::SocketFlags;

use super::super::Uring;
use super::super::ring::Completion;
use super::super::slot::{Listener, listener_token};
use super::super::token::Op;
use crate::address::Address;
use crate::config::ListenOptions;
use crate::event::{Event, ListenerId};
use crate::socket;

/// Most connections taken from the kernel's queue when a listener closes.
const LAST_ACCEPTS_MAX: u32 = 65_536;

/// What a failed accept says about the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcceptError {
    /// Something about that one connection.
    Connection,
    /// The process or host ran out of something; at once it would fail again.
    Exhausted,
}

impl AcceptError {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(
                libc::ECONNABORTED
                | libc::EINTR
                | libc::EAGAIN
                | libc::EPROTO
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH,
            ) => Self::Connection,
            // Descriptors, memory, or something unheard of: never try again without a pause.
            _ => Self::Exhausted,
        }
    }
}

impl Uring {
    pub(in super::super) fn start_listen(
        &mut self,
        address: &Address,
        options: &ListenOptions,
    ) -> io::Result<(ListenerId, Address)> {
        let (fd, actual) = socket::listener(address, options)?;
        let listener = Listener {
            fd,
            ops: 0,
            closing: false,
        };
        let (index, generation) = self
            .listeners
            .insert(listener)
            .map_err(|_| io::Error::other("too many listeners"))?;
        let id = ListenerId::new(index, generation);
        self.arm_accept(id);
        Ok((id, actual))
    }

    pub(in super::super) fn arm_accept(&mut self, id: ListenerId) {
        let Some(listener) = self.listeners.at(id.index(), id.generation()) else {
            return;
        };
        if listener.closing {
            return;
        }
        let entry = opcode::AcceptMulti::new(types::Fd(listener.fd.as_raw_fd()))
            .flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
            .build()
            .user_data(listener_token(Op::Accept, id));
        listener.ops += 1;
        self.ops += 1;
        // SAFETY: the entry refers to the listener's descriptor only, which its slot keeps open
        // until `ops` is 0.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn stop_listen(&mut self, id: ListenerId) {
        let Some(listener) = self.listeners.at(id.index(), id.generation()) else {
            return;
        };
        if std::mem::replace(&mut listener.closing, true) {
            return;
        }
        if listener.ops == 0 {
            self.release_listener(id);
            return;
        }
        let target = types::CancelBuilder::user_data(listener_token(Op::Accept, id));
        let entry = opcode::AsyncCancel2::new(target)
            .build()
            .user_data(listener_token(Op::AcceptCancel, id));
        listener.ops += 1;
        self.ops += 1;
        // SAFETY: a cancel refers to no memory.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_accept(&mut self, id: ListenerId, completion: Completion) {
        if !completion.more() {
            self.ops = self.ops.saturating_sub(1);
        }
        if completion.result >= 0 {
            // SAFETY: the kernel just made this descriptor for this completion alone.
            let fd = unsafe { OwnedFd::from_raw_fd(completion.result) };
            self.report_accepted(id, fd);
        }
        let Some(listener) = self.listeners.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        if completion.more() {
            return;
        }
        listener.ops = listener.ops.saturating_sub(1);
        if listener.closing {
            self.release_listener(id);
        } else if completion.result >= 0 {
            self.stats.rearmed += 1;
            self.stats.accepts_rearmed += 1;
            self.arm_accept(id);
        } else {
            self.on_accept_failed(id, completion.error());
        }
    }

    fn on_accept_failed(&mut self, listener: ListenerId, error: io::Error) {
        self.stats.accepts_failed += 1;
        match AcceptError::of(&error) {
            AcceptError::Connection => {
                self.stats.rearmed += 1;
                self.stats.accepts_rearmed += 1;
                self.arm_accept(listener);
            }
            AcceptError::Exhausted => {
                self.stats.accepts_backed_off += 1;
                self.backoffs
                    .push_back((self.now + self.config.accept_backoff, listener));
            }
        }
        self.events
            .push_back(Event::AcceptFailed { listener, error });
    }

    pub(in super::super) fn on_accept_cancelled(&mut self, id: ListenerId) {
        self.ops = self.ops.saturating_sub(1);
        let Some(listener) = self.listeners.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        listener.ops = listener.ops.saturating_sub(1);
        self.release_listener(id);
    }

    /// Accepts what the kernel has queued, then closes the listener, once it has no operation left.
    fn release_listener(&mut self, id: ListenerId) {
        let Some(listener) = self.listeners.at(id.index(), id.generation()) else {
            return;
        };
        if listener.ops > 0 {
            return;
        }
        let Some(listener) = self.listeners.remove(id.index(), id.generation()) else {
            return;
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for _ in 0..LAST_ACCEPTS_MAX {
            self.stats.syscalls += 1;
            match rustix::net::accept_with(listener.fd.as_fd(), flags) {
                Ok(fd) => self.report_accepted(id, fd),
                Err(error) if AcceptError::of(&error.into()) == AcceptError::Exhausted => break,
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => {}
            }
        }
    }

    fn report_accepted(&mut self, listener: ListenerId, fd: OwnedFd) {
        self.stats.accepts += 1;
        self.stats.syscalls += 1;
        let peer = socket::peer_address(&fd);
        self.events
            .push_back(Event::Accepted { listener, fd, peer });
    }

    /// Accepts again on listeners whose pause is over.
    pub(in super::super) fn end_backoffs(&mut self) {
        while let Some((due, listener)) = self.backoffs.front().copied() {
            if due > self.now {
                return;
            }
            self.backoffs.pop_front();
            self.stats.rearmed += 1;
            self.stats.accepts_rearmed += 1;
            self.arm_accept(listener);
        }
    }
}
