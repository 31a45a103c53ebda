//! Receiving into buffers of the pool.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::Epoll;
use crate::event::{Event, RecvBuf, SocketId};

/// Most buffers one socket fills in one turn, so that a fast peer cannot hold up the others.
const READS_PER_SOCKET_MAX: usize = 4;

/// Most calls a close makes to discard input.
const DISCARDS_MAX: usize = 64;

/// Input discarded by one of these calls.
const DISCARD_BYTES: usize = 16 * 1024;

impl Epoll {
    /// Reads what a socket has, until it has no more or had its share of the turn.
    pub(super) fn receive(&mut self, id: SocketId) {
        let quota = self.config.recv_quota();
        for round in 0..READS_PER_SOCKET_MAX {
            let Some(socket) = self.table.socket(id) else {
                return;
            };
            let read_before = round == 0 && socket.read_turn == self.turn;
            if !socket.receiving || socket.paused || read_before {
                return;
            }
            socket.read_turn = self.turn;
            if socket.held >= quota {
                socket.paused = true;
                self.stats.quota_pauses += 1;
                self.note_change(id);
                return;
            }
            let Some(space) = self.pool.next_free() else {
                self.stats.enobufs += 1;
                self.starve(id);
                return;
            };
            self.stats.syscalls += 1;
            let room = space.len();
            match recv(&socket.fd, space, RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    socket.receiving = false;
                    self.note_change(id);
                    self.push(Event::Eof { socket: id });
                    return;
                }
                Ok((len, _)) => {
                    socket.held += 1;
                    self.deliver(id, len);
                    // Less than asked for: the queue was empty, and the kernel reports the next
                    // byte by itself.
                    if len < room {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => {
                    socket.receiving = false;
                    self.note_change(id);
                    self.push(Event::Failed {
                        socket: id,
                        error: error.into(),
                    });
                    return;
                }
            }
        }
    }

    fn deliver(&mut self, id: SocketId, len: usize) {
        let Some(index) = self.pool.lend() else {
            unreachable!("the buffer was just filled")
        };
        self.stats.recvs += 1;
        self.stats.recv_bytes += len as u64;
        let buf = RecvBuf {
            index,
            len: len as u32,
            owner: id,
        };
        self.push(Event::Received { socket: id, buf });
    }

    /// Puts a readable socket at the end of the queue for the next turn.
    pub(super) fn starve(&mut self, id: SocketId) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        if !std::mem::replace(&mut socket.starved, true) {
            self.starved.push_back(id);
        }
        self.note_change(id);
    }

    pub(super) fn take_back(&mut self, buf: &RecvBuf) {
        self.pool.take_back(buf.index);
        let quota = self.config.recv_quota();
        let Some(socket) = self.table.socket(buf.owner) else {
            return;
        };
        socket.held -= 1;
        if socket.paused && socket.held < quota {
            socket.paused = false;
            self.note_change(buf.owner);
        }
    }

    /// Ends a connection such that the peer still gets what was sent.
    ///
    /// TCP answers a close with unread input by a reset, which destroys data on its way to the
    /// peer; so input is discarded first, as far as it has come. The shutdown says goodbye even
    /// when another process (a fork) holds a copy of the descriptor.
    pub(super) fn hang_up(&mut self, fd: &OwnedFd, discard: bool) {
        let mut scratch = [0; DISCARD_BYTES];
        for _ in 0..if discard { DISCARDS_MAX } else { 0 } {
            self.stats.syscalls += 1;
            // On TCP, TRUNC drops the bytes without copying them.
            match recv(fd, &mut scratch, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                Ok((_, DISCARD_BYTES..)) | Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.stats.syscalls += 2;
        // It fails where the connection is gone already.
        shutdown(fd, Shutdown::Write).ok();
    }
}
