//! New links: dialed, accepted, handed over.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringmain_reactor::{Address, ListenerId, Reactor};
use ringmain_telemetry::Counter;

use super::Shard;
use crate::key::LinkKey;
use crate::link::Link;
use crate::links::LinkState;
use crate::message::{ListenRequest, ShardMessage};
use crate::roles::{LinkAcceptor, LinkDown};

impl<R: Reactor> Shard<R> {
    pub(super) fn dial(&mut self, key: LinkKey, address: &Address) {
        let Some(entry) = self.entry(key) else { return };
        self.ctx.handles()[self.ctx.index()]
            .links()
            .fetch_add(1, Ordering::Relaxed);
        self.count_links();
        if self.stop_at.is_some() {
            let down = LinkDown::Dial(ErrorKind::Interrupted, "the shard is stopping".to_owned());
            self.take_down(key, down);
            return;
        }
        match self.reactor.connect(address, &self.socket_options) {
            Ok(socket) => {
                entry.borrow_mut().socket = Some(socket);
                self.remember_socket(socket, key);
                let mut entry = entry.borrow_mut();
                let due = entry.link.poll_timeout();
                self.rearm(key, &mut entry, due);
            }
            Err(error) => {
                self.ctx.count(Counter::DialFailures, 1);
                self.take_down(key, LinkDown::Dial(error.kind(), error.to_string()));
            }
        }
    }

    /// Gives an accepted connection to the shard with the fewest links.
    pub(super) fn place(&mut self, listener: ListenerId, fd: OwnedFd, peer: Option<Address>) {
        self.ctx.count(Counter::Accepts, 1);
        let known = self.listeners.iter().find(|(id, ..)| *id == listener);
        let Some((_, acceptor, _)) = known else {
            self.ctx.count(Counter::LinksRefused, 1);
            return;
        };
        let acceptor = Arc::clone(acceptor);
        let handles = Arc::clone(self.ctx.handles());
        let load = |index: usize| handles[index].links().load(Ordering::Relaxed);
        let here = self.ctx.index();
        let target = (0..handles.len())
            .min_by_key(|&i| (load(i), i != here))
            .unwrap_or(here);
        handles[target].links().fetch_add(1, Ordering::Relaxed);
        if target == here {
            self.adopt(fd, peer.as_ref(), &acceptor);
            return;
        }
        let message = ShardMessage::Adopt { fd, peer, acceptor };
        if let Err(ShardMessage::Adopt { fd, peer, acceptor }) = handles[target].post(message) {
            // A full mailbox must not cost a connection: it is served here instead.
            handles[target].links().fetch_sub(1, Ordering::Relaxed);
            handles[here].links().fetch_add(1, Ordering::Relaxed);
            self.adopt(fd, peer.as_ref(), &acceptor);
        }
    }

    pub(super) fn adopt(
        &mut self,
        fd: OwnedFd,
        peer: Option<&Address>,
        acceptor: &Arc<dyn LinkAcceptor>,
    ) {
        let options = self.socket_options.clone();
        let socket = match self.reactor.adopt(fd, &options) {
            Ok(socket) if self.stop_at.is_none() => socket,
            outcome => {
                self.ctx.handles()[self.ctx.index()]
                    .links()
                    .fetch_sub(1, Ordering::Relaxed);
                self.ctx.count(Counter::LinksRefused, 1);
                match outcome {
                    Ok(socket) => self.reactor.close(socket),
                    Err(error) => tracing::warn!(%error, "link.refused"),
                }
                return;
            }
        };
        let (config, role) = acceptor.accept(&self.ctx, peer);
        let link = Link::new(config, self.ctx.now());
        let key = self
            .ctx
            .links()
            .borrow_mut()
            .insert(link, role, LinkState::Open);
        self.remember_socket(socket, key);
        self.count_links();
        if let Some(entry) = self.entry(key) {
            let mut entry = entry.borrow_mut();
            entry.socket = Some(socket);
            let due = entry.link.poll_timeout();
            self.rearm(key, &mut entry, due);
        }
    }

    pub(super) fn listen(&mut self, request: ListenRequest) {
        let ListenRequest {
            address,
            options,
            acceptor,
            reply,
        } = request;
        let result = if self.stop_at.is_some() {
            Err(io::Error::other("the shard has stopped"))
        } else {
            self.reactor.listen(&address, &options)
        };
        let result = result.map(|(listener, address)| {
            self.listeners.push((listener, acceptor, options.socket));
            address
        });
        // The asker may have given up; then the listener stays until the shard stops.
        drop(reply.try_send(result));
    }

    pub(super) fn unlisten(&mut self) {
        for (listener, ..) in self.listeners.drain(..) {
            self.reactor.unlisten(listener);
        }
    }
}
