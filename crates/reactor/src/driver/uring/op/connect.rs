//! Connect.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, types};
use socket2::SockAddr;

use super::super::Uring;
use super::super::ring::Completion;
use super::super::slot::{Phase, Socket, socket_token};
use super::super::token::Op;
use crate::address::Address;
use crate::config::SocketOptions;
use crate::event::{Event, SocketId};
use crate::socket;

impl Uring {
    pub(in super::super) fn start_adopt(
        &mut self,
        fd: OwnedFd,
        options: &SocketOptions,
    ) -> io::Result<SocketId> {
        socket::adopt(&fd, options)?;
        let id = self.new_socket(fd, Phase::Open, None)?;
        self.arm_recv(id);
        Ok(id)
    }

    pub(in super::super) fn start_connect(
        &mut self,
        address: &Address,
        options: &SocketOptions,
    ) -> io::Result<SocketId> {
        let fd = socket::dialer(address, options)?;
        let number = fd.as_raw_fd();
        let peer = Box::new(socket::to_sockaddr(address)?);
        let pointer: *const libc::sockaddr = peer.as_ptr().cast();
        let len = peer.len();
        let id = self.new_socket(fd, Phase::Connecting, Some(peer))?;
        let entry = opcode::Connect::new(types::Fd(number), pointer, len)
            .build()
            .user_data(socket_token(Op::Connect, id));
        if let Some(socket) = self.sockets.at(id.index(), id.generation()) {
            socket.ops += 1;
        }
        self.ops += 1;
        self.stats.connects += 1;
        // SAFETY: the slot keeps descriptor and boxed address until the final completion.
        unsafe { self.ring.push(entry, &mut self.stats) };
        Ok(id)
    }

    fn new_socket(
        &mut self,
        fd: OwnedFd,
        phase: Phase,
        peer: Option<Box<SockAddr>>,
    ) -> io::Result<SocketId> {
        let Ok((index, generation)) = self.sockets.insert(Socket::new(fd, phase, peer)) else {
            self.stats.sockets_refused += 1;
            return Err(io::Error::other("sockets_max reached"));
        };
        Ok(SocketId::new(index, generation))
    }

    pub(in super::super) fn on_connect(&mut self, id: SocketId, completion: Completion) {
        self.ops = self.ops.saturating_sub(1);
        let Some(socket) = self.sockets.at(id.index(), id.generation()) else {
            self.stats.stale += 1;
            return;
        };
        socket.ops = socket.ops.saturating_sub(1);
        socket.peer = None;
        if socket.phase == Phase::Closing {
            self.release_socket(id);
        } else if completion.result == 0 {
            socket.phase = Phase::Open;
            let waits = socket.send.is_some();
            self.events.push_back(Event::Connected { socket: id });
            self.arm_recv(id);
            if waits {
                self.submit_send(id);
            }
        } else {
            self.stats.connects_failed += 1;
            self.stats.syscalls += 1;
            drop(self.sockets.retire(id.index(), id.generation()));
            let error = completion.error();
            self.events
                .push_back(Event::ConnectFailed { socket: id, error });
        }
    }
}
