//! Send of one whole buffer.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{opcode, types};

use super::super::Uring;
use super::super::ring::Completion;
use super::super::slot::{Phase, SendOp, socket_token};
use super::super::token::Op;
use crate::event::{Event, SocketId};

/// Most bytes of one submission: its length field, with room to spare. Small in unit tests, so
/// that they see a send being continued.
const CHUNK_BYTES_MAX: usize = if cfg!(test) { 1000 } else { 1 << 30 };

impl Uring {
    pub(in super::super) fn start_send(&mut self, id: SocketId, buf: Vec<u8>) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        let closed = matches!(socket.phase, Phase::Closing | Phase::Lingering);
        assert!(
            socket.send.is_none() || closed,
            "one send in flight per socket"
        );
        if closed {
            // Comes back with `Closed`, unless a send that was cut off comes back there.
            socket.send.get_or_insert(SendOp {
                buf,
                sent: 0,
                in_flight: false,
            });
            return;
        }
        self.stats.sends += 1;
        if buf.is_empty() {
            self.events.push_back(Event::Sent {
                socket: id,
                buf,
                result: Ok(()),
            });
            return;
        }
        let open = socket.phase == Phase::Open;
        socket.send = Some(SendOp {
            buf,
            sent: 0,
            in_flight: false,
        });
        if open {
            self.submit_send(id);
        }
    }

    /// Submits what is left of a socket's send.
    pub(in super::super) fn submit_send(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            return;
        };
        let Some(send) = socket.send.as_mut() else {
            return;
        };
        let rest = &send.buf[send.sent..];
        let len = u32::try_from(rest.len().min(CHUNK_BYTES_MAX)).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(types::Fd(socket.fd.as_raw_fd()), rest.as_ptr(), len)
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build()
            .user_data(socket_token(Op::Send, id));
        send.in_flight = true;
        socket.ops += 1;
        self.ops += 1;
        // SAFETY: the slot keeps descriptor and buffer until the final completion; a `Vec`'s bytes
        // do not move with the slot, and nobody touches the buffer while it is in flight.
        unsafe { self.ring.push(entry, &mut self.stats) };
    }

    pub(in super::super) fn on_send(&mut self, id: SocketId, completion: Completion) {
        self.ops = self.ops.saturating_sub(1);
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        socket.ops = socket.ops.saturating_sub(1);
        let closing = socket.phase == Phase::Closing;
        let Some(mut send) = socket.send.take() else {
            return;
        };
        send.in_flight = false;
        let result = match completion.result {
            taken if taken > 0 => {
                let taken = usize::try_from(taken).unwrap_or(0);
                send.sent = (send.sent + taken).min(send.buf.len());
                self.stats.send_bytes += taken as u64;
                if send.sent < send.buf.len() {
                    None
                } else {
                    Some(Ok(()))
                }
            }
            0 => Some(Err(io::ErrorKind::WriteZero.into())),
            error if matches!(-error, libc::EINTR | libc::EAGAIN) => None,
            _ => Some(Err(completion.error())),
        };
        match result {
            // Done in spite of a close that came too late to stop it.
            Some(result) if result.is_ok() || !closing => {
                self.events.push_back(Event::Sent {
                    socket: id,
                    buf: send.buf,
                    result,
                });
            }
            None if !closing => {
                socket.send = Some(send);
                self.stats.sends_continued += 1;
                self.submit_send(id);
            }
            _ => socket.send = Some(send),
        }
        if closing {
            self.release_socket(id);
        }
    }
}
