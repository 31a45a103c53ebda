//! What each event of the driver means to a link.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use ringmain_reactor::{Event, Reactor, RecvBuf, SocketId};
use ringmain_telemetry::Counter;

use super::Shard;
use crate::key::LinkKey;
use crate::links::{LinkEntry, LinkState};
use crate::roles::LinkDown;

impl<R: Reactor> Shard<R> {
    pub(super) fn dispatch(&mut self, event: Event) {
        match event {
            Event::Accepted { listener, fd, peer } => self.place(listener, fd, peer),
            Event::AcceptFailed { error, .. } => {
                self.ctx.count(Counter::AcceptErrors, 1);
                tracing::debug!(%error, "accept.failed");
            }
            Event::Connected { socket } => self.connected(socket),
            Event::ConnectFailed { socket, error } => {
                self.ctx.count(Counter::DialFailures, 1);
                let down = LinkDown::Dial(error.kind(), error.to_string());
                if let Some(key) = self.forget_socket(socket) {
                    self.take_down(key, down);
                    // One that was given up before has heard of its end; no `Closed` will come.
                    self.remove(key);
                }
            }
            Event::Received { socket, buf } => {
                self.received(socket, &buf);
                self.reactor.recycle(buf);
            }
            Event::Eof { socket } => self.socket_ended(socket, LinkDown::Eof),
            Event::Failed { socket, error } => {
                self.socket_ended(socket, LinkDown::Transport(error.kind()));
            }
            Event::Sent {
                socket,
                buf,
                result,
            } => self.sent(socket, buf, result),
            Event::Closed { socket, .. } => self.closed(socket),
            Event::Readable { .. } => {}
        }
    }

    pub(super) fn key_of(&self, socket: SocketId) -> Option<LinkKey> {
        let (owner, key) = (*self.by_socket.get(socket.index() as usize)?)?;
        (owner == socket).then_some(key)
    }

    pub(super) fn remember_socket(&mut self, socket: SocketId, key: LinkKey) {
        let index = socket.index() as usize;
        if self.by_socket.len() <= index {
            self.by_socket.resize(index + 1, None);
        }
        self.by_socket[index] = Some((socket, key));
    }

    pub(super) fn forget_socket(&mut self, socket: SocketId) -> Option<LinkKey> {
        let key = self.key_of(socket)?;
        self.by_socket[socket.index() as usize] = None;
        Some(key)
    }

    pub(super) fn entry(&self, key: LinkKey) -> Option<Rc<RefCell<LinkEntry>>> {
        self.ctx.links().borrow().find(key)
    }

    pub(super) fn received(&mut self, socket: SocketId, buf: &RecvBuf) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        let chunk = self.reactor.bytes(buf);
        self.ctx.count(Counter::BytesReceived, chunk.len() as u64);
        self.ctx.count(Counter::Receives, 1);
        let result = {
            let mut entry = entry.borrow_mut();
            if entry.state != LinkState::Open {
                return;
            }
            let entry = &mut *entry;
            let result = entry.role.on_bytes(&self.ctx, key, &mut entry.link, chunk);
            if entry.link.has_output() {
                self.ctx.mark_dirty(key, entry);
            }
            result
        };
        if let Err(error) = result {
            self.take_down(key, LinkDown::Protocol(error));
        }
    }

    pub(super) fn connected(&self, socket: SocketId) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        let mut entry = entry.borrow_mut();
        if entry.state != LinkState::Connecting {
            return;
        }
        entry.state = LinkState::Open;
        let entry = &mut *entry;
        entry.role.on_connected(&self.ctx, key, &mut entry.link);
        self.ctx.mark_dirty(key, entry);
    }

    pub(super) fn sent(&mut self, socket: SocketId, buf: Vec<u8>, result: io::Result<()>) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        let Some(entry) = self.entry(key) else { return };
        match result {
            Ok(()) => {
                let mut entry = entry.borrow_mut();
                if entry.link.sent(buf) || !entry.room.is_empty() {
                    self.ctx.mark_dirty(key, &mut entry);
                }
                let flushed = !entry.link.has_output();
                if entry.state == LinkState::Lingering && flushed {
                    entry.state = LinkState::Closing;
                    self.reactor.close(socket);
                } else if entry.close_when_flushed.is_some() {
                    self.ctx.mark_dirty(key, &mut entry);
                }
            }
            Err(error) => {
                entry.borrow_mut().link.sent(buf);
                self.socket_ended(socket, LinkDown::Transport(error.kind()));
            }
        }
    }
}
