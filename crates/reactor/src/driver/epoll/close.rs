//! How a socket ends.

use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::Epoll;
use super::slot::Phase;
use crate::event::{Event, SocketId};
use crate::socket;

/// Most calls made at a time to discard input.
const DISCARDS_MAX: usize = 64;

/// Input discarded by one of these calls.
const DISCARD_BYTES: usize = 16 * 1024;

impl Epoll {
    /// Ends a connection such that the peer still gets what was sent.
    ///
    /// TCP answers a close with unread input, and input after a close, by a reset, which destroys
    /// data on its way to the peer. So input is discarded first, and while the peer has not
    /// acknowledged everything the socket lingers: its writing side is shut, its input discarded.
    pub(super) fn start_close(&mut self, id: SocketId) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        if socket.phase == Phase::Lingering {
            return;
        }
        let is_quiet = socket.phase == Phase::Open && socket.receiving && socket.outgoing.is_none();
        if is_quiet && self.discard_input(id) && self.begin_linger(id) {
            return;
        }
        self.finish_close(id);
    }

    /// Input of a closed socket, or its end.
    pub(super) fn go_on_lingering(&mut self, id: SocketId) {
        if !self.discard_input(id) {
            self.finish_close(id);
        }
    }

    /// Gives up on peers that did not end their side in time.
    pub(super) fn end_lingers(&mut self) {
        while let Some(&(due, id)) = self.lingers.front() {
            let is_lingering = self
                .table
                .socket(id)
                .is_some_and(|socket| socket.phase == Phase::Lingering);
            if is_lingering && due > self.now {
                return;
            }
            self.lingers.pop_front();
            if is_lingering {
                self.finish_close(id);
            }
        }
    }

    fn begin_linger(&mut self, id: SocketId) -> bool {
        let Some(socket) = self.table.socket(id) else {
            return false;
        };
        if self.config.linger.is_zero() {
            return false;
        }
        self.stats.syscalls += 1;
        if !socket::has_unsent(&socket.fd) {
            return false;
        }
        self.stats.syscalls += 1;
        if shutdown(&socket.fd, Shutdown::Write).is_err() {
            return false;
        }
        socket.phase = Phase::Lingering;
        self.stats.lingers += 1;
        self.lingers.push_back((self.now + self.config.linger, id));
        self.note_change(id);
        true
    }

    fn finish_close(&mut self, id: SocketId) {
        let Some(socket) = self.retire(id) else {
            return;
        };
        self.stats.syscalls += 2;
        // Says goodbye even when another process (a fork) holds a copy of the descriptor. It
        // fails where the connection is gone already.
        shutdown(&socket.fd, Shutdown::Write).ok();
        let buf = socket.outgoing.map(|outgoing| outgoing.buf);
        self.push(Event::Closed { socket: id, buf });
    }

    /// Drops what has come in; false = the peer has ended its side, or the connection is dead.
    fn discard_input(&mut self, id: SocketId) -> bool {
        let Some(socket) = self.table.socket(id) else {
            return false;
        };
        let mut scratch = [0; DISCARD_BYTES];
        for _ in 0..DISCARDS_MAX {
            self.stats.syscalls += 1;
            // On TCP, TRUNC drops the bytes without copying them.
            match recv(
                &socket.fd,
                &mut scratch,
                RecvFlags::DONTWAIT | RecvFlags::TRUNC,
            ) {
                Ok((_, DISCARD_BYTES..)) | Err(Errno::INTR) => {}
                Ok((_, 1..)) | Err(Errno::AGAIN) => return true,
                Ok((_, 0)) | Err(_) => return false,
            }
        }
        true
    }
}
