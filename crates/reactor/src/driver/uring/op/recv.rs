//! Multishot receive into provided buffers.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{opcode, types};

use super::super::Uring;
use super::super::bufring::BUFFER_GROUP;
use super::super::ring::Completion;
use super::super::slot::{Phase, Recv, socket_token};
use super::super::token::Op;
use crate::event::{Event, RecvBuf, SocketId};

impl Uring {
    pub(in super::super) fn arm_recv(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        let entry = opcode::RecvMulti::new(types::Fd(socket.fd.as_raw_fd()), BUFFER_GROUP)
            .build()
            .user_data(socket_token(Op::Recv, id));
        socket.recv = Recv::Armed;
        socket.ops += 1;
        self.ops += 1;
        // SAFETY: the slot keeps the descriptor open until `ops` is 0; the buffers come from the
        // ring's group, whose memory lives until no operation is left.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_recv(&mut self, id: SocketId, completion: Completion) {
        let more = completion.more();
        if !more {
            self.ops = self.ops.saturating_sub(1);
        }
        // A failed receive may carry a buffer number on some kernels; it used no buffer.
        let buffer = if completion.result > 0 {
            completion.buffer()
        } else {
            None
        };
        let fresh = buffer.is_none_or(|buffer| self.bufs.take(buffer));
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            self.discard(buffer.filter(|_| fresh));
            return;
        };
        if !more {
            socket.ops = socket.ops.saturating_sub(1);
        }
        match (buffer, socket.phase) {
            (Some(_), _) if !fresh => {
                // Lent twice: its bytes belong to another socket's event.
                let error = io::Error::other("the kernel filled a receive buffer that was out");
                self.fail_recv(id, more, error);
                return;
            }
            (Some(buffer), Phase::Open) if socket.recv != Recv::Ended => {
                self.report_received(id, buffer, completion.result)
            }
            (buffer, _) => self.discard(buffer),
        }
        if !more {
            self.on_recv_end(id, completion);
        }
    }

    fn report_received(&mut self, id: SocketId, buffer: u16, result: i32) {
        let quota = self.quota;
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        socket.held += 1;
        if socket.held >= quota && !socket.quota_listed {
            socket.quota_listed = true;
            self.quota_checks.push(id);
        }
        let len = u32::try_from(result).unwrap_or(0);
        self.stats.recvs += 1;
        self.stats.recv_bytes += u64::from(len);
        self.count_buffers();
        let buf = RecvBuf {
            index: u32::from(buffer),
            len,
            owner: id,
        };
        self.events.push_back(Event::Received { socket: id, buf });
    }

    fn discard(&mut self, buffer: Option<u16>) {
        if let Some(buffer) = buffer {
            self.bufs.give(buffer);
        }
    }

    /// The receive is over: by the peer, by an error, for want of a buffer, or for no reason.
    fn on_recv_end(&mut self, id: SocketId, completion: Completion) {
        let quota = self.quota;
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        if socket.phase == Phase::Closing {
            socket.recv = Recv::Ended;
            self.release_socket(id);
            return;
        }
        if socket.recv == Recv::Ended {
            return;
        }
        let pausing = socket.recv == Recv::Pausing;
        match -completion.result {
            0 => self.end_recv(id, None),
            libc::ENOBUFS => {
                self.stats.enobufs += 1;
                self.starve(id);
            }
            error if error < 0 || matches!(error, libc::ECANCELED) && pausing => {
                if pausing && socket.held >= quota && socket.phase == Phase::Open {
                    socket.recv = Recv::Paused;
                } else if pausing {
                    self.starve(id);
                } else {
                    self.stats.rearmed += 1;
                    self.arm_recv(id);
                }
            }
            libc::EAGAIN | libc::EINTR => {
                self.stats.rearmed += 1;
                self.starve(id);
            }
            _ => self.end_recv(id, Some(completion.error())),
        }
    }

    fn fail_recv(&mut self, id: SocketId, more: bool, error: io::Error) {
        if more {
            self.cancel_recv(id);
        }
        self.end_recv(id, Some(error));
    }

    fn end_recv(&mut self, id: SocketId, error: Option<io::Error>) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        if std::mem::replace(&mut socket.recv, Recv::Ended) == Recv::Ended {
            return;
        }
        match (socket.phase, error) {
            (Phase::Lingering, _) => self.begin_close(id),
            (Phase::Closing, _) => self.release_socket(id),
            (_, None) => self.events.push_back(Event::Eof { socket: id }),
            (_, Some(error)) => self.events.push_back(Event::Failed { socket: id, error }),
        }
    }

    /// Puts a socket at the end of the queue for a free buffer.
    pub(in super::super) fn starve(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        socket.recv = Recv::Starved;
        self.starved.push_back(id);
    }

    /// Starts to receive again on sockets that waited for a buffer: as many as there are free
    /// ones, the longest waiting first.
    pub(in super::super) fn feed_starved(&mut self) {
        let mut free = usize::from(self.bufs.free());
        let quota = self.quota;
        while free > 0 {
            let Some(id) = self.starved.pop_front() else {
                return;
            };
            let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
                continue;
            };
            if socket.recv != Recv::Starved || socket.phase == Phase::Closing {
                continue;
            }
            if socket.held >= quota && socket.phase == Phase::Open {
                self.stats.quota_pauses += 1;
                socket.recv = Recv::Paused;
                continue;
            }
            self.stats.rearmed += 1;
            self.arm_recv(id);
            free -= 1;
        }
    }

    /// Pauses sockets whose user still has their whole quota of buffers a turn later.
    pub(in super::super) fn check_quotas(&mut self) {
        let quota = self.quota;
        while let Some(id) = self.quota_checks.pop() {
            let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
                continue;
            };
            socket.quota_listed = false;
            if socket.held >= quota && socket.recv == Recv::Armed && socket.phase == Phase::Open {
                socket.recv = Recv::Pausing;
                self.stats.quota_pauses += 1;
                self.cancel_recv(id);
            }
        }
    }

    /// Takes a buffer back from the user.
    pub(in super::super) fn take_back(&mut self, buf: &RecvBuf) {
        if let Ok(buffer) = u16::try_from(buf.index) {
            self.bufs.give(buffer);
            self.count_buffers();
        }
        let id = buf.owner;
        let quota = self.quota;
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        socket.held = socket.held.saturating_sub(1);
        if socket.recv == Recv::Paused && socket.held < quota {
            self.starve(id);
        }
    }

    pub(in super::super) fn count_buffers(&mut self) {
        self.stats.buffers_held = u64::from(self.bufs.held());
        self.stats.buffers_free = u64::from(self.bufs.free());
    }
}
