//! Cancelling a socket's operations and closing it.

use std::os::fd::AsRawFd;

use io_uring::{opcode, types};
use rustix::net::Shutdown;

use super::super::Uring;
use super::super::slot::{Phase, Recv, socket_token};
use super::super::token::Op;
use crate::event::{Event, SocketId};
use crate::socket;

impl Uring {
    pub(in super::super) fn start_close(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        if matches!(socket.phase, Phase::Closing | Phase::Lingering) {
            return;
        }
        let quiet = socket.send.is_none() && socket.recv != Recv::Ended;
        if quiet && socket.phase == Phase::Open && !self.config.linger.is_zero() {
            self.stats.syscalls += 1;
            if socket::has_unsent(&socket.fd) {
                self.begin_linger(id);
                return;
            }
        }
        self.begin_close(id);
    }

    /// Lets the last bytes reach the peer.
    ///
    /// A descriptor closed while the peer still talks makes the kernel answer with a reset and
    /// throw away what it has not sent yet. So the writing side ends first, and what comes in is
    /// read and dropped until the peer ends its side too.
    fn begin_linger(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        socket.phase = Phase::Lingering;
        self.stats.lingers += 1;
        self.stats.syscalls += 1;
        let paused = socket.recv == Recv::Paused;
        if rustix::net::shutdown(&socket.fd, Shutdown::Write).is_err() {
            self.begin_close(id);
            return;
        }
        self.lingers.push_back((self.now + self.config.linger, id));
        if paused {
            self.starve(id);
        }
    }

    /// Gives up on peers that did not end their side in time.
    pub(in super::super) fn end_lingers(&mut self) {
        while let Some((due, id)) = self.lingers.front().copied() {
            if due > self.now {
                return;
            }
            self.lingers.pop_front();
            let socket = self.sockets.at(id.index(), id.generation());
            if socket.is_some_and(|socket| socket.phase == Phase::Lingering) {
                self.begin_close(id);
            }
        }
    }

    /// Cancels what is in flight; the socket goes when the last completion is in.
    pub(in super::super) fn begin_close(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        socket.phase = Phase::Closing;
        if socket.ops == 0 {
            self.release_socket(id);
            return;
        }
        let target = types::CancelBuilder::fd(types::Fd(socket.fd.as_raw_fd())).all();
        let entry = opcode::AsyncCancel2::new(target)
            .build()
            .user_data(socket_token(Op::Cancel, id));
        // The cancel counts as an operation: it names the descriptor by number, which must not
        // come to mean another file before the cancel is done.
        socket.ops += 1;
        self.ops += 1;
        // SAFETY: a cancel refers to no memory, and to a descriptor that the slot keeps open.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    /// Cancels the receive alone.
    pub(in super::super) fn cancel_recv(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        let target = types::CancelBuilder::user_data(socket_token(Op::Recv, id));
        let entry = opcode::AsyncCancel2::new(target)
            .build()
            .user_data(socket_token(Op::Cancel, id));
        socket.ops += 1;
        self.ops += 1;
        // SAFETY: a cancel refers to no memory.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_cancel(&mut self, id: SocketId, result: i32) {
        self.ops = self.ops.saturating_sub(1);
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        socket.ops = socket.ops.saturating_sub(1);
        if result < 0 {
            self.stats.cancels_missed += 1;
        }
        if socket.phase != Phase::Closing {
            return;
        }
        if socket.ops > 0 {
            // Mostly their completions are a few entries behind; if not, something has to give.
            self.unfinished.push(id);
        }
        self.release_socket(id);
    }

    /// Shuts sockets down whose operations outlived their cancel by a turn.
    pub(in super::super) fn force_unfinished(&mut self) {
        while let Some(id) = self.unfinished.pop() {
            let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
                continue;
            };
            if std::mem::replace(&mut socket.forced, true) {
                continue;
            }
            self.stats.syscalls += 1;
            // An error means that it is shut already, which ends the operations just as well.
            rustix::net::shutdown(&socket.fd, Shutdown::Both).ok();
            self.begin_close(id);
        }
    }

    /// Closes the descriptor and reports it, once no operation is left.
    pub(in super::super) fn release_socket(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        if socket.ops > 0 || socket.phase != Phase::Closing {
            return;
        }
        let Some(socket) = self.sockets.retire(id.index(), id.generation()) else {
            return;
        };
        self.stats.syscalls += 1;
        drop(socket.fd);
        let buf = socket.send.map(|send| send.buf);
        self.events.push_back(Event::Closed { socket: id, buf });
    }
}
