//! Sending, and the end of a dial.

use std::io;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{SendFlags, send};

use super::Epoll;
use super::slot::{Phase, Socket};
use crate::event::{Event, SocketId};

impl Epoll {
    /// Offers the rest of a send to the kernel; what it does not take waits for room.
    pub(super) fn transmit(&mut self, id: SocketId) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        if socket.phase != Phase::Open {
            return;
        }
        let mut syscalls = 0;
        let (sent, outcome) = offer(socket, &mut syscalls);
        let watched_out = socket
            .watched
            .is_some_and(|flags| flags.contains(EventFlags::OUT));
        self.stats.syscalls += syscalls;
        self.stats.send_bytes += sent as u64;
        let Some(result) = outcome else {
            self.stats.sends_continued += 1;
            if !watched_out {
                self.note_change(id);
            }
            return;
        };
        let Some(outgoing) = socket.outgoing.take() else {
            return;
        };
        if watched_out {
            self.note_change(id);
        }
        self.push(Event::Sent {
            socket: id,
            buf: outgoing.buf,
            result,
        });
    }

    /// The kernel has the outcome of a dial.
    pub(super) fn finish_connect(&mut self, id: SocketId) {
        let Some(socket) = self.table.socket(id) else {
            return;
        };
        self.stats.syscalls += 1;
        let outcome = match socket_error(&socket.fd) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) | Err(error) => Err(io::Error::from(error)),
        };
        let Err(error) = outcome else {
            socket.phase = Phase::Open;
            let has_outgoing = socket.outgoing.is_some();
            self.note_change(id);
            self.push(Event::Connected { socket: id });
            if has_outgoing {
                self.transmit(id);
            }
            return;
        };
        self.stats.connects_failed += 1;
        let outgoing = self.retire(id).and_then(|socket| socket.outgoing);
        if let Some(outgoing) = outgoing {
            let result = Err(io::Error::from(error.kind()));
            self.push(Event::Sent {
                socket: id,
                buf: outgoing.buf,
                result,
            });
        }
        self.push(Event::ConnectFailed { socket: id, error });
    }
}

/// Returns the bytes taken, and the result if the send is over.
fn offer(socket: &mut Socket, syscalls: &mut u64) -> (usize, Option<io::Result<()>>) {
    let Some(outgoing) = &mut socket.outgoing else {
        return (0, None);
    };
    let mut sent = 0;
    loop {
        let rest = &outgoing.buf[outgoing.taken..];
        if rest.is_empty() {
            return (sent, Some(Ok(())));
        }
        *syscalls += 1;
        match send(&socket.fd, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(len) => {
                outgoing.taken += len;
                sent += len;
                // A part means that the kernel has no more room.
                if outgoing.taken < outgoing.buf.len() {
                    return (sent, None);
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return (sent, None),
            Err(error) => return (sent, Some(Err(error.into()))),
        }
    }
}
