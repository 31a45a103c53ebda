//! Receiving into buffers of the pool.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Epoll;
use super::slot::Phase;
use crate::event::{Event, RecvBuf, SocketId};

/// Most buffers one socket fills in one turn, so that a fast peer cannot hold up the others.
const READS_PER_SOCKET_MAX: usize = 4;

impl Epoll {
    /// Reads what a socket has, until it has no more or had its share of the turn.
    pub(super) fn receive(&mut self, id: SocketId) {
        let quota = self.config.recv_quota();
        for round in 0..READS_PER_SOCKET_MAX {
            let Some(socket) = self.table.socket(id) else {
                return;
            };
            if socket.phase == Phase::Lingering {
                self.go_on_lingering(id);
                return;
            }
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
        self.pool.report(&mut self.stats);
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
        self.pool.report(&mut self.stats);
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
}
