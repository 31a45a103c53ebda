//! The end of links, and of the shard.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ringmain_codec::{ConnectionError, Status};
use ringmain_reactor::{Reactor, SocketId};
use ringmain_telemetry::{Counter, Gauge};

use super::Shard;
use crate::key::LinkKey;
use crate::links::LinkState;
use crate::roles::LinkDown;

/// How long a link that is closing may take to hand its last bytes to the kernel.
const LINGER: Duration = Duration::from_secs(2);

impl<R: Reactor> Shard<R> {
    pub(super) fn socket_ended(&mut self, socket: SocketId, down: LinkDown) {
        let Some(key) = self.key_of(socket) else {
            return;
        };
        self.take_down(key, down);
        if let Some(entry) = self.entry(key) {
            // Nothing more can be said to this peer: do not linger.
            entry.borrow_mut().state = LinkState::Closing;
        }
        self.reactor.close(socket);
    }

    /// Closes a link once its output has left; one that is not connected has nobody to tell.
    pub(super) fn close(&mut self, key: LinkKey) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        if borrowed.state == LinkState::Connecting {
            drop(borrowed);
            self.take_down(key, LinkDown::Local);
            return;
        }
        borrowed.close_when_flushed = Some(LinkDown::Local);
        self.ctx.mark_dirty(key, &mut borrowed);
    }

    /// Tells the role that its link ended, once, and starts to close the socket.
    pub(super) fn take_down(&mut self, key: LinkKey, down: LinkDown) {
        let Some(entry) = self.entry(key) else { return };
        let mut borrowed = entry.borrow_mut();
        if !borrowed.is_usable() {
            return;
        }
        self.count_down(&down);
        let this = &mut *borrowed;
        this.state = LinkState::Lingering;
        if matches!(down, LinkDown::Protocol(_)) {
            this.link.farewell(self.ctx.now());
        }
        this.link.fail();
        this.role.on_down(&self.ctx, key, &mut this.link, &down);
        let Some(socket) = this.socket else {
            drop(borrowed);
            self.remove(key);
            return;
        };
        if self.key_of(socket).is_none() {
            drop(borrowed);
            self.remove(key);
            return;
        }
        if this.link.has_output() || this.link.is_sending() {
            let deadline = self.ctx.now() + LINGER;
            // The timer of its open days may be due sooner, and would cut the last bytes off.
            if let Some((_, timer)) = this.timer.take() {
                self.ctx.timers().borrow_mut().cancel(timer);
            }
            self.rearm(key, this, Some(deadline));
            self.ctx.mark_dirty(key, this);
        } else {
            this.state = LinkState::Closing;
            self.reactor.close(socket);
        }
    }

    pub(super) fn count_down(&self, down: &LinkDown) {
        if let LinkDown::Protocol(error) = down {
            let counter = match error {
                ConnectionError::PeerUnresponsive => Counter::PeerUnresponsive,
                ConnectionError::HandshakeTimeout => Counter::HandshakeTimeouts,
                ConnectionError::Flood(_) => Counter::Floods,
                ConnectionError::StaleInstance { .. } | ConnectionError::PeerClosed(_) => {
                    Counter::LinksRefused
                }
                _ => Counter::ProtocolErrors,
            };
            self.ctx.count(counter, 1);
            tracing::debug!(shard = self.ctx.index(), reason = %error, "link.closed");
        }
    }

    pub(super) fn closed(&mut self, socket: SocketId) {
        if let Some(key) = self.forget_socket(socket) {
            self.remove(key);
        }
    }

    pub(super) fn remove(&self, key: LinkKey) {
        let Some(entry) = self.ctx.links().borrow_mut().remove(key) else {
            return;
        };
        let greeted = {
            let this = &mut *entry.borrow_mut();
            if let Some((_, timer)) = this.timer.take() {
                self.ctx.timers().borrow_mut().cancel(timer);
            }
            let connection = this.link.connection();
            this.figures.publish(&self.ctx, connection.stats());
            connection.peer().is_some()
        };
        self.ctx.handles()[self.ctx.index()]
            .links()
            .fetch_sub(1, Ordering::Relaxed);
        self.ctx.count(Counter::LinksClosed, u64::from(greeted));
        self.count_links();
    }

    pub(super) fn count_links(&self) {
        self.ctx
            .telemetry_gauge(Gauge::LinksOpen, self.ctx.links().borrow().len() as u64);
    }

    pub(super) fn stop(&mut self, within: Duration) {
        let now = self.ctx.now();
        self.stop_at.get_or_insert_with(|| now + within);
        self.unlisten();
        let keys = self.ctx.links().borrow().keys();
        for key in keys {
            self.ctx.with_link(key, |link, _| {
                link.goaway(Status::Draining, "shutting down");
                link.mark_urgent();
            });
            self.ctx.close(key);
        }
        self.run_commands();
    }

    pub(super) fn is_stopped(&self) -> bool {
        let Some(stop_at) = self.stop_at else {
            return false;
        };
        let links = self.ctx.links().borrow().len();
        (links == 0 && self.reactor.in_flight() == 0) || self.ctx.now() >= stop_at
    }
}
